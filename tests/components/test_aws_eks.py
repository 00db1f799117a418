"""The launch template for an EKS managed node group, seen as the engine would see it."""

from __future__ import annotations

import base64
import email
from collections.abc import Mapping
from typing import Any

import pytest

from gpu_fabric.components.aws import AwsEksNodeTemplate
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.nccl.bootstrap import EKS_USER_DATA_LIMIT
from gpu_fabric.nccl.hardware import Cloud, Fabric, load_sizes
from tests.components.recorder import Recording, record

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
CLUSTER_GROUP = "sg-0c1"
SIZES = [
    name
    for name, size in load_sizes().items()
    if size.cloud is Cloud.AWS and size.fabric is Fabric.EFA and size.supported
]


def made(**changes: Any) -> Recording:
    args: dict[str, Any] = {
        "instance_type": "p5.48xlarge",
        "vpc_id": "vpc-1",
        "cluster_security_group_id": CLUSTER_GROUP,
    }

    given: Any = {**args, **changes}

    def program() -> Mapping[str, Any]:
        template = AwsEksNodeTemplate("gpu", given)
        return {key: getattr(template, key) for key in AwsEksNodeTemplate.__annotations__}

    return record(program)


def refused(**changes: Any) -> str:
    with pytest.raises(InvalidInputError) as error:
        made(**changes)
    return str(error.value)


@pytest.mark.parametrize("size", SIZES)
def test_nothing_that_eks_forbids_is_in_the_template(size: str) -> None:
    template = made(instance_type=size).one(TEMPLATE).inputs
    forbidden = {
        "iamInstanceProfile",
        "imageId",
        "instanceMarketOptions",
        "hibernationOptions",
        "instanceInitiatedShutdownBehavior",
        "vpcSecurityGroupIds",
    }
    assert forbidden & set(template) == set()
    assert all("subnetId" not in interface for interface in template["networkInterfaces"])
    assert template["instanceType"] == size


def test_every_interface_is_in_our_group_and_in_the_clusters() -> None:
    declared = made()
    ours = declared.one(GROUP)
    assert ours.inputs["vpcId"] == "vpc-1"
    groups = {tuple(one["securityGroups"]) for one in declared.one(TEMPLATE).inputs["networkInterfaces"]}
    assert groups == {(ours.id, CLUSTER_GROUP)}
    assert declared.outputs["security_group_ids"] == [ours.id, CLUSTER_GROUP]


def test_the_layout_is_the_one_of_a_cluster_of_ours() -> None:
    interfaces = made().one(TEMPLATE).inputs["networkInterfaces"]
    assert len(interfaces) == 33
    assert [one["interfaceType"] for one in interfaces[:2]] == ["interface", "efa-only"]
    all_efa = made(interfaces="allEfa").one(TEMPLATE).inputs["networkInterfaces"]
    assert {one["interfaceType"] for one in all_efa} == {"efa"}


def test_the_disk_is_the_image_s_root_device_and_metadata_answers_pods() -> None:
    template = made().one(TEMPLATE).inputs
    (disk,) = template["blockDeviceMappings"]
    assert disk["deviceName"] == "/dev/xvda"
    assert disk["ebs"]["encrypted"] == "true"
    assert template["metadataOptions"]["httpTokens"] == "required"
    assert template["metadataOptions"]["httpPutResponseHopLimit"] == 2


def test_the_user_data_is_a_plain_mime_archive_with_room_for_ekss_part() -> None:
    raw = base64.b64decode(made().one(TEMPLATE).inputs["userData"])
    assert len(raw) <= EKS_USER_DATA_LIMIT
    archive = email.message_from_bytes(raw)
    assert archive.get_content_type() == "multipart/mixed"


@pytest.mark.parametrize(
    ("capacity", "word", "market", "placed"),
    [
        ({"kind": "onDemand"}, "ON_DEMAND", None, True),
        ({"kind": "spot"}, "SPOT", None, True),
        ({"kind": "reservation", "reservation_id": "cr-1"}, "ON_DEMAND", None, False),
        (
            {"kind": "capacityBlock", "reservation_id": "cr-1"},
            "CAPACITY_BLOCK",
            {"marketType": "capacity-block"},
            False,
        ),
    ],
)
def test_the_capacity_is_the_node_groups_word_and_the_block_is_the_templates_too(
    capacity: dict[str, Any], word: str, market: dict[str, Any] | None, placed: bool
) -> None:
    declared = made(capacity=capacity)
    template = declared.one(TEMPLATE).inputs
    assert declared.outputs["capacity_type"] == word
    assert template.get("instanceMarketOptions") == market
    assert bool(declared.of_type(PLACEMENT)) is placed
    reserved = template.get("capacityReservationSpecification")
    assert (reserved is not None) is ("reservation_id" in capacity)


def test_a_placement_group_can_be_adopted() -> None:
    declared = made(placement={"group": "adopt", "name": "close"})
    assert declared.of_type(PLACEMENT) == []
    assert declared.one(TEMPLATE).inputs["placement"] == {"groupName": "close"}


def test_the_node_group_is_told_the_image_with_the_drivers_and_a_version_by_its_number() -> None:
    outputs = made().outputs
    assert outputs["ami_type"] == "AL2023_x86_64_NVIDIA"
    assert outputs["launch_template_version"] == "1"
    assert outputs["fabric"] == {
        "gpusPerNode": 8,
        "efaInterfacesPerNode": 32,
        "addressesPerNode": 1,
        "efaGbpsPerNode": 3200,
    }


def test_everything_wrong_is_said_at_once_and_nothing_is_declared() -> None:
    text = refused(
        instance_type="p9.huge",
        vpc_id="10.0.0.0/16",
        cluster_security_group_id="eks-cluster-sg",
        capacity={"kind": "spot", "max_price": 3},
        nodes=4,
    )
    lines = text.splitlines()
    assert lines[0] == "AwsEksNodeTemplate 'gpu' has 5 problems; nothing was planned:"
    assert "  nodes: is not a key that is known here; " in text
    assert "  vpc_id: '10.0.0.0/16' is not such an id; give one that begins with vpc-" in lines
    assert (
        "  cluster_security_group_id: 'eks-cluster-sg' is not such an id; give one that begins with sg-"
        in lines
    )
    assert (
        "  capacity.max_price: a managed node group has no maximum price: EKS refuses spot options in its launch "
        "template; drop the key; a node then costs at most its on-demand price"
    ) in lines
    assert any(line.startswith("  instance_type: ") for line in lines)


def test_commands_that_leave_no_room_for_ekss_part_are_refused() -> None:
    text = refused(bootstrap={"after": ["".join(f"echo {number}\n" for number in range(9_000))]})
    assert "  bootstrap.after: the node's start-up data is " in text
    assert f"bytes, and EKS beside its own part takes {EKS_USER_DATA_LIMIT:,}; move commands" in text


def test_the_disks_are_nodeadms_so_scratch_is_no_key() -> None:
    assert "bootstrap.scratch: is not a key that is known here" in refused(bootstrap={"scratch": "/data"})
