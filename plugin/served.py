"""What the plugin serves: the components whose arguments are a TypedDict, from which Pulumi infers the schema."""

from __future__ import annotations

import json
import sys
from typing import Final

import pulumi
from pulumi.provider.experimental.component import ComponentProvider

from gpu_fabric import __version__
from gpu_fabric.components.aws.cluster import AwsGpuCluster
from gpu_fabric.components.aws.eks import AwsEksNodeTemplate
from gpu_fabric.components.azure.cluster import AzureGpuCluster
from gpu_fabric.plugin.typed import served

NAME: Final = "gpu-fabric"
VERSION: Final = __version__

COMPONENTS: Final[list[type[pulumi.ComponentResource]]] = [
    served(AwsEksNodeTemplate),
    served(AwsGpuCluster),
    served(AzureGpuCluster),
]


def schema() -> str:
    """The package's schema as JSON, as `pulumi package get-schema` gives it."""
    text = ComponentProvider(COMPONENTS, NAME, None, VERSION).schema
    return json.dumps(json.loads(text or ""), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
