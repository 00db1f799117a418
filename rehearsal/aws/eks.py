"""EKS cluster: what the control plane asks of role and subnets, and the security group that it makes.

Where a rule's sentence could be found in a public log, the source stands beside it; ``unverified`` marks the others.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import ACCOUNT, arn, global_arn, new_id, region_of
from .addresses import allocate
from .documents import parse

_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]*")
_COMPONENTS = ("kubeApiServerConfig", "kubeControllerManagerConfig", "kubeSchedulerConfig")
_DATE = "2026-01-01T00:00:00Z"
SERVICE_BLOCKS = ("10.100.0.0/16", "172.20.0.0/16")
"""What Kubernetes services get where nothing is said: a block that is not the VPC's (EKS API Reference,
KubernetesNetworkConfigRequest)."""


def invalid(message: str) -> Refusal:
    return Refusal("InvalidParameterException", message)


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws service/eks, validate.go: validClusterName."""
    name = call.inputs.get("name")
    if isinstance(name, str):
        if not 1 <= len(name) <= 100:
            yield Problem("name", f'"name" length must be between 1-100 characters: "{name}"')
        elif not _NAME.fullmatch(name):
            yield Problem("name", f'"name" doesn\'t comply with restrictions ("{_NAME.pattern}"): "{name}"')


def cluster(tx: Transaction, name: str) -> Mapping[str, Any]:
    """The cluster, or EKS's refusal (moto, eks/models.py, from the API's answers)."""
    found = tx.get(kinds.EKS_CLUSTER, name)
    if found is None:
        raise Refusal("ResourceNotFoundException", f"No cluster found for name: {name}.", status=404)
    return found


def role_name(role_arn: str) -> str:
    return role_arn.rpartition("/")[2]


def trusts(tx: Transaction, role_arn: str, service: str) -> bool | None:
    """Whether a service may take the role; None where there is no such role."""
    role = tx.get(kinds.ROLE, role_name(role_arn))
    if role is None or role.get("arn") != role_arn:
        return None
    statements = (parse(role["assumeRolePolicy"]) or {}).get("Statement", [])
    for each in statements if isinstance(statements, list) else [statements]:
        services = (each.get("Principal") or {}).get("Service", [])
        if service in (services if isinstance(services, list) else [services]):
            return True
    return False


def policies(tx: Transaction, role_arn: str) -> set[str]:
    """Names of the managed policies that are attached to the role."""
    attached = tx.find(kinds.ROLE_POLICY_ATTACHMENT, role=role_name(role_arn))
    return {str(each["policyArn"]).rpartition("/")[2] for _, each in attached}


def _check_role(call: Call) -> None:
    """terraform-provider-aws service/eks/cluster.go, the errors that it waits out."""
    role_arn = call.inputs["roleArn"]
    trusted = trusts(call.tx, role_arn, "eks.amazonaws.com")
    if trusted is None:
        raise invalid(f"roleArn, {role_arn}, does not exist")
    if not trusted:
        raise invalid("Role could not be assumed because the trusted entity is not correct")
    if "AmazonEKSClusterPolicy" not in policies(call.tx, role_arn):
        wanted = global_arn("iam", region_of(call), "policy/AmazonEKSClusterPolicy", "aws")
        raise invalid(
            "The provided role doesn't have the Amazon EKS Managed Policies associated with it. Please ensure the "
            f"following policy is attached: {wanted}"
        )


def subnets(tx: Transaction, ids: list[str]) -> list[Mapping[str, Any]]:
    """The subnets, or EKS's refusal. Sentence: unverified."""
    found = [tx.get(kinds.SUBNET, id) for id in ids]
    missing = [id for id, subnet in zip(ids, found, strict=True) if subnet is None]
    if missing:
        raise invalid(f"The subnet ID '{missing[0]}' does not exist")
    return [each for each in found if each is not None]


def _check_subnets(call: Call) -> list[Mapping[str, Any]]:
    found = subnets(call.tx, call.inputs["vpcConfig"]["subnetIds"])
    if len({each["vpcId"] for each in found}) > 1:
        # Unverified.
        raise invalid("Subnets specified must belong to the same VPC")
    if len({each["availabilityZone"] for each in found}) < 2:
        # Terraform and eksctl logs of many users.
        raise invalid("Subnets specified must be in at least two different AZs")
    return found


