"""EKS managed node group: what EKS forbids in a launch template of the user's own, what it merges, and what starts.

What the request's form makes impossible is refused when the group is made. What the launch template's user data, or the
moment, makes impossible leaves a group that has failed, with an issue of its health, as EKS does.

Sources: EKS User Guide, launch-templates.html, capacity-blocks-mng.html and create-node-role.html; the fields'
descriptions in the EKS API Reference, CreateNodegroup. Where a sentence could be found in a public log, the source
stands beside it; ``unverified`` marks the others.
"""

from __future__ import annotations

import email
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from . import kinds, launch
from .account import arn, region_of
from .auto_scaling import in_subnet
from .eks import cluster, invalid, policies, subnets, trusts
from .launch import USER_DATA_LIMIT, Request
from .template_data import decoded, request, versioned

AMI_TYPES: Mapping[str, str] = {
    "AL2023_x86_64_STANDARD": "amazon-linux-2023/x86_64/standard",
    "AL2023_ARM_64_STANDARD": "amazon-linux-2023/arm64/standard",
    "AL2023_x86_64_NVIDIA": "amazon-linux-2023/x86_64/nvidia",
    "AL2023_ARM_64_NVIDIA": "amazon-linux-2023/arm64/nvidia",
}
"""EKS's own images by the path of their public parameter (EKS User Guide, retrieve-ami-id.html). Not those of
Bottlerocket, Windows and Neuron."""
CAPACITY_TYPES = ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK")
WORKER_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy")
"""One of these a node's role must have, so that the node may join (EKS User Guide, create-node-role.html)."""


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws service/eks/node_group.go: the validators of its schema."""
    inputs = call.inputs
    name = inputs.get("nodeGroupName")
    if isinstance(name, str) and len(name) > 63:
        yield Problem(
            "nodeGroupName", f"expected length of node_group_name to be in the range (0 - 63), got {name}"
        )
    capacity = inputs.get("capacityType")
    if isinstance(capacity, str) and capacity not in CAPACITY_TYPES:
        yield Problem(
            "capacityType", f"expected capacity_type to be one of {list(CAPACITY_TYPES)}, got {capacity}"
        )
    template = inputs.get("launchTemplate")
    named = [template.get(each) for each in ("id", "name")] if isinstance(template, dict) else []
    if len(named) == 2 and all(isinstance(each, str) and each for each in named):
        yield Problem("launchTemplate.id", '"launch_template.0.id": conflicts with launch_template.0.name')
    sizes = inputs.get("scalingConfig")
    most = sizes.get("maxSize") if isinstance(sizes, dict) else None
    if isinstance(most, int | float) and most < 1:
        yield Problem(
            "scalingConfig.maxSize", f"expected scaling_config.0.max_size to be at least (1), got {most:g}"
        )
    image = inputs.get("amiType")
    if isinstance(image, str) and image != "CUSTOM" and image not in AMI_TYPES:
        yield Problem("amiType", f"the simulated AWS knows the images {', '.join(AMI_TYPES)}, not {image}")


# What CreateNodegroup refuses


def _check_role(call: Call) -> None:
    """The sentence: aws/aws-k8s-tester, the configuration of node groups."""
    role_arn = call.inputs["nodeRoleArn"]
    if not trusts(call.tx, role_arn, "ec2.amazonaws.com"):
        raise invalid(
            f"Following required service principals [ec2.amazonaws.com] were not found in the trust relationships of "
            f"nodeRole {role_arn}"
        )


def _check_sizes(call: Call) -> int:
    """The desired size. Sentences: unverified."""
    sizes = {name: int(call.inputs["scalingConfig"][name]) for name in ("minSize", "desiredSize", "maxSize")}
    if sizes["minSize"] > sizes["maxSize"]:
        raise invalid("Minimum capacity can't be greater than the maximum size")
    if not sizes["minSize"] <= sizes["desiredSize"] <= sizes["maxSize"]:
        raise invalid("desired capacity can't be less than min size or greater than max size")
    return sizes["desiredSize"]


def _check_template(call: Call, name: str, data: Mapping[str, Any]) -> None:
    inputs = call.inputs
    if data.get("iamInstanceProfile"):
        # Terraform logs of many users; the template's name stands where they cut it.
        raise invalid(
            f"Launch template {name} should not specify an instance profile. The noderole in your request will be used "
            "to construct an instance profile."
        )
    if any(each.get("subnetId") for each in data.get("networkInterfaces") or ()):
        # Quoted by several policy collections.
        raise invalid(
            "You must not specify a subnet in your launch template. All subnets must be specified in the API."
        )
    market = (data.get("instanceMarketOptions") or {}).get("marketType") or ""
    if market == "spot":
        # API_LaunchTemplateSpecification: RequestSpotInstances. Unverified.
        raise invalid(f"Launch template {name} should not specify spot instance market options.")
    for setting, word in (
        ("hibernationOptions", "hibernation options"),
        ("instanceInitiatedShutdownBehavior", "an instance initiated shutdown behavior"),
    ):
        if data.get(setting):
            # launch-templates.html, the table of prohibited settings. Unverified.
            raise invalid(f"Launch template {name} should not specify {word}.")
    if data.get("instanceType") and inputs.get("instanceTypes"):
        # terraform-aws-modules/terraform-aws-eks#1386
        raise Refusal(
            "InvalidRequestException", "Cannot specify instance types in launch template and API request"
        )
    if inputs.get("diskSize"):
        # moto, eks/models.py, from the API's answers; the next sentence too.
        raise invalid("Disk size must be specified within the launch template.")
    if inputs.get("remoteAccess"):
        raise invalid("Remote access configuration cannot be specified with a launch template.")
    if data.get("imageId"):
        for setting in ("amiType", "releaseVersion", "version"):
            if inputs.get(setting) not in (None, "", "CUSTOM"):
                # The sentence of UpdateNodegroupVersion for kubernetesVersion, from a public log.
                raise invalid(f"You cannot specify the field {setting} when using custom AMIs")
    reservation = (data.get("capacityReservationSpecification") or {}).get("capacityReservationTarget") or {}
    block = market == "capacity-block"
    if block != (inputs.get("capacityType") == "CAPACITY_BLOCK") or (
        block and not (reservation.get("capacityReservationId") and data.get("instanceType"))
    ):
        # capacity-blocks-mng.html: "the create request will be rejected". Unverified.
        raise invalid(
            "A node group with a Capacity Block needs the capacity type CAPACITY_BLOCK, and a launch template with an "
            "instance type, the market type capacity-block and the Capacity Block as its capacity reservation target."
        )


def _template(call: Call) -> tuple[dict[str, Any], str, int]:
    """The launch template's data, its id and its version's number."""
    given = call.inputs.get("launchTemplate")
    if not given:
        return {}, "", 0
    try:
        data, id, number = versioned(call.tx, given)
    except Refusal as refusal:
        # Sentence: EC2's; its frame unverified.
        raise Refusal("InvalidRequestException", refusal.message) from refusal
    _check_template(call, call.tx.need(kinds.LAUNCH_TEMPLATE, id)["name"], data)
    return data, id, number


# What EKS makes of it


def _image(call: Call, data: Mapping[str, Any], version: str) -> str:
    if data.get("imageId"):
        return str(data["imageId"])
    kind = AMI_TYPES[call.inputs.get("amiType") or "AL2023_x86_64_STANDARD"]
    return f"resolve:ssm:/aws/service/eks/optimized-ami/{version}/{kind}/recommended/image_id"


def _request(
    call: Call, data: Mapping[str, Any], template: tuple[str, str], owner: Mapping[str, Any]
) -> Request:
    """RunInstances as EKS asks for it: its image, its instance profile, and its security group where there is none."""
    types = call.inputs.get("instanceTypes") or ["t3.medium"]
    wanted = request(data, region_of(call), template)
    wanted = replace(
        wanted,
        instance_type=wanted.instance_type or types[0],
        image_id=_image(call, data, owner["version"]),
        market=wanted.market or ("spot" if call.inputs.get("capacityType") == "SPOT" else ""),
        tags={**wanted.tags, "eks:cluster-name": owner["name"]},
        user_data_size=0,
    )
    group = owner["vpcConfig"]["clusterSecurityGroupId"]
    if wanted.interfaces:
        given = tuple(replace(each, groups=each.groups or (group,)) for each in wanted.interfaces)
        return replace(wanted, interfaces=given)
    return replace(wanted, groups=wanted.groups or (group,))


def _node_config(owner: Mapping[str, Any]) -> str:
    """The part that EKS adds to the user data, as nodeadm takes it (awslabs/amazon-eks-ami, nodeadm/doc/api.md). The
    values of its flags are made up; their length is about that of EKS's."""
    labels = "eks.amazonaws.com/sourceLaunchTemplateVersion=1,eks.amazonaws.com/nodegroup-image=ami-0123456789abcdef0"
    return (
        "--//\nContent-Type: application/node.eks.aws\n\n---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"
        f"spec:\n  cluster:\n    apiServerEndpoint: {owner['endpoint']}\n"
        f"    certificateAuthority: {owner['certificateAuthority']['data']}\n"
        f"    cidr: {owner['kubernetesNetworkConfig']['serviceIpv4Cidr']}\n    name: {owner['name']}\n"
        f'  kubelet:\n    config:\n      maxPods: 110\n    flags:\n    - "--node-labels={labels}"\n\n--//--\n'
    )


