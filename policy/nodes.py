"""Which resources describe machines on a fast fabric, and what they have in common on both clouds.

Known: `aws.ec2.LaunchTemplate`, `aws.ec2.Instance` without a template, `azure_native.compute.VirtualMachineScaleSet`
and `VirtualMachine`, of any API version. A size that the catalog lacks, or one without a fabric, is no node here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpu_fabric.nccl.hardware import Cloud, Fabric, NodeSize, load_sizes
from gpu_fabric.policy.rule import Resource
from gpu_fabric.policy.values import UNKNOWN, items, look, truth

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"

_API_VERSION = re.compile(r"^(azure-native:\w+)/v\w+:")


def unversioned(type_: str) -> str:
    """An Azure type without the API version that a program may pin (`compute/v20230301` is `compute`)."""
    return _API_VERSION.sub(r"\1:", type_)


@dataclass(frozen=True)
class Node:
    """A machine, or the description of many, that has EFA or InfiniBand."""

    resource: Resource
    type: str
    cloud: Cloud
    size: NodeSize | None
    """None where only the EFA interfaces tell what it is (a template whose size somebody else chooses)."""
    user_data: Any
    """As the resource has it: base64 or plain text; None, or UNKNOWN."""
    image: Any
    """AMI id or `resolve:ssm:…`; `publisher:offer:sku:version` or a resource id; None, or UNKNOWN."""

    @property
    def urn(self) -> str:
        return self.resource.urn

    @property
    def interfaces(self) -> list[Any]:
        """Network interfaces of an AWS node."""
        return items(look(self.resource.props, "networkInterfaces"))

    @property
    def profile(self) -> Any:
        """What both kinds of Azure node have in the same shape."""
        props = self.resource.props
        return look(props, "virtualMachineProfile") if self.type == SCALE_SET else props

    @property
    def called(self) -> str:
        return f"{self.resource.name} ({self.size.name})" if self.size else self.resource.name


@dataclass(frozen=True)
class UnknownSize:
    """A machine whose size is not known at preview."""

    resource: Resource


def _has_efa(props: Any) -> bool:
    return any(
        str(look(each, "interfaceType")).startswith("efa") for each in items(look(props, "networkInterfaces"))
    )


def node_of(resource: Resource) -> Node | UnknownSize | None:
    """The node that `resource` describes; None for anything else."""
    type_, props = unversioned(resource.type), resource.props
    if type_ in (LAUNCH_TEMPLATE, INSTANCE):
        if type_ == INSTANCE and look(props, "launchTemplate") is not None:
            return None  # the template is the node
        name, cloud = look(props, "instanceType"), Cloud.AWS
        user_data = look(props, "userDataBase64") or look(props, "userData")
        image = look(props, "imageId" if type_ == LAUNCH_TEMPLATE else "ami")
    elif type_ in (SCALE_SET, MACHINE):
        profile = look(props, "virtualMachineProfile") if type_ == SCALE_SET else props
        name = look(props, "sku", "name") if type_ == SCALE_SET else look(props, "hardwareProfile", "vmSize")
        cloud = Cloud.AZURE
        user_data = look(profile, "osProfile", "customData") or look(profile, "userData")
        image = _azure_image(look(profile, "storageProfile", "imageReference"))
    else:
        return None
    if name is UNKNOWN:
        return UnknownSize(resource)
    size = load_sizes().get(name) if isinstance(name, str) else None
    if (size is None or size.fabric is Fabric.SOCKETS) and not _has_efa(props):
        return None
    return Node(resource, type_, cloud, size, user_data, image)


def _azure_image(reference: Any) -> Any:
    if reference is UNKNOWN or not isinstance(reference, dict):
        return reference
    id_ = look(reference, "id")
    if id_ is not None:
        return id_
    parts = [look(reference, key) for key in ("publisher", "offer", "sku", "version")]
    return UNKNOWN if UNKNOWN in parts else ":".join(str(part) for part in parts)


def nodes_in(resources: list[Resource]) -> Iterator[Node]:
    """The nodes of a stack whose size is known."""
    for resource in resources:
        node = node_of(resource)
        if isinstance(node, Node):
            yield node


def has_public_address(node: Node) -> Any:
    """True, False or UNKNOWN: whether an interface of the node is given a public address."""
    props = node.resource.props
    if node.cloud is Cloud.AWS:
        found = [look(props, "associatePublicIpAddress")]
        found += [look(each, "associatePublicIpAddress") for each in node.interfaces]
        answers = [truth(value) for value in found]
    else:
        configurations = items(look(node.profile, "networkProfile", "networkInterfaceConfigurations"))
        answers = [
            UNKNOWN if address is UNKNOWN else address is not None
            for each in configurations
            for ip in items(look(each, "ipConfigurations"))
            for address in [look(ip, "publicIPAddressConfiguration")]
        ]
    return True if True in answers else UNKNOWN if UNKNOWN in answers else False
