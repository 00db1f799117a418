"""docs/clouds.md holds every argument and output of both clusters, docs/azure.md the versions that are sent."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from gpu_fabric.components.aws import AwsGpuCluster
from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure import AzureGpuCluster
from gpu_fabric.components.azure.limits import DEFAULT_IMAGE
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.settings import leaf_types

DOCS = Path(__file__).parents[2] / "docs"
CLOUDS = (DOCS / "clouds.md").read_text()
AZURE = (DOCS / "azure.md").read_text()


def columns(section: str) -> tuple[set[str], set[str]]:
    """The names in the second and third column of a section's table."""
    text = CLOUDS.partition(f"## {section}")[2].partition("\n## ")[0]
    rows = [line.split("|")[2:4] for line in text.splitlines() if line.startswith("|")]
    return (
        {name for row in rows for name in re.findall(r"`([a-z_.]+)`", row[0])},
        {name for row in rows for name in re.findall(r"`([a-z_.]+)`", row[1])},
    )


def arguments(model: type[BaseModel], above: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        below = [one for one in leaf_types(field.annotation) if issubclass(one, BaseModel)]
        for one in below:
            yield from arguments(one, f"{above}{name}.")
        if not below:
            yield f"{above}{name}"


@pytest.mark.parametrize(("column", "model"), [(0, AwsClusterSettings), (1, AzureClusterSettings)])
def test_the_comparison_holds_every_argument_and_no_other(column: int, model: type[BaseModel]) -> None:
    named = columns("Arguments")[column]
    # Names of choices, in the same columns.
    values = set("fleet instances keep replace spot reservation create adopt none nat endpoints".split())  # noqa: SIM905
    assert set(arguments(model)) - named == set()
    assert named - set(arguments(model)) - values == set()


def test_the_comparison_holds_every_output_and_no_other() -> None:
    aws, azure = columns("Outputs")
    assert aws == set(AwsGpuCluster.__annotations__)
    assert azure == set(AzureGpuCluster.__annotations__)


def test_the_page_on_azure_names_the_image_and_the_api_versions_of_the_sdk() -> None:
    assert "`microsoft-dsvm:ubuntu-hpc:2404`" in AZURE
    assert DEFAULT_IMAGE.startswith("microsoft-dsvm:ubuntu-hpc:2404:")
    import pulumi_azure_native as azure_native

    module = {
        "Compute": azure_native.compute.VirtualMachineScaleSet,
        "Network": azure_native.network.Subnet,
        "Resources": azure_native.resources.ResourceGroup,
        "Authorization": azure_native.authorization.RoleAssignment,
        "ManagedIdentity": azure_native.managedidentity.UserAssignedIdentity,
    }
    for name, resource in module.items():
        (version,) = set(re.findall(r"Uses Azure REST API version (\S+?)\. ", inspect.getsource(resource)))
        assert f"Microsoft.{name} {version}" in AZURE