def _user_data_issue(data: Mapping[str, Any], owner: Mapping[str, Any]) -> str | None:
    """What is wrong with user data that EKS has to merge with its own. It leaves that of custom images alone."""
    if not data.get("userData") or data.get("imageId"):
        return None
    raw = decoded(data["userData"])
    message = email.message_from_bytes(raw)
    if not message.is_multipart():
        # terraform-aws-modules/terraform-aws-eks#2955
        return "Ec2LaunchTemplateInvalidConfiguration: User data was not in the MIME multipart format."
    merged = len(raw) + len(_node_config(owner))
    if merged > USER_DATA_LIMIT:
        # EC2's limit holds for what EKS writes into its own launch template. Unverified.
        return f"Ec2LaunchTemplateInvalidConfiguration: User data is limited to {USER_DATA_LIMIT} bytes"
    return None


def _start(call: Call, group: str, wanted: Request, count: int) -> str | None:
    """Start nodes in the subnets, as even as it goes. Returns the issue of the group's health, or None."""
    ids = call.inputs["subnetIds"]
    for index, subnet_id in enumerate(ids):
        share = count // len(ids) + (1 if index < count % len(ids) else 0)
        if not share:
            continue
        try:
            launch.run(call.tx, in_subnet(wanted, subnet_id), share, call.faults, owner=group)
        except Refusal as refusal:
            # Terraform logs of many users, with other codes.
            return (
                f"AsgInstanceLaunchFailures: Could not launch {_words(call)} Instances. {refusal.code} - "
                f"{refusal.message} Launching EC2 instance failed."
            )
    return None


