"""`gpu-fabric hostfile`: who is there, in the order of the network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpu_fabric.cli.errors import InputError
from gpu_fabric.cli.files import nodes_in, text_of

if TYPE_CHECKING:
    from gpu_fabric.nccl.launch import LaunchNode

FORMATS = ("openmpi", "openmpi-seq", "deepspeed", "torchrun", "slurm-conf", "slurm-yaml", "plain", "json")
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


@click.command("hostfile")
@click.argument("files", nargs=-1, type=FILE, metavar="[FILE]...")
@click.option("--aws-fleet", metavar="NAME", help="Auto Scaling group; its running instances.")
@click.option("--aws-instances", metavar="ID,ID", help="EC2 instances by id.")
@click.option("--region", metavar="REGION", help="AWS region.  [default: your AWS settings']")
@click.option("--azure-scale-set", metavar="NAME", help="Uniform scale set; its running instances.")
@click.option("--resource-group", metavar="NAME", help="Azure resource group of the scale set.")
@click.option("--subscription", metavar="ID", envvar="AZURE_SUBSCRIPTION_ID", help="Azure subscription.")
@click.option(
    "--topology", type=FILE, help="DescribeInstanceTopology's answer as JSON, for nodes of a file with ids."
)
@click.option(
    "--torsets", type=FILE, help="What `sharp_cmd topology --topology_file` wrote on one Azure node."
)
@click.option(
    "--guids", type=FILE, help="Lines `NODE GUID,GUID`: whose InfiniBand port is whose; with --torsets."
)
@click.option(
    "--slots",
    type=click.IntRange(min=1),
    help="GPUs a node, whatever a file says.  [default: the file's, the size's, else 8]",
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default="openmpi", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    files: tuple[Path, ...],
    aws_fleet: str | None,
    aws_instances: str | None,
    region: str | None,
    azure_scale_set: str | None,
    resource_group: str | None,
    subscription: str | None,
    topology: Path | None,
    torsets: Path | None,
    guids: Path | None,
    slots: int | None,
    format_: str,
    as_json: bool,
) -> None:
    """List the nodes of one cloud or two, ranks ordered so that nodes under one switch are neighbours.

    Live members come from the clouds (pip install 'gpu-fabric[live-aws]' or '[live-azure]'), others from FILE: a line
    a node (`10.0.0.1 slots=8 cloud=aws`), or what --format json wrote. Only primary private addresses.
    """
    from gpu_fabric.nccl.launch import in_network_order, render, with_layers, with_torsets
    from gpu_fabric.nccl.launch.aws import LiveError
    from gpu_fabric.nccl.launch.nodes import NodeListError, refuse_public, twice
    from gpu_fabric.nccl.launch.order import read_guids, unplaced

    nodes: list[LaunchNode] = []
    try:
        for file in files:
            nodes += nodes_in(file, slots=slots)
        nodes += _live(aws_fleet, aws_instances, region, azure_scale_set, resource_group, subscription, slots)
        refuse_public(nodes)
        if again := twice(nodes):
            raise InputError("; ".join(again))
    except (LiveError, NodeListError) as error:
        raise InputError(str(error)) from None
    if not nodes:
        raise InputError("no nodes: name a FILE, --aws-fleet, --aws-instances or --azure-scale-set")
    if topology is not None:
        nodes = with_layers(nodes, _answers(topology))
    if (torsets is None) is not (guids is None):
        raise InputError("--torsets and --guids belong together: the tool prints port GUIDs, not nodes")
    if torsets is not None and guids is not None:
        nodes = with_torsets(nodes, text_of(torsets), read_guids(text_of(guids)))
    nodes = in_network_order(nodes)
    click.echo(render(nodes, "json" if as_json else format_), nl=False)
    lost = unplaced(nodes)
    if lost and len(nodes) > 1:
        some = ", ".join(node.label for node in lost[:4]) + (" …" if len(lost) > 4 else "")
        click.echo(
            f"note: the place of {len(lost)} of {len(nodes)} nodes in the network is not known ({some})",
            err=True,
        )


def _answers(path: Path) -> list[dict[str, Any]]:
    try:
        document = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    answers = document if isinstance(document, list) else [document]
    if not all(isinstance(answer, dict) and isinstance(answer.get("Instances"), list) for answer in answers):
        raise InputError(f"{path}: no list `Instances`: {_TOPOLOGY}")
    instances = [instance for answer in answers for instance in answer["Instances"]]
    wrong = [number for number, instance in enumerate(instances, 1) if not _is_placed(instance)]
    if wrong:
        raise InputError(
            f"{path}: instance {wrong[0]} has no InstanceId, or NetworkNodes is no list: {_TOPOLOGY}"
        )
    return answers


_TOPOLOGY = "write what `aws ec2 describe-instance-topology` prints"


def _is_placed(instance: object) -> bool:
    """An instance of the answer: its id, and the switches above it where EC2 knows them."""
    if not isinstance(instance, dict):
        return False
    layers = instance.get("NetworkNodes") or []
    texts = [instance.get("InstanceId"), *layers] if isinstance(layers, list) else [None]
    return all(isinstance(text, str) and text for text in texts)


def _live(
    aws_fleet: str | None,
    aws_instances: str | None,
    region: str | None,
    azure_scale_set: str | None,
    resource_group: str | None,
    subscription: str | None,
    slots: int | None,
) -> list[LaunchNode]:
    from gpu_fabric.nccl.launch import aws, azure

    nodes: list[LaunchNode] = []
    if aws_fleet or aws_instances:
        if aws_fleet and aws_instances:
            raise InputError("--aws-fleet and --aws-instances: name one of them")
        ids = [word.strip() for word in (aws_instances or "").split(",") if word.strip()]
        if aws_instances and not ids:
            raise InputError("--aws-instances: no id stands there")
        nodes += aws.members(fleet=aws_fleet, instance_ids=ids, region=region, slots=slots)
    if azure_scale_set:
        if not resource_group or not subscription:
            raise InputError(
                "--azure-scale-set needs --resource-group and --subscription (AZURE_SUBSCRIPTION_ID)"
            )
        nodes += azure.members(azure_scale_set, resource_group, subscription=subscription, slots=slots)
    return nodes
