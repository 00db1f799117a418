"""What an EKS node group of ours asks for, judged by third parties' models.

The launch template of every size, layout and kind of capacity; and the whole example, with its cluster, roles and node
group.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from gpu_fabric.components.aws import AwsEksNodeTemplate
from gpu_fabric.nccl.hardware.interfaces import possible_layouts
from tests.components.recorder import Declared, Recording, cloud_id, record
from tests.fidelity import cloudformation, instance_types, matrix, service_model
from tests.fidelity.differences import Judge, listed
from tests.fidelity.in_moto import account
from tests.fidelity.to_api import requests_of
from tests.simulated import ROOT

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_GROUP, CLUSTER = "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"


def template(**args: Any) -> Recording:
    given: Any = {
        "vpc_id": cloud_id("vpc", "cluster"),
        "cluster_security_group_id": cloud_id("sg", "cluster"),
        **args,
    }

    def program() -> Mapping[str, Any] | None:
        AwsEksNodeTemplate("gpu", given)
        return None

    return record(program)


def cases(size: str) -> Iterator[dict[str, Any]]:
    row = matrix.sizes()[size]
    for layout, (usage, capacity) in product(possible_layouts(row), matrix.CAPACITIES.values()):
        if usage in row.usage_classes:
            yield {"instance_type": size, "interfaces": layout.value, "capacity": capacity}


@pytest.fixture(scope="module")
def example() -> Recording:
    """The resources of the example's program."""
    path = ROOT / "examples" / "eks-node-group-with-efa" / "__main__.py"
    return record(lambda: runpy.run_path(str(path)) and None)


@pytest.mark.parametrize("size", matrix.sizes())
def test_every_launch_template_is_accepted_by_botocore_cloudformation_and_the_instance_type(
    size: str,
) -> None:
    recordings = [template(**case) for case in cases(size)]
    templates = [requests_of(each.one(LAUNCH_TEMPLATE))[0] for each in recordings]
    assert [problem for request in templates for problem in service_model.problems(request)] == []
    data = [request.parameters["LaunchTemplateData"] for request in templates]
    assert [problem for one in data for problem in instance_types.problems(one)] == []
    resources = cloudformation.pooled(recordings)
    found = cloudformation.judge(resources, ignored=cloudformation.ABOUT_WHOLE_STACKS)
    said = {(one.where, f"{one.rule} {one.says}") for one in found}
    assert said == listed(Judge.CLOUDFORMATION, size)


def kubernetes(example: Recording) -> list[Declared]:
    wanted = ("aws:eks/", "aws:iam/", "aws:ec2/launchTemplate", "aws:ec2/securityGroup", "aws:vpc/")
    return [declared for declared in example.custom if declared.type.startswith(wanted)]


def test_botocores_model_of_eks_accepts_the_cluster_and_the_node_group(example: Recording) -> None:
    requests = [request for declared in kubernetes(example) for request in requests_of(declared)]
    operations = {request.operation for request in requests}
    assert {"CreateCluster", "CreateNodegroup", "CreateLaunchTemplate", "CreateRole"} <= operations
    assert [problem for request in requests for problem in service_model.problems(request)] == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"amiType": "AL2023_NVIDIA"}, "amiType: 'AL2023_NVIDIA' is not one of the "),
        ({"capacityType": "RESERVED"}, "capacityType: 'RESERVED' is not one of the "),
        ({"subnetIds": "subnet-1"}, "Invalid type for parameter subnets"),
        ({"launchTemplate": {"id": "lt-1", "number": "1"}}, 'Unknown parameter in launchTemplate: "number"'),
    ],
)
def test_the_model_of_eks_refuses_what_is_wrong(
    example: Recording, change: dict[str, Any], says: str
) -> None:
    right = example.one(NODE_GROUP)
    (wrong,) = requests_of(replace(right, inputs={**right.inputs, **change}))
    assert [problem for problem in service_model.problems(wrong) if problem.startswith(says)] != []


def test_cloudformations_schemas_accept_the_cluster_and_the_node_group(example: Recording) -> None:
    parts = cloudformation.template(kubernetes(example))["Resources"]
    found = cloudformation.judge(parts, ignored=cloudformation.ABOUT_WHOLE_STACKS)
    assert {(one.where, f"{one.rule} {one.says}") for one in found} == set()


def test_moto_makes_the_node_group_from_the_launch_template(example: Recording) -> None:
    group, cluster = example.one(NODE_GROUP), example.one(CLUSTER)
    with account(managed_policies=True) as cloud:
        vpc = cloud.client("ec2").create_vpc(CidrBlock="10.50.0.0/16")["Vpc"]["VpcId"]
        cloud.ids[example.of_type("aws:ec2/vpc:Vpc")[0].id] = vpc
        assert list(cloud.create(kubernetes(example))) == []
        names = {"clusterName": cluster.physical_name, "nodegroupName": group.physical_name}
        made = cloud.client("eks").describe_nodegroup(**names)["nodegroup"]
        template_id = cloud.ids[example.one(LAUNCH_TEMPLATE).id]
    assert made["launchTemplate"]["id"] == template_id
    assert made["scalingConfig"] == {"minSize": 2, "desiredSize": 2, "maxSize": 2}
    assert made["amiType"] == "AL2023_x86_64_NVIDIA"
    assert made["capacityType"] == "ON_DEMAND"
