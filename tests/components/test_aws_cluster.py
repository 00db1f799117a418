"""What an `AwsGpuCluster` declares, seen as the engine would see it."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
import yaml

from gpu_fabric.components.aws import AwsGpuCluster, AwsGpuClusterArgs
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.nccl import paths
from gpu_fabric.nccl.hardware import Cloud, load_sizes
from tests.components.recorder import Declared, Recording, record, record_cluster

ASG = "aws:autoscaling/group:Group"
INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
ADOPT = {"vpc_id": "vpc-1", "subnet_id": "subnet-1"}

AWS_SIZES = [size.name for size in load_sizes().values() if size.cloud is Cloud.AWS and size.supported]


def cluster(**changes: Any) -> Recording:
    args: dict[str, Any] = {"zone": "us-east-1a", "instance_type": "p5.48xlarge", "nodes": 4}
    return record_cluster({**args, **changes})


def template(**changes: Any) -> dict[str, Any]:
    return dict(cluster(**changes).one(TEMPLATE).inputs)


def cloud_config(inputs: dict[str, Any]) -> dict[str, Any]:
    text = gzip.decompress(base64.b64decode(inputs["userData"])).decode()
    assert text.startswith("#cloud-config\n")
    return yaml.safe_load(text)


def test_a_new_network_has_one_private_subnet_in_the_zone_and_a_small_public_one_for_the_nat_gateway() -> (
    None
):
    declared = cluster()
    subnets = {subnet.name: subnet.inputs for subnet in declared.of_type(SUBNET)}
    assert {name: subnet["cidrBlock"] for name, subnet in subnets.items()} == {
        "train-private": "10.100.16.0/20",
        "train-public": "10.100.0.0/28",
    }
    assert {subnet["availabilityZone"] for subnet in subnets.values()} == {"us-east-1a"}
    assert all(not subnet["mapPublicIpOnLaunch"] for subnet in subnets.values())
    vpc = declared.one(VPC).inputs
    assert vpc["enableDnsHostnames"]
    assert vpc["enableDnsSupport"]


def test_a_network_without_internet_has_endpoints_and_no_gateway_of_any_kind() -> None:
    declared = cluster(network={"internet": "endpoints"})
    assert sorted(endpoint.inputs["serviceName"] for endpoint in declared.of_type(ENDPOINT)) == [
        f"com.amazonaws.us-east-1.{service}" for service in ("autoscaling", "ec2", "s3", "ssm", "ssmmessages")
    ]
    absent = {"aws:ec2/natGateway:NatGateway", "aws:ec2/internetGateway:InternetGateway", "aws:ec2/eip:Eip"}
    assert absent & {resource.type for resource in declared.resources} == set()
    assert len(declared.of_type(SUBNET)) == 1


def test_an_adopted_network_creates_nothing_that_exists() -> None:
    declared = cluster(network={**ADOPT, "security_group_ids": ["sg-1"]})
    assert {resource.type for resource in declared.custom if not resource.type.startswith("aws:iam")} == {
        PLACEMENT,
        TEMPLATE,
        ASG,
    }
    assert declared.one(ASG).inputs["vpcZoneIdentifiers"] == ["subnet-1"]
    assert {
        tuple(interface["securityGroups"]) for interface in declared.one(TEMPLATE).inputs["networkInterfaces"]
    } == {("sg-1",)}
    assert declared.invokes == []


def test_an_adopted_subnet_is_looked_up_only_when_asked_and_refused_in_another_zone() -> None:
    args = {
        "zone": "us-east-1a",
        "instance_type": "p5.48xlarge",
        "nodes": 4,
        "network": {**ADOPT, "verify": True},
    }
    found = {"aws:ec2/getSubnet:getSubnet": {"id": "subnet-1", "availabilityZone": "us-east-1a"}}
    assert [invoke.token for invoke in record_cluster(args, answers=found).invokes] == [
        "aws:ec2/getSubnet:getSubnet"
    ]
    elsewhere = {"aws:ec2/getSubnet:getSubnet": {"id": "subnet-1", "availabilityZone": "us-east-1b"}}
    with pytest.raises(
        Exception, match="subnet-1 is in us-east-1b, and the nodes are to be in us-east-1a; give a"
    ):
        record_cluster(args, answers=elsewhere)


def test_efa_passes_because_a_rule_each_way_names_the_group_itself() -> None:
    declared = cluster()
    group = declared.one(GROUP)
    itself = {"securityGroupId": group.id, "referencedSecurityGroupId": group.id, "ipProtocol": "-1"}
    (ingress,) = declared.of_type(INGRESS)
    assert itself.items() <= ingress.inputs.items()
    assert sum(itself.items() <= rule.inputs.items() for rule in declared.of_type(EGRESS)) == 1


def test_nothing_comes_in_from_outside() -> None:
    for changes in ({}, {"network": {"internet": "endpoints"}}):
        for rule in cluster(**changes).of_type(INGRESS):
            assert rule.inputs.get("cidrIpv4") in (None, "10.100.0.0/16"), rule.name
            assert "cidrIpv6" not in rule.inputs


def test_no_node_starts_before_its_security_rules_and_its_way_out_exist() -> None:
    declared = cluster()
    waits_for = set(declared.one(ASG).depends_on)
    rules = {rule.urn for rule in [*declared.of_type(INGRESS), *declared.of_type(EGRESS)]}
    routes = {route.urn for route in declared.of_type("aws:ec2/route:Route") if "private" in route.name}
    assert rules <= waits_for
    assert routes
    assert routes <= waits_for


@pytest.mark.parametrize("size", AWS_SIZES)
def test_every_size_gets_its_interfaces_with_no_public_address_and_no_subnet_of_their_own(size: str) -> None:
    inputs = template(instance_type=size)
    interfaces = inputs["networkInterfaces"]
    row = load_sizes()[size]
    assert sum(one["interfaceType"] in ("efa", "efa-only") for one in interfaces) == row.fabric_ports
    assert (interfaces[0]["networkCardIndex"], interfaces[0]["deviceIndex"]) == (0, 0)
    assert interfaces[0]["interfaceType"] == "interface"
    with_address = [one for one in interfaces if one["interfaceType"] != "efa-only"]
    assert len(with_address) == 1
    assert all(one["associatePublicIpAddress"] == "false" for one in with_address)
    assert all("associatePublicIpAddress" not in one for one in interfaces if one not in with_address)
    assert all("subnetId" not in one for one in interfaces)
    assert "vpcSecurityGroupIds" not in inputs


def test_p5_has_32_efa_interfaces_and_one_address() -> None:
    places = [
        (one["networkCardIndex"], one["deviceIndex"], one["interfaceType"])
        for one in template()["networkInterfaces"]
    ]
    assert places == [
        (0, 0, "interface"),
        (0, 1, "efa-only"),
        *((card, 0, "efa-only") for card in range(1, 32)),
    ]


def test_p6_b300_has_no_efa_on_card_0() -> None:
    places = [
        (one["networkCardIndex"], one["deviceIndex"], one["interfaceType"])
        for one in template(instance_type="p6-b300.48xlarge")["networkInterfaces"]
    ]
    assert places == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]


def test_the_node_speaks_imdsv2_only_and_containers_reach_it() -> None:
    assert template()["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 2,
        "instanceMetadataTags": "enabled",
    }


def test_the_root_volume_is_gp3_encrypted_and_goes_with_the_node() -> None:
    (mapping,) = template(root_volume={"kms_key_id": "key-1"})["blockDeviceMappings"]
    assert mapping == {
        "deviceName": "/dev/sda1",
        "ebs": {
            "volumeType": "gp3",
            "volumeSize": 1000,
            "iops": 16000,
            "throughput": 1000,
            "encrypted": "true",
            "kmsKeyId": "key-1",
            "deleteOnTermination": "true",
        },
    }


def test_the_image_floats_by_default_and_says_so() -> None:
    declared = cluster()
    parameter = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
    assert declared.one(TEMPLATE).inputs["imageId"] == f"resolve:ssm:{parameter}"
    assert any(
        level == "warning" and text.startswith(f"image: {parameter} floats.")
        for level, text in declared.messages
    )


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ({"ami_id": "ami-0123456789abcdef0"}, "ami-0123456789abcdef0"),
        ({"ssm_parameter": "/mine/gpu:12"}, "resolve:ssm:/mine/gpu:12"),
    ],
)
def test_a_pinned_image_is_taken_as_it_is_and_nothing_is_said(image: dict[str, str], reference: str) -> None:
    declared = cluster(image=image)
    assert declared.one(TEMPLATE).inputs["imageId"] == reference
    assert not any("floats" in text for _, text in declared.messages)


def test_an_image_under_a_parameters_label_floats_because_a_label_can_be_moved() -> None:
    declared = cluster(image={"ssm_parameter": "/mine/gpu:stable"})
    assert declared.one(TEMPLATE).inputs["imageId"] == "resolve:ssm:/mine/gpu:stable"
    assert any(text.startswith("image: /mine/gpu:stable floats.") for _, text in declared.messages)


def test_on_demand_nodes_share_a_new_cluster_placement_group() -> None:
    declared = cluster()
    group = declared.one(PLACEMENT)
    assert group.inputs["strategy"] == "cluster"
    assert declared.one(TEMPLATE).inputs["placement"] == {"groupName": group.physical_name}
    assert "instanceMarketOptions" not in declared.one(TEMPLATE).inputs


def test_a_capacity_block_needs_market_type_and_reservation_and_gets_no_placement_group() -> None:
    declared = cluster(capacity={"kind": "capacityBlock", "reservation_id": "cr-1"})
    inputs = declared.one(TEMPLATE).inputs
    assert inputs["instanceMarketOptions"] == {"marketType": "capacity-block"}
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}
    assert inputs["capacityReservationSpecification"] == target
    assert declared.of_type(PLACEMENT) == []
    assert "placement" not in inputs
    assert declared.one(ASG).inputs["capacityReservationSpecification"] == {
        "capacityReservationPreference": "capacity-reservations-only",
        "capacityReservationTarget": {"capacityReservationIds": ["cr-1"]},
    }


def test_a_reservation_is_targeted_and_never_falls_back_to_on_demand() -> None:
    declared = cluster(
        capacity={"kind": "reservation", "reservation_id": "cr-1"}, placement={"name": "theirs"}
    )
    assert "instanceMarketOptions" not in declared.one(TEMPLATE).inputs
    assert declared.one(TEMPLATE).inputs["placement"] == {"groupName": "theirs"}
    specification = declared.one(ASG).inputs["capacityReservationSpecification"]
    assert specification["capacityReservationPreference"] == "capacity-reservations-only"


def test_spot_nodes_are_one_time_requests_with_the_users_price() -> None:
    inputs = template(capacity={"kind": "spot", "max_price": 12.5})
    assert inputs["instanceMarketOptions"] == {
        "marketType": "spot",
        "spotOptions": {
            "spotInstanceType": "one-time",
            "instanceInterruptionBehavior": "terminate",
            "maxPrice": "12.5",
        },
    }


@pytest.mark.parametrize("nodes", [2, 256, 1_000])
def test_a_fleet_is_the_same_few_resources_at_any_node_count(nodes: int) -> None:
    declared = cluster(nodes=nodes)
    with_stack_and_provider = len(declared.resources) + 2
    assert with_stack_and_provider <= 45
    assert sorted(resource.urn for resource in declared.resources) == sorted(
        resource.urn for resource in cluster(nodes=2).resources
    )
    group = declared.one(ASG).inputs
    assert (group["minSize"], group["desiredCapacity"], group["maxSize"]) == (nodes, nodes, nodes)


def test_the_most_resources_that_a_fleet_can_have_stay_below_the_limit() -> None:
    policies = [f"arn:aws:iam::aws:policy/P{number}" for number in range(3)]
    declared = cluster(network={"internet": "endpoints"}, access={"extra_policy_arns": policies})
    assert len(declared.resources) + 2 <= 45


def test_only_the_group_differs_between_two_node_counts() -> None:
    few, many = cluster(nodes=2), cluster(nodes=1_000)
    before = {resource.urn: resource.inputs for resource in few.custom}
    different = {resource.name for resource in many.custom if before[resource.urn] != resource.inputs}
    assert different == {"train-fleet"}


def test_the_fleet_follows_the_templates_version_number_and_not_latest() -> None:
    assert cluster().one(ASG).inputs["launchTemplate"]["version"] == "1"


def test_running_nodes_are_left_alone_unless_the_user_says_replace() -> None:
    assert "instanceRefresh" not in cluster().one(ASG).inputs
    replacing = cluster(updates="replace")
    assert replacing.one(ASG).inputs["instanceRefresh"]["strategy"] == "Rolling"
    assert any("terminates and replaces the nodes of the fleet" in text for _, text in replacing.messages)


def test_instances_are_one_resource_a_node_with_the_subnet_in_the_template() -> None:
    declared = cluster(nodes=3, nodes_as="instances")
    # Registered in any order; the outputs are in the order of the nodes.
    instances = sorted(declared.of_type(INSTANCE), key=lambda instance: instance.name)
    assert [instance.name for instance in instances] == ["train-000", "train-001", "train-002"]
    subnet = next(one for one in declared.of_type(SUBNET) if one.name == "train-private")
    interfaces = declared.one(TEMPLATE).inputs["networkInterfaces"]
    assert {one["subnetId"] for one in interfaces} == {subnet.id}
    assert all("subnetId" not in instance.inputs for instance in instances)
    assert declared.of_type(ASG) == []
    assert declared.outputs["instance_ids"] == [instance.id for instance in instances]
    assert len(declared.outputs["private_addresses"]) == 3


def test_instances_keep_running_through_a_new_template_unless_the_user_says_replace() -> None:
    (kept,) = cluster(nodes=1, nodes_as="instances").of_type(INSTANCE)
    assert kept.ignore_changes == ("launchTemplate",)
    (replaced,) = cluster(nodes=1, nodes_as="instances", updates="replace").of_type(INSTANCE)
    assert (replaced.ignore_changes, replaced.replace_on_changes) == ((), ("launchTemplate",))
    assert replaced.delete_before_replace


def test_the_role_lets_session_manager_in_and_the_node_find_its_peers() -> None:
    declared = cluster(access={"extra_policy_arns": ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]})
    attached = {
        one.name: one.inputs["policyArn"]
        for one in declared.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    }
    assert attached == {
        "train-session-manager": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore",
        "train-AmazonS3ReadOnlyAccess": "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess",
    }
    policy = json.loads(declared.one("aws:iam/rolePolicy:RolePolicy").inputs["policy"])
    assert "ec2:DescribeInstanceTopology" in policy["Statement"][0]["Action"]
    assert "keyName" not in declared.one(TEMPLATE).inputs


def test_another_partition_has_its_own_names() -> None:
    args = {"zone": "cn-north-1a", "instance_type": "p5.48xlarge", "nodes": 1}
    declared = record_cluster(args, config={"aws:region": "cn-north-1"})
    (attached,) = declared.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    assert attached.inputs["policyArn"] == "arn:aws-cn:iam::aws:policy/AmazonSSMManagedInstanceCore"


def test_everything_that_can_carry_tags_carries_the_users_and_ours() -> None:
    declared = cluster(tags={"team": "llm"})
    without = {
        resource.type
        for resource in declared.custom
        if resource.inputs.get("tags", {}) == {} and resource.type.partition(":")[2] not in NO_TAGS
    }
    assert without == set()
    for resource in declared.custom:
        if isinstance(tags := resource.inputs.get("tags"), dict):
            assert tags["team"] == "llm", resource.name
            assert tags["gpu-fabric:stack"] == "test", resource.name
    specifications = declared.one(TEMPLATE).inputs["tagSpecifications"]
    assert {one["resourceType"] for one in specifications} == {"instance", "volume", "network-interface"}
    assert all(one["tags"]["team"] == "llm" for one in specifications)


#: Types of AWS that take no tags, or (security group rules, inline policies) none that anybody reads.
NO_TAGS = {
    "ec2/route:Route",
    "ec2/routeTableAssociation:RouteTableAssociation",
    "iam/rolePolicy:RolePolicy",
    "iam/rolePolicyAttachment:RolePolicyAttachment",
    "vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    "vpc/securityGroupIngressRule:SecurityGroupIngressRule",
}


@pytest.mark.parametrize(
    ("size", "active"),
    [
        ("p4d.24xlarge", True),
        ("p4de.24xlarge", True),
        ("p5.48xlarge", False),
        ("p5e.48xlarge", False),
        ("p5en.48xlarge", None),
        ("p6-b200.48xlarge", None),
        ("p6-b300.48xlarge", None),
    ],
)
def test_a_node_gets_environment_entrypoint_and_the_topology_where_the_platform_wants_it(
    size: str, active: bool | None
) -> None:
    config = cloud_config(template(instance_type=size))
    files = {file["path"]: file["content"] for file in config["write_files"]}
    assert paths.NCCL_CONF in files
    assert paths.ENTRYPOINT in files
    assert (paths.TOPOLOGY in files) == (active is not None)
    assert (f"NCCL_TOPO_FILE={paths.TOPOLOGY}" in files[paths.NCCL_CONF]) == bool(active)


def test_the_users_variables_win_and_what_lint_thinks_of_them_is_said() -> None:
    declared = cluster(nccl={"environment": {"NCCL_ALGO": "RING,TREE"}})
    files = {
        file["path"]: file["content"]
        for file in cloud_config(dict(declared.one(TEMPLATE).inputs))["write_files"]
    }
    assert "NCCL_ALGO=RING,TREE" in files[paths.NCCL_CONF]
    assert any("NCCL_ALGO" in text and level == "warning" for level, text in declared.messages)


def test_the_users_commands_run_on_the_node() -> None:
    text = gzip.decompress(
        base64.b64decode(template(bootstrap={"after": ["mount /shared"]})["userData"])
    ).decode()
    assert "mount /shared" in text


def test_rendering_is_the_same_to_the_byte() -> None:
    assert template()["userData"] == template()["userData"]


def test_outputs_say_what_the_fabric_is_and_how_to_use_it() -> None:
    outputs = cluster().outputs
    assert outputs["fabric"] == {
        "nodes": 4,
        "gpusPerNode": 8,
        "efaInterfacesPerNode": 32,
        "addressesPerNode": 1,
        "efaGbpsPerNode": 3200,
    }
    fleet = outputs["fleet_name"]
    assert f"Values={fleet} --query" in outputs["launch"]["nodes"]
    assert outputs["launch"]["session"].startswith("aws ssm start-session --region us-east-1 --target ")
    assert outputs["launch"]["hostfile"].endswith("| sort -V | sed 's/$/ slots=8/' > hostfile")
    assert outputs["runs"]["size"] == "p5.48xlarge"
    assert outputs["private_addresses"] is None


def test_no_output_waits_for_a_look_up_and_nothing_is_looked_up() -> None:
    assert cluster().invokes == []
    assert cluster(nodes_as="instances").invokes == []


def test_all_problems_of_the_arguments_are_raised_before_anything_is_declared() -> None:
    with pytest.raises(InvalidInputError) as refused:
        cluster(nodes=0, zone="us-west-2a", root_volume={"size_gib": 10})
    assert str(refused.value).splitlines()[0] == "AwsGpuCluster 'train' has 3 problems; nothing was planned:"
    assert "  root_volume.iops: 16000 IOPS on 10 GiB exceed" in str(refused.value)
    assert isinstance(refused.value, pulumi.RunError)


def test_ids_may_be_outputs_of_other_resources() -> None:
    def program() -> dict[str, Any]:
        from gpu_fabric.components.aws import AwsGpuCluster

        vpc = aws.ec2.Vpc("theirs", cidr_block="10.9.0.0/16")
        subnet = aws.ec2.Subnet("theirs", vpc_id=vpc.id, cidr_block="10.9.0.0/20")
        AwsGpuCluster(
            "train",
            {
                "zone": "us-east-1a",
                "instance_type": "p5.48xlarge",
                "nodes": 2,
                "network": {"vpc_id": vpc.id, "subnet_id": subnet.id},
            },
        )
        return {}

    declared = record(program)
    subnet = next(one for one in declared.of_type(SUBNET))
    assert declared.one(ASG).inputs["vpcZoneIdentifiers"] == [subnet.id]


def test_children_are_children_of_their_component_and_the_components_of_the_cluster() -> None:
    declared = cluster()
    by_urn = {resource.urn: resource for resource in declared.resources}
    tokens = "gpu-fabric:index:"

    def parent(resource: Declared) -> str:
        return by_urn[resource.parent].type.removeprefix(tokens)

    assert {
        parent(resource)
        for resource in declared.resources
        if resource.type.startswith(f"{tokens}Aws") and not resource.type.endswith("AwsGpuCluster")
    } == {"AwsGpuCluster"}
    assert parent(declared.one(TEMPLATE)) == "AwsNodeTemplate"
    assert parent(declared.one(ASG)) == "AwsNodes"
    assert all(resource.parent in by_urn for resource in declared.custom)


def test_a_name_that_iam_would_not_take_is_refused_with_the_length_that_fits() -> None:
    args = {"zone": "us-east-1a", "instance_type": "p5.48xlarge", "nodes": 1}
    assert record_cluster(args, name="n" * 51).custom
    with pytest.raises(InvalidInputError) as refused:
        record_cluster(args, name="n" * 52)
    assert (
        "name: the cluster's name has 52 characters, and IAM takes no role name above 64; give a name of at most 51"
        in (str(refused.value))
    )


class _Team(pulumi.ComponentResource):
    """A foreign component that the cluster is put under."""

    def __init__(self, west: pulumi.ProviderResource) -> None:
        super().__init__("team:index:Team", "team", None, pulumi.ResourceOptions(providers=[west]))


@pytest.mark.parametrize(
    "options",
    [
        lambda west: pulumi.ResourceOptions(provider=west),
        lambda west: pulumi.ResourceOptions(providers=[west]),
        lambda west: pulumi.ResourceOptions(providers={"aws": west}),
        lambda west: pulumi.ResourceOptions(parent=_Team(west)),
    ],
    ids=["provider", "list", "map", "inherited"],
)
def test_a_provider_of_the_programs_own_may_be_in_another_region_than_the_stacks(
    options: Callable[[pulumi.ProviderResource], pulumi.ResourceOptions],
) -> None:
    args: AwsGpuClusterArgs = {"zone": "us-west-2a", "instance_type": "p5.48xlarge", "nodes": 2}
    stack = {"aws:region": "us-east-1"}

    def program() -> dict[str, Any]:
        west = aws.Provider("west", region="us-west-2")
        return {"vpc": AwsGpuCluster("train", args, options(west)).vpc_id}

    made = record(program, config=stack)
    assert {one.inputs["availabilityZone"] for one in made.of_type(SUBNET)} == {"us-west-2a"}


@pytest.mark.parametrize("other", [None, pulumi.ResourceOptions(protect=True)])
def test_the_stacks_own_provider_is_held_against_the_zone(other: pulumi.ResourceOptions | None) -> None:
    args: AwsGpuClusterArgs = {"zone": "us-west-2a", "instance_type": "p5.48xlarge", "nodes": 2}
    with pytest.raises(
        InvalidInputError, match="us-west-2a is a zone of us-west-2, and aws:region is us-east-1"
    ):
        record(lambda: {"c": AwsGpuCluster("train", args, other).vpc_id}, config={"aws:region": "us-east-1"})
