"""EKS: what a cluster asks for, what a managed node group forbids in a launch template, and what it starts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.rehearsal.fabric import IMAGE, INSTANCE, INTERFACE, PLACEMENT, SUBNET, Fabric, p5
from tests.rehearsal.small_engine import Failed, Resource

CLUSTER = "aws:eks/cluster:Cluster"
NODES = "aws:eks/nodeGroup:NodeGroup"
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
FLEET = "aws:autoscaling/group:Group"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
REFUSED = (
    "creating EKS Node Group ({}): operation error EKS: CreateNodegroup, https response error StatusCode: 400, "
    "RequestID: simulated, "
)


def archive(*parts: str) -> str:
    """User data as EKS takes it."""
    body = "".join(f"--x\nContent-Type: text/cloud-config\n\n{part}\n" for part in parts)
    text = f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n{body}--x--\n'
    return base64.b64encode(text.encode()).decode()


class Kubernetes:
    """A cluster in two zones, a role for its nodes, and the short way to a node group in the first zone."""

    def __init__(self, net: Fabric) -> None:
        self.net, self.cloud = net, net.cloud
        self.other = self.cloud.up(
            SUBNET, "other", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1b"
        )
        self.role = self._role("control", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
        self.cluster = self.cloud.up(
            CLUSTER,
            "train",
            roleArn=self.role["arn"],
            version="1.34",
            vpcConfig={"subnetIds": [net.subnet.id, self.other.id]},
        )
        self.node_role = self._role("node", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy")

    def _role(self, name: str, service: str, policy: str = "") -> Resource:
        statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}
        role = self.cloud.up(ROLE, name, assumeRolePolicy=json.dumps({"Statement": [statement]}))
        if policy:
            self.cloud.up(
                ATTACHMENT, f"{name}-policy", role=role["name"], policyArn=f"arn:aws:iam::aws:policy/{policy}"
            )
        return role

    def template(self, **data: Any) -> Resource:
        group = self.cluster["vpcConfig"]["clusterSecurityGroupId"]
        given = {"instanceType": "p5.48xlarge", "networkInterfaces": p5(securityGroups=[group]), **data}
        return self.cloud.up(
            "aws:ec2/launchTemplate:LaunchTemplate", "gpu", {k: v for k, v in given.items() if v is not None}
        )

    def nodes(self, template: Resource | None, count: int = 2, /, **more: Any) -> Resource:
        given: dict[str, Any] = {
            "clusterName": self.cluster["name"],
            "nodeRoleArn": self.node_role["arn"],
            "subnetIds": [self.net.subnet.id],
            "scalingConfig": {"minSize": count, "desiredSize": count, "maxSize": max(count, 1)},
            "amiType": "AL2023_x86_64_NVIDIA",
            **more,
        }
        if template is not None:
            given["launchTemplate"] = {"id": template.id, "version": str(template["latestVersion"])}
        return self.cloud.up(NODES, "nodes", {k: v for k, v in given.items() if v is not None})


@pytest.fixture
def kubernetes(net: Fabric) -> Kubernetes:
    return Kubernetes(net)


def test_a_cluster_brings_its_security_group_and_takes_an_address_in_two_zones(
    kubernetes: Kubernetes,
) -> None:
    found = kubernetes.cluster
    assert found["status"] == "ACTIVE"
    assert found["vpcConfig"]["vpcId"] == kubernetes.net.vpc.id
    held = {each["id"]: each for each in kubernetes.cloud.store.dump() if each["kind"] == GROUP}
    rules = held[found["vpcConfig"]["clusterSecurityGroupId"]]["properties"]
    assert [rule.get("self") for rule in rules["ingress"]] == [True]
    assert any(rule.get("self") for rule in rules["egress"])
    zones = [each["availabilityZone"] for each in kubernetes.net.interfaces()]
    assert sorted(zones) == ["us-east-1a", "us-east-1b"]


def test_the_services_block_is_not_the_vpcs(kubernetes: Kubernetes) -> None:
    assert kubernetes.cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "172.20.0.0/16"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda given, one: {**given, "vpcConfig": {"subnetIds": [one.net.subnet.id]}},
            "Subnets specified must be in at least two different AZs",
        ),
        (
            lambda given, one: {**given, "roleArn": one.node_role["arn"]},
            "Role could not be assumed because the trusted entity is not correct",
        ),
        (
            lambda given, one: {**given, "roleArn": "arn:aws:iam::000000000000:role/none"},
            "roleArn, arn:aws:iam::000000000000:role/none, does not exist",
        ),
        (
            lambda given, one: {**given, "roleArn": one._role("bare", "eks.amazonaws.com")["arn"]},
            "The provided role doesn't have the Amazon EKS Managed Policies associated with it. Please ensure the "
            "following policy is attached: arn:aws:iam::aws:policy/AmazonEKSClusterPolicy",
        ),
    ],
)
def test_a_cluster_without_two_zones_or_its_role_is_refused(
    kubernetes: Kubernetes, change: Callable[[dict[str, Any], Kubernetes], dict[str, Any]], sentence: str
) -> None:
    given = {"roleArn": kubernetes.role["arn"], "vpcConfig": kubernetes.cluster.inputs["vpcConfig"]}
    with pytest.raises(Failed) as failed:
        kubernetes.cloud.up(CLUSTER, "second", change(given, kubernetes))
    assert failed.value.text.endswith(f"InvalidParameterException: {sentence}")
    assert "operation error EKS: CreateCluster, https response error StatusCode: 400" in failed.value.text


def test_kubernetes_is_updated_one_minor_version_at_a_time(kubernetes: Kubernetes) -> None:
    given = kubernetes.cluster.inputs
    with pytest.raises(Failed, match=r"Unsupported Kubernetes minor version update from 1\.34 to 1\.36"):
        kubernetes.cloud.up(CLUSTER, "train", {**given, "version": "1.36"})
    assert kubernetes.cloud.up(CLUSTER, "train", {**given, "version": "1.35"})["version"] == "1.35"


def test_a_cluster_goes_after_its_node_groups_and_leaves_nothing(kubernetes: Kubernetes) -> None:
    kubernetes.nodes(kubernetes.template())
    with pytest.raises(
        Failed, match=r"StatusCode: 409.*ResourceInUseException: Cluster has nodegroups attached"
    ):
        kubernetes.cloud.destroy("train")
    kubernetes.cloud.destroy_all()
    assert kubernetes.cloud.held() == []


def test_a_protected_cluster_is_not_deleted(kubernetes: Kubernetes) -> None:
    kubernetes.cloud.up(CLUSTER, "train", {**kubernetes.cluster.inputs, "deletionProtection": True})
    with pytest.raises(Failed, match="InvalidRequestException"):
        kubernetes.cloud.destroy("train")


def test_the_nodes_have_the_templates_interfaces_and_an_image_of_ekss(kubernetes: Kubernetes) -> None:
    group = kubernetes.cloud.up(PLACEMENT, "close", strategy="cluster")
    made = kubernetes.nodes(
        kubernetes.template(placement={"groupName": group["name"]}, userData=archive("#"))
    )
    (scaling,) = made["resources"][0]["autoscalingGroups"]
    nodes = kubernetes.net.nodes()
    assert [node["parentId"] for node in nodes] == [scaling["name"]] * 2
    assert scaling["name"].startswith(f"eks-{made['nodeGroupName']}-")
    assert {node["placementGroup"] for node in nodes} == {group["name"]}
    assert {node["subnetId"] for node in nodes} == {kubernetes.net.subnet.id}
    assert all(node["ami"].startswith("ami-0") for node in nodes)
    mine = [each for each in kubernetes.net.interfaces() if each.get("instanceId") == nodes[0]["id"]]
    assert len(mine) == 33
    assert made["amiType"] == "AL2023_x86_64_NVIDIA"
    assert made["launchTemplate"]["name"] == kubernetes.cloud.resources["gpu"]["name"]


def test_interfaces_without_a_group_get_the_clusters(kubernetes: Kubernetes) -> None:
    kubernetes.nodes(kubernetes.template(networkInterfaces=p5()))
    groups = {tuple(each["securityGroups"]) for each in kubernetes.net.interfaces()}
    assert groups == {(kubernetes.cluster["vpcConfig"]["clusterSecurityGroupId"],)}


TEMPLATE_REFUSALS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"iamInstanceProfile": {"name": "mine"}},
        {},
        "InvalidParameterException: Launch template {template} should not specify an instance profile. The noderole in "
        "your request will be used to construct an instance profile.",
    ),
    (
        {"networkInterfaces": p5(subnetId="subnet-0")},
        {},
        "InvalidParameterException: You must not specify a subnet in your launch template. All subnets must be "
        "specified in the API.",
    ),
    (
        {"instanceMarketOptions": {"marketType": "spot"}},
        {},
        "InvalidParameterException: Launch template {template} should not specify spot instance market options.",
    ),
    (
        {"instanceInitiatedShutdownBehavior": "terminate"},
        {},
        "InvalidParameterException: Launch template {template} should not specify an instance initiated shutdown "
        "behavior.",
    ),
    (
        {"hibernationOptions": {"configured": True}},
        {},
        "InvalidParameterException: Launch template {template} should not specify hibernation options.",
    ),
    (
        {},
        {"instanceTypes": ["p5.48xlarge"]},
        "InvalidRequestException: Cannot specify instance types in launch template and API request",
    ),
    (
        {},
        {"diskSize": 100},
        "InvalidParameterException: Disk size must be specified within the launch template.",
    ),
    (
        {},
        {"remoteAccess": {"ec2SshKey": "ops"}},
        "InvalidParameterException: Remote access configuration cannot be specified with a launch template.",
    ),
    (
        {"imageId": IMAGE},
        {},
        "InvalidParameterException: You cannot specify the field amiType when using custom AMIs",
    ),
    (
        {},
        {"capacityType": "CAPACITY_BLOCK"},
        "InvalidParameterException: A node group with a Capacity Block needs the capacity type CAPACITY_BLOCK, and a "
        "launch template with an instance type, the market type capacity-block and the Capacity Block as its capacity "
        "reservation target.",
    ),
]


@pytest.mark.parametrize(("data", "more", "sentence"), TEMPLATE_REFUSALS)
def test_what_eks_forbids_beside_a_launch_template_is_refused(
    kubernetes: Kubernetes, data: dict[str, Any], more: dict[str, Any], sentence: str
) -> None:
    template = kubernetes.template(**data)
    with pytest.raises(Failed) as failed:
        kubernetes.nodes(template, **more)
    assert failed.value.text.endswith(sentence.format(template=template["name"]))
    assert kubernetes.net.nodes() == []


def test_a_role_that_ec2_may_not_take_is_refused(kubernetes: Kubernetes) -> None:
    role = kubernetes.role["arn"]
    with pytest.raises(Failed) as failed:
        kubernetes.nodes(kubernetes.template(), nodeRoleArn=role)
    assert failed.value.text.endswith(
        "InvalidParameterException: Following required service principals [ec2.amazonaws.com] were not found in the "
        f"trust relationships of nodeRole {role}"
    )


def test_a_group_of_a_cluster_that_is_not_there_is_refused(kubernetes: Kubernetes) -> None:
    with pytest.raises(
        Failed, match=r"StatusCode: 404.*ResourceNotFoundException: No cluster found for name: none"
    ):
        kubernetes.nodes(kubernetes.template(), clusterName="none")


@pytest.mark.parametrize(
    ("user_data", "issue"),
    [
        (
            base64.b64encode(b"#!/bin/bash\n").decode(),
            ": Ec2LaunchTemplateInvalidConfiguration: User data was not in the MIME multipart format.",
        ),
        (
            archive("#" * 14_500),
            ": Ec2LaunchTemplateInvalidConfiguration: User data is limited to 16384 bytes",
        ),
    ],
)
def test_user_data_that_eks_cannot_merge_leaves_a_failed_group(
    kubernetes: Kubernetes, user_data: str, issue: str
) -> None:
    with pytest.raises(Failed) as failed:
        kubernetes.nodes(kubernetes.template(userData=user_data))
    made = kubernetes.cloud.known_from(failed.value, NODES, "nodes")
    assert failed.value.text.endswith(
        f"waiting for EKS Node Group ({made.id}) create: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. "
        f"last error: {issue}"
    )
    assert kubernetes.net.nodes() == []


def test_user_data_of_a_custom_image_is_left_alone(kubernetes: Kubernetes) -> None:
    script = base64.b64encode(b"#!/bin/bash\n").decode()
    made = kubernetes.nodes(kubernetes.template(userData=script, imageId=IMAGE), amiType=None)
    assert made["amiType"] == "CUSTOM"
    assert {node["ami"] for node in kubernetes.net.nodes()} == {IMAGE}


def test_nodes_whose_role_has_no_worker_policy_do_not_join(kubernetes: Kubernetes) -> None:
    kubernetes.node_role = kubernetes._role("lonely", "ec2.amazonaws.com")
    with pytest.raises(Failed) as failed:
        kubernetes.nodes(kubernetes.template())
    nodes = ", ".join(node["id"] for node in kubernetes.net.nodes())
    assert failed.value.text.endswith(
        f"last error: {nodes}: NodeCreationFailure: Instances failed to join the kubernetes cluster"
    )


def test_a_launch_that_ec2_refuses_is_an_issue_of_the_group(kubernetes: Kubernetes) -> None:
    twice = [*p5(), {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}]
    with pytest.raises(Failed) as failed:
        kubernetes.nodes(kubernetes.template(networkInterfaces=twice))
    assert (
        "AsgInstanceLaunchFailures: Could not launch On-Demand Instances. InvalidParameterValue - Each network "
        "interface requires a unique device index. Launching EC2 instance failed."
    ) in failed.value.text


def test_more_nodes_keep_those_that_run_and_a_new_version_recycles_all(kubernetes: Kubernetes) -> None:
    template = kubernetes.template()
    kubernetes.nodes(template)
    first = [node["id"] for node in kubernetes.net.nodes()]
    kubernetes.nodes(template, 3)
    assert [node["id"] for node in kubernetes.net.nodes()][:2] == first
    kubernetes.nodes(template, 1)
    assert [node["id"] for node in kubernetes.net.nodes()] == first[:1]
    kubernetes.nodes(kubernetes.template(ebsOptimized="true"), 1)
    assert [node["launchTemplateVersion"] for node in kubernetes.net.nodes()] == ["2"]


def test_another_template_replaces_the_group_and_another_version_does_not(kubernetes: Kubernetes) -> None:
    inputs = kubernetes.nodes(kubernetes.template()).inputs
    version = {**inputs, "launchTemplate": {**inputs["launchTemplate"], "version": "2"}}
    assert kubernetes.cloud.diff(NODES, "nodes", version).replaces == []
    other = {**inputs, "launchTemplate": {**inputs["launchTemplate"], "id": "lt-0"}}
    assert kubernetes.cloud.diff(NODES, "nodes", other).replaces == ["launchTemplate.id"]


def test_the_second_run_changes_nothing(kubernetes: Kubernetes) -> None:
    made = kubernetes.nodes(kubernetes.template())
    assert kubernetes.cloud.diff(NODES, "nodes", made.inputs).changes == []
    assert kubernetes.cloud.diff(CLUSTER, "train", kubernetes.cluster.inputs).changes == []


def test_a_group_without_a_template_starts_small_nodes_of_ekss(kubernetes: Kubernetes) -> None:
    assert kubernetes.nodes(None, 0, amiType="AL2023_x86_64_STANDARD")["instanceTypes"] == ["t3.medium"]
    assert PROFILE not in {each["kind"] for each in kubernetes.cloud.store.dump()}
    assert FLEET in {each["kind"] for each in kubernetes.cloud.store.dump()}
    assert {INSTANCE, INTERFACE} & {each["kind"] for each in kubernetes.cloud.store.dump()} == {INTERFACE}
