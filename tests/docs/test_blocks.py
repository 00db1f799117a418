"""Every other fenced block: a program runs, a file is read by what reads it, a text is what a person would see."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from types import SimpleNamespace
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
import yaml
from click.testing import CliRunner

from gpu_fabric.cli import group
from gpu_fabric.cli.lint import command as lint_command
from gpu_fabric.components.aws import changes as aws_changes
from gpu_fabric.components.azure import changes as azure_changes
from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.nccl.hardware import get_size
from gpu_fabric.nccl.topology import from_catalog, to_xml
from gpu_fabric.planning.price import Price, load_table
from gpu_fabric.planning.price.table import prices_from_json
from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.pages import PROGRAMS
from gpu_fabric.rehearsal.core.faults import VARIABLE, load
from tests.components.recorder import record
from tests.components.test_interconnect import ANSWERS
from tests.docs.blocks import Block, blocks, fits
from tests.simulated import ROOT

AWS = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}
AZURE = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4}


def read(fabric: Any) -> None:
    """Raises InvalidInputError with every problem of the value of `gpu-fabric:fabric`."""
    read_fabric(fabric, aws_region="us-east-1", azure_location="eastus")


def stack_file(block: Block) -> Any:
    """The block as YAML, with something real in place of what a person fills in."""
    text = block.text.replace("<uuid>", "00000000-0000-0000-0000-000000000000")
    return yaml.safe_load(text.replace("dxcon-…", "dxcon-fgabcdef"))


def is_the_stack_file_of_the_repository(block: Block) -> None:
    given = stack_file(block)
    assert given == yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    read(given["config"]["gpu-fabric:fabric"])


def is_part_of_a_stack_file(block: Block) -> None:
    """Stands below `gpu-fabric:fabric`, beside clusters on both clouds."""
    read({"aws": AWS, "azure": AZURE, **stack_file(block)})


def is_part_of_a_cluster_on_either_cloud(block: Block) -> None:
    read({"aws": {**AWS, **stack_file(block)}, "azure": {**AZURE, **stack_file(block)}})


def is_a_whole_fabric(block: Block) -> None:
    read(stack_file(block)["gpu-fabric:fabric"])


def is_refused_line_by_line(block: Block) -> None:
    """Laid over the example's own stack file, every line with a remark is refused."""
    example = ROOT / block.page.rpartition("/")[0] / "Pulumi.dev.yaml"
    fabric = yaml.safe_load(example.read_text())["config"]["gpu-fabric:fabric"]
    for section, given in stack_file(block).items():
        fabric[section] |= given
    with pytest.raises(InvalidInputError) as refused:
        read(fabric)
    wrong = [line.split(":")[0].strip() for line in block.text.splitlines() if "#" in line]
    for key in wrong:
        assert re.search(rf"^  fabric\.[\w.]*\b{key}\b", str(refused.value), re.MULTILINE), key


def is_a_program(block: Block) -> None:
    """Runs; what a program has from somewhere else is there."""

    def program() -> Mapping[str, Any]:
        west = aws.Provider("west", region="us-west-2")
        vpc = aws.ec2.Vpc("vpc", cidr_block="10.9.0.0/16")
        subnet = aws.ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.9.1.0/24")
        eks = SimpleNamespace(vpc_config=SimpleNamespace(cluster_security_group_id="sg-0123456789abcdef0"))
        names = {"pulumi": pulumi, "west": west, "vpc": vpc, "subnet": subnet, "cluster": eks}
        exec(compile(block.text, f"{block.page}:{block.line}", "exec"), names)
        return {}

    region = "us-west-2" if "us-west-2" in block.text else "us-east-1"
    recording = record(program, config={"aws:region": region}, answers=ANSWERS)
    assert [text for _, text in recording.messages if "other_cloud" in text] == []
    assert len(recording.of_type("aws:ec2/launchTemplate:LaunchTemplate")) == 1