def create(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    name = inputs["name"]
    if tx.get(kinds.EKS_CLUSTER, name) is not None:
        raise Refusal("ResourceInUseException", f"Cluster already exists with name: {name}", status=409)
    _check_role(call)
    found = _check_subnets(call)
    vpc_id = found[0]["vpcId"]
    group_id = _make_group(tx, region, name, vpc_id)
    _make_interfaces(tx, region, name, group_id, found)
    identity = hashlib.sha256(name.encode()).hexdigest()[:32].upper()
    network = dict(inputs.get("kubernetesNetworkConfig") or {})
    network.setdefault("ipFamily", "ipv4")
    network.setdefault("serviceIpv4Cidr", _service_block(tx, vpc_id))
    network.setdefault("serviceIpv6Cidr", "")
    network.setdefault("elasticLoadBalancing", {"enabled": False})
    issuer = f"https://oidc.eks.{region}.amazonaws.com/id/{identity}"
    return Made(
        name,
        {
            "arn": arn("eks", region, f"cluster/{name}"),
            "name": name,
            "status": "ACTIVE",
            "endpoint": f"https://{identity}.gr7.{region}.eks.amazonaws.com",
            "certificateAuthority": {"data": _certificate(name)},
            "createdAt": _DATE,
            "platformVersion": "eks.1",
            "clusterId": "",
            "identities": [{"oidcs": [{"issuer": issuer}]}],
            "version": inputs.get("version", "1.34"),
            "accessConfig": {
                "authenticationMode": "CONFIG_MAP",
                "bootstrapClusterCreatorAdminPermissions": True,
                **(inputs.get("accessConfig") or {}),
            },
            "kubernetesNetworkConfig": network,
            "vpcConfig": {
                "endpointPrivateAccess": False,
                "endpointPublicAccess": True,
                "publicAccessCidrs": ["0.0.0.0/0"],
                **inputs["vpcConfig"],
                "clusterSecurityGroupId": group_id,
                "vpcId": vpc_id,
            },
            "upgradePolicy": {"supportType": "EXTENDED", **(inputs.get("upgradePolicy") or {})},
            "deletionProtection": inputs.get("deletionProtection", False),
            # Auto Mode is off where nothing is said.
            "computeConfig": {"enabled": False, **(inputs.get("computeConfig") or {})},
            "storageConfig": {"blockStorage": {"enabled": False}, **(inputs.get("storageConfig") or {})},
            "controlPlaneScalingConfig": {
                "tier": "standard",
                **(inputs.get("controlPlaneScalingConfig") or {}),
            },
            **{each: inputs.get(each) or {} for each in _COMPONENTS},
        },
    )


def _certificate(name: str) -> str:
    """Text of the length that a cluster's certificate has; it certifies nothing."""
    body = base64.b64encode(hashlib.sha512(name.encode()).digest() * 12).decode()
    text = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
    return base64.b64encode(text.encode()).decode()


def _service_block(tx: Transaction, vpc_id: str) -> str:
    block = IPv4Network(tx.need(kinds.VPC, vpc_id)["cidrBlock"])
    return next(each for each in SERVICE_BLOCKS if not IPv4Network(each).overlaps(block))


def _make_group(tx: Transaction, region: str, name: str, vpc_id: str) -> str:
    """The cluster security group: all traffic in from itself, out to itself and to anywhere (EKS User Guide,
    sec-group-reqs)."""
    id = new_id(tx, "sg")
    rule = {"protocol": "-1", "fromPort": 0, "toPort": 0}
    group = {
        "id": id,
        "arn": arn("ec2", region, f"security-group/{id}"),
        "name": f"eks-cluster-sg-{name}-{tx.next('eksGroup')}",
        "description": "EKS created security group applied to ENI that is attached to EKS Control Plane master "
        "nodes, as well as any managed workloads.",
        "vpcId": vpc_id,
        "ownerId": ACCOUNT,
        "ingress": [{**rule, "self": True}],
        "egress": [{**rule, "self": True}, {**rule, "cidrBlocks": ["0.0.0.0/0"]}],
        "tags": {f"kubernetes.io/cluster/{name}": "owned", "aws:eks:cluster-name": name},
        "region": region,
        "eksCluster": name,
    }
    tx.put(kinds.SECURITY_GROUP, id, group)
    return id


def _make_interfaces(
    tx: Transaction, region: str, name: str, group_id: str, found: list[Mapping[str, Any]]
) -> None:
    """One interface of the control plane in each of two zones (EKS User Guide, network-reqs)."""
    by_zone = {each["availabilityZone"]: each for each in reversed(found)}
    for zone in sorted(by_zone)[:2]:
        subnet = by_zone[zone]
        id, (address,) = new_id(tx, "eni"), allocate(tx, subnet["id"], 1)
        interface = {
            "id": id,
            "arn": arn("ec2", region, f"network-interface/{id}"),
            "description": f"Amazon EKS {name}",
            "interfaceType": "interface",
            "subnetId": subnet["id"],
            "vpcId": subnet["vpcId"],
            "availabilityZone": zone,
            "privateIp": address,
            "privateIps": [address],
            "securityGroups": [group_id],
            "ownerId": ACCOUNT,
            "region": region,
            "parentId": name,
        }
        tx.put(kinds.NETWORK_INTERFACE, id, interface)


def update(call: Call) -> dict[str, Any]:
    """Only what can be changed without a move of the control plane."""
    given = call.inputs["vpcConfig"]
    changed: dict[str, Any] = {"vpcConfig": {**call.old["vpcConfig"], **given}}
    if call.changed("version") and call.inputs.get("version"):
        before, after = (_minor(each["version"]) for each in (call.old, call.inputs))
        if after != before + 1:
            # Terraform logs of many users.
            raise invalid(
                f"Unsupported Kubernetes minor version update from {call.old['version']} to {call.inputs['version']}"
            )
        changed["version"] = call.inputs["version"]
    return changed


def _minor(version: str) -> int:
    minor = version.partition(".")[2]
    return int(minor) if minor.isdecimal() else 0


def delete(call: Call) -> None:
    """terraform-provider-aws logs: a cluster goes after its node groups."""
    if call.old.get("deletionProtection"):
        # EKS User Guide, deletion-protection. Sentence: unverified.
        raise Refusal(
            "InvalidRequestException",
            f"Cluster {call.id} has deletion protection enabled. Disable deletion protection and try again.",
        )
    if call.tx.find(kinds.EKS_NODE_GROUP, clusterName=call.id):
        raise Refusal("ResourceInUseException", "Cluster has nodegroups attached", status=409)
    call.tx.remove_all(kinds.NETWORK_INTERFACE, parentId=call.id)
    call.tx.remove_all(kinds.SECURITY_GROUP, eksCluster=call.id)


CLUSTER = ResourceType(
    token=kinds.EKS_CLUSTER,
    title="EKS Cluster",
    service="EKS",
    calls={"create": "CreateCluster", "update": "UpdateClusterConfig", "delete": "DeleteCluster"},
    doing={"create": "creating EKS Cluster ({id})"},
    create=create,
    update=update,
    delete=delete,
    check=check,
    autoname="name",
    name_limit=100,
    defaults={"bootstrapSelfManagedAddons": True},
    filled=frozenset(
        {
            *_COMPONENTS,
            "accessConfig",
            "computeConfig",
            "controlPlaneScalingConfig",
            "deletionProtection",
            "kubernetesNetworkConfig",
            "storageConfig",
            "upgradePolicy",
            "version",
        }
    ),
    absent=frozenset({"encryptionConfig", "outpostConfig", "remoteNetworkConfig", "zonalShiftConfig"}),
    unordered=frozenset({"vpcConfig.subnetIds", "vpcConfig.securityGroupIds", "enabledClusterLogTypes"}),
    replaces=frozenset(
        {
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
            "name",
            "region",
            "remoteNetworkConfig",
            "roleArn",
        }
    ),
    replaces_source="terraform-provider-aws service/eks/cluster.go at 00555dc5, ForceNew",
)

TYPES = (CLUSTER,)