def _words(call: Call) -> str:
    return "Spot" if call.inputs.get("capacityType") == "SPOT" else "On-Demand"


def _joins(call: Call, nodes: list[str]) -> str | None:
    if not nodes or policies(call.tx, call.inputs["nodeRoleArn"]) & {*WORKER_POLICIES}:
        return None
    return "NodeCreationFailure: Instances failed to join the kubernetes cluster"


def _failed(call: Call, id: str, about: str, issue: str) -> None:
    """waitNodegroupCreated's words: hashicorp/terraform-provider-aws#35242; terraform-aws-modules/terraform-aws-eks
    #2955 and #3074."""
    call.reasons.append(
        f"waiting for EKS Node Group ({id}) create: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last "
        f"error: {about}: {issue}"
    )


def create(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    owner = cluster(tx, inputs["clusterName"])
    name = (
        inputs.get("nodeGroupName")
        or f"{inputs.get('nodeGroupNamePrefix', 'terraform-')}{tx.next('name'):026d}"
    )
    id = f"{owner['name']}:{name}"
    if tx.get(kinds.EKS_NODE_GROUP, id) is not None:
        raise Refusal(
            "ResourceInUseException",
            f"NodeGroup already exists with name {name} and cluster name {owner['name']}",
            status=409,
        )
    _check_role(call)
    desired = _check_sizes(call)
    for subnet in subnets(tx, inputs["subnetIds"]):
        if subnet["vpcId"] != owner["vpcConfig"]["vpcId"]:
            # Unverified.
            raise invalid(f"Subnet {subnet['id']} is not in the VPC of the cluster")
    data, template_id, number = _template(call)
    number_of_all = tx.next("eksNodeGroup")
    group = f"eks-{name}-{uuid.uuid5(uuid.NAMESPACE_URL, f'{id}/{number_of_all}')}"
    issue, about = _user_data_issue(data, owner), ""
    if issue is None:
        tx.put(kinds.AUTO_SCALING_GROUP, group, _scaling_group(call, group, template_id, number))
        wanted = _request(call, data, (template_id, str(number)), owner)
        issue, about = _start(call, group, wanted, desired), group
    if issue is None:
        nodes = _nodes(call, group)
        issue, about = _joins(call, nodes), ", ".join(nodes)
    if issue is not None:
        _failed(call, id, about, issue)
    return Made(
        id,
        {
            "arn": arn("eks", region, f"nodegroup/{owner['name']}/{name}/{group.rpartition('-')[2]}"),
            "status": "ACTIVE" if issue is None else "CREATE_FAILED",
            "nodeGroupName": name,
            "nodeGroupNamePrefix": inputs.get("nodeGroupNamePrefix", ""),
            "resources": [{"autoscalingGroups": [{"name": group}], "remoteAccessSecurityGroupId": ""}],
            "amiType": "CUSTOM" if data.get("imageId") else inputs.get("amiType", "AL2023_x86_64_STANDARD"),
            "capacityType": inputs.get("capacityType", "ON_DEMAND"),
            "diskSize": inputs.get("diskSize", 0 if template_id else 20),
            "instanceTypes": inputs.get("instanceTypes", [] if data.get("instanceType") else ["t3.medium"]),
            "releaseVersion": inputs.get("releaseVersion", f"{owner['version']}.0-20260101"),
            "version": inputs.get("version", owner["version"]),
            "updateConfig": inputs.get("updateConfig", {"maxUnavailable": 1}),
            "nodeRepairConfig": inputs.get("nodeRepairConfig", {"enabled": False}),
            **_named_template(call, template_id),
        },
    )


def _named_template(call: Call, template_id: str) -> dict[str, Any]:
    if not template_id:
        return {}
    name = call.tx.need(kinds.LAUNCH_TEMPLATE, template_id)["name"]
    return {"launchTemplate": {**call.inputs["launchTemplate"], "id": template_id, "name": name}}


def _scaling_group(call: Call, name: str, template_id: str, number: int) -> dict[str, Any]:
    sizes = call.inputs["scalingConfig"]
    return {
        "id": name,
        "name": name,
        "minSize": sizes["minSize"],
        "maxSize": sizes["maxSize"],
        "desiredCapacity": sizes["desiredSize"],
        "vpcZoneIdentifiers": call.inputs["subnetIds"],
        "launchTemplate": {"id": template_id, "version": str(number)},
        "region": region_of(call),
    }


def _nodes(call: Call, group: str) -> list[str]:
    return [id for id, _ in call.tx.find(kinds.INSTANCE, parentId=group)]


def update(call: Call) -> dict[str, Any]:
    """Another version of the template, the image or Kubernetes recycles every node; a size only adds or ends some."""
    tx = call.tx
    owner = cluster(tx, call.inputs["clusterName"])
    desired = _check_sizes(call)
    data, template_id, number = _template(call)
    (made,) = call.old["resources"][0]["autoscalingGroups"]
    group = made["name"]
    issue = _user_data_issue(data, owner)
    if issue is not None:
        raise invalid(issue)
    tx.put(kinds.AUTO_SCALING_GROUP, group, _scaling_group(call, group, template_id, number))
    wanted = _request(call, data, (template_id, str(number)), owner)
    nodes = _nodes(call, group)
    before = {
        (each["launchTemplateId"], each["launchTemplateVersion"])
        for each in (tx.need(kinds.INSTANCE, id) for id in nodes)
    }
    newer = any(call.inputs.get(each) not in (None, call.old[each]) for each in ("releaseVersion", "version"))
    recycled = bool(nodes) and (newer or before != {wanted.template})
    for id in nodes if recycled else nodes[desired:]:
        launch.terminate(tx, id)
    issue = _start(call, group, wanted, max(desired - len(_nodes(call, group)), 0))
    if issue is not None:
        call.reasons.append(
            f"waiting for EKS Node Group ({call.id}) update: unexpected state 'Failed', wanted target 'Successful'. "
            f"last error: {group}: {issue}"
        )
    return _named_template(call, template_id)


def delete(call: Call) -> None:
    for made in call.old["resources"][0]["autoscalingGroups"]:
        for id in _nodes(call, made["name"]):
            launch.terminate(call.tx, id)
        call.tx.remove(kinds.AUTO_SCALING_GROUP, made["name"])


NODE_GROUP = ResourceType(
    token=kinds.EKS_NODE_GROUP,
    title="EKS Node Group",
    service="EKS",
    calls={"create": "CreateNodegroup", "update": "UpdateNodegroupVersion", "delete": "DeleteNodegroup"},
    doing={"create": "creating EKS Node Group ({id})"},
    create=create,
    update=update,
    delete=delete,
    check=check,
    autoname="nodeGroupName",
    name_limit=63,
    filled=frozenset(
        {
            "amiType",
            "capacityType",
            "diskSize",
            "instanceTypes",
            "nodeGroupNamePrefix",
            "nodeRepairConfig",
            "releaseVersion",
            "updateConfig",
            "version",
        }
    ),
    absent=frozenset({"launchTemplate", "remoteAccess", "warmPoolConfig"}),
    unordered=frozenset({"subnetIds", "taints"}),
    replaces=frozenset(
        {
            "amiType",
            "capacityType",
            "clusterName",
            "diskSize",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeGroupName",
            "nodeGroupNamePrefix",
            "nodeRoleArn",
            "region",
            "remoteAccess",
            "subnetIds",
        }
    ),
    replaces_source="terraform-provider-aws service/eks/node_group.go at 012e0a32, ForceNew",
)

TYPES = (NODE_GROUP,)