def is_a_program_of_the_pack(block: Block) -> None:
    """Stands in `policy/programs`, whose files tests/policy runs on the real engine."""
    assert block.text.rstrip() in {path.read_text().rstrip() for path in PROGRAMS.glob("*.py")}


def configures_the_pack(block: Block) -> None:
    rules = {rule.name: rule for rule in RULES}
    for name, given in json.loads(block.text).items():
        settings = {"enforcementLevel": given} if isinstance(given, str) else dict(given)
        assert settings.pop("enforcementLevel", "mandatory") in ("mandatory", "advisory", "disabled")
        for parameter, value in settings.items():
            schema = rules[name].parameters[parameter]
            assert isinstance(value, {"string": str, "array": list, "boolean": bool}[schema["type"]])
            assert value in schema.get("enum", [value])


def is_read_as_faults(block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "faults.json").write_text(block.text)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "faults.json"))
    faults = load()
    assert all(getattr(faults, name) for name in json.loads(block.text))


def names_a_hook_that_is_there(block: Block) -> None:
    (repository,) = yaml.safe_load(block.text)["repos"]
    offered = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    for hook in repository["hooks"]:
        assert offered[hook["id"]]["entry"] == "gpu-fabric lint"
        lint_command.make_context("lint", [*hook["args"], str(ROOT / "README.md")])


def waits_for_our_unit(block: Block) -> None:
    unit = ConfigParser()
    unit.read_string(block.text)
    assert set(unit["Unit"].values()) == {"gpu-fabric-ready.service"}
    assert (ROOT / "nccl" / "templates" / "gpu-fabric-ready.service.j2").is_file()


def is_part_of_our_topology_file(block: Block) -> None:
    name = re.findall(r' name="([^"]+)"', block.first)[0]
    topology = from_catalog(get_size(name))
    assert topology is not None
    whole = {line.strip() for line in to_xml(topology).splitlines()}
    assert {line.strip() for line in block.text.splitlines()} <= whole


def is_the_entrypoints_help(block: Block) -> None:
    entrypoint = ROOT / "nccl" / "node" / "gpu-fabric-entrypoint"
    done = subprocess.run([entrypoint, "--help"], capture_output=True, text=True, check=True)
    assert block.text == done.stdout


def is_the_help_of_a_command(block: Block) -> None:
    command = re.match(r"Usage: gpu-fabric ([a-z -]+)", block.text)
    assert command
    line = [*command[1].split(), "--help"]
    said = (
        CliRunner()
        .invoke(group, line, prog_name="gpu-fabric", terminal_width=100, max_content_width=100)
        .output
    )
    assert re.sub(r"\s", "", block.text) == re.sub(r"\s", "", said), "only where lines break may differ"


def is_what_bad_input_says(block: Block) -> None:
    given = {"zone": "us-west-2a", "instanceType": "p5.48xlarge", "nodes": 1.5, "rootVolume": {"sizeGib": 20}}
    with pytest.raises(InvalidInputError) as refused:
        read_fabric({"aws": given}, aws_region="us-east-1")
    assert block.text.rstrip() == f"error: {refused.value}"


def is_said_before_nodes_of_azure_are_left(block: Block) -> None:
    """What the hook says of four nodes whose custom data and image change; `…` stands for arguments."""
    old = {"sku": {"capacity": 4}}
    new = {
        "virtualMachineProfile": {"osProfile": {"customData": "b"}, "storageProfile": {"imageReference": "b"}}
    }
    said = azure_changes.update_message(
        "train-azure-fleet", old, new, resource_group="train1", scale_set="train-azure-fleet1f516f5f"
    )
    assert said is not None
    assert fits(" ".join(block.text.split()), f"warning: {said}")


def is_said_before_nodes_of_aws_are_left(block: Block) -> None:
    """What the hook says of a fleet whose user data and image change, up to how to bring them along."""
    settings = read_fabric({"aws": AWS}, aws_region="us-east-1").aws
    assert settings is not None
    new = {"userData": "b", "imageId": "b"}
    said = aws_changes.update_message("train-aws", settings, "train-aws-node", {}, new)
    assert f"warning: {said}".startswith(" ".join(block.text.split()))


