"""The live members of a fleet on AWS, and where in the network they are.

Needs boto3: `pip install 'gpu-fabric[live-aws]'`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from gpu_fabric.nccl.launch.nodes import LaunchNode
from gpu_fabric.nccl.launch.order import with_layers

FILTER_VALUES: Final = 200
"""Values that one filter takes. EC2 User Guide, Using_Filtering.html."""
TOPOLOGY_BATCH: Final = 100
"""Instance ids that one DescribeInstanceTopology call takes. EC2 API reference."""


class LiveError(RuntimeError):
    """The cloud did not answer as needed; the message says what to do."""


def _client(service: str, region: str | None) -> Any:
    try:
        import boto3
    except ModuleNotFoundError:
        raise LiveError(
            "boto3 is not installed: pip install 'gpu-fabric[live-aws]', or give a file of nodes"
        ) from None
    return boto3.client(service, region_name=region)


def members(
    *,
    fleet: str | None = None,
    instance_ids: Sequence[str] = (),
    region: str | None = None,
    slots: int | None = None,
    ec2: Any = None,
    autoscaling: Any = None,
) -> list[LaunchNode]:
    """Running instances of an Auto Scaling group, or of these ids, with their switches; primary addresses only.

    Needs autoscaling:DescribeAutoScalingGroups, ec2:DescribeInstances and ec2:DescribeInstanceTopology. `slots` None
    takes the GPUs of the catalog's size. Raises `LiveError` where the group is unknown, nothing runs, or one of the
    ids does not run.
    """
    try:
        ec2 = ec2 or _client("ec2", region)
        if fleet is not None:
            instance_ids = _of_fleet(fleet, autoscaling or _client("autoscaling", region))
        nodes = [*_running(ec2, instance_ids, slots)]
        placed = with_layers(nodes, _topology(ec2, [node.id for node in nodes]))
    except Exception as error:
        # botocore's errors name the call and the missing permission; anything else is shown as it is.
        if type(error).__module__.startswith("botocore"):
            raise LiveError(f"AWS: {error}") from None
        raise
    missing = sorted({*instance_ids} - {node.id for node in placed}) if fleet is None else []
    if missing:
        raise LiveError(f"not running, or not in this region and account: {', '.join(missing)}")
    if not placed:
        raise LiveError("no instance of it is running: wait for the fleet, or look at its activity history")
    return placed


def _of_fleet(name: str, autoscaling: Any) -> list[str]:
    groups = autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    if not groups:
        raise LiveError(f"no Auto Scaling group is named {name!r} in this region and account")
    return [i["InstanceId"] for i in groups[0]["Instances"] if i["LifecycleState"] == "InService"]


def _running(ec2: Any, ids: Sequence[str], slots: int | None) -> Iterator[LaunchNode]:
    from gpu_fabric.nccl.hardware.plain import plain_sizes

    paginator = ec2.get_paginator("describe_instances")
    pages = (
        page
        for batch in _batches(ids, FILTER_VALUES)
        for page in paginator.paginate(
            Filters=[
                {"Name": "instance-state-name", "Values": ["running"]},
                {"Name": "instance-id", "Values": batch},
            ]
        )
    )
    for instance in (
        i for page in pages for reservation in page["Reservations"] for i in reservation["Instances"]
    ):
        size = plain_sizes().get(instance["InstanceType"])
        if "PrivateIpAddress" not in instance:
            raise LiveError(
                f"{instance['InstanceId']} has no private IPv4 address: NCCL's bootstrap needs one"
            )
        yield LaunchNode(
            instance["PrivateIpAddress"],
            name=instance.get("PrivateDnsName", "").partition(".")[0],
            cloud="aws",
            id=instance["InstanceId"],
            slots=slots or (size.gpu.count if size else 8),
        )


def _topology(ec2: Any, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every page of every batch; types without topology are simply not in the answer."""
    for batch in _batches(ids, TOPOLOGY_BATCH):
        token: dict[str, str] = {}
        while True:
            answer = ec2.describe_instance_topology(InstanceIds=batch, **token)
            yield answer
            if not answer.get("NextToken"):
                break
            token = {"NextToken": answer["NextToken"]}


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