def names_files_that_are_there(block: Block) -> None:
    for name in re.findall(r"[\w./]+\.(?:py|yaml)", block.text):
        assert (ROOT / name).is_file(), name


def is_run_by_the_plugins_tests(block: Block) -> None:
    assert yaml.safe_load(block.text)["runtime"] == "yaml"
    assert '"plugin" / "README.md"' in (ROOT / "tests" / "plugin" / "test_yaml_program.py").read_text()


def is_run_online(block: Block) -> None:
    """tests/plugin runs it with -m online, for it takes Pulumi's SDK from the language's registry."""
    tests = (ROOT / "tests" / "plugin" / "test_other_languages.py").read_text()
    assert f'block("{block.language}")' in tests


def is_a_price_file(block: Block) -> None:
    """Each row is found by the item, name and region that the page gives for it."""
    table = load_table().over(prices_from_json(block.text, block.page))
    for row in json.loads(block.text)["prices"]:
        found = table.find(row["item"], row["name"], row["region"])
        assert isinstance(found, Price)
        assert (found.usd, found.source) == (row["usd"], row["source"])


Check = Callable[..., None]

#: (page, language) → what must hold for each of its blocks.
CHECKS: Mapping[tuple[str, str], Check] = {
    ("README.md", ""): is_what_bad_input_says,
    ("README.md", "python"): is_a_program,
    ("README.md", "yaml"): is_the_stack_file_of_the_repository,
    ("docs/architecture.md", ""): names_files_that_are_there,
    ("docs/azure.md", ""): is_said_before_nodes_of_azure_are_left,
    ("docs/cli.md", "text"): is_the_help_of_a_command,
    ("docs/entrypoint.md", "text"): is_the_entrypoints_help,
    ("docs/interconnect.md", "yaml"): is_part_of_a_stack_file,
    ("docs/library.md", "python"): is_a_program,
    ("docs/node.md", "ini"): waits_for_our_unit,
    ("docs/node.md", "yaml"): is_part_of_a_cluster_on_either_cloud,
    ("docs/preflight.md", "yaml"): is_part_of_a_cluster_on_either_cloud,
    ("docs/operations.md", "text"): is_said_before_nodes_of_aws_are_left,
    ("docs/planning.md", "json"): is_a_price_file,
    ("docs/planning.md", "yaml"): is_part_of_a_stack_file,
    ("docs/policy.md", "json"): configures_the_pack,
    ("docs/policy.md", "python"): is_a_program_of_the_pack,
    ("docs/pull-requests.md", "yaml"): names_a_hook_that_is_there,
    ("docs/simulated-clouds.md", "json"): is_read_as_faults,
    ("docs/sizes.md", "yaml"): is_a_whole_fabric,
    ("docs/topology.md", "xml"): is_part_of_our_topology_file,
    ("examples/two-clouds-equinix/README.md", "yaml"): is_refused_line_by_line,
    ("examples/two-clouds/README.md", "yaml"): is_refused_line_by_line,
    ("plugin/README.md", "go"): is_run_online,
    ("plugin/README.md", "typescript"): is_run_online,
    ("plugin/README.md", "yaml"): is_run_by_the_plugins_tests,
}

OTHERS = [block for block in blocks() if block.language not in ("console", "bash")]


@pytest.mark.parametrize("block", OTHERS, ids=lambda block: f"{block.page}:{block.line} {block.language}")
def test_a_block_is_what_it_claims_to_be(block: Block, request: pytest.FixtureRequest) -> None:
    assert (block.page, block.language) in CHECKS, "say in CHECKS what must hold for this block"
    check = CHECKS[block.page, block.language]
    fixtures = ("monkeypatch", "tmp_path") if check is is_read_as_faults else ()
    check(block, *map(request.getfixturevalue, fixtures))


def test_every_check_has_a_block() -> None:
    assert set(CHECKS) <= {(block.page, block.language) for block in OTHERS}
