"""The rules for an AWS cluster, each a small function from settings to problems; nothing here knows Pulumi's engine.

A rule says where, what is wrong, and what to do. What is legal but worth knowing is in `notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Network
from typing import Any

from gpu_fabric.components.aws.addresses import (
    DEFAULT_VPC,
    AddressPlan,
    choose_private,
    choose_public,
    nodes_that_fit,
    usable_addresses,
)
from gpu_fabric.components.aws.endpoints import INTERFACE_ENDPOINTS
from gpu_fabric.components.aws.limits import CAPACITY_BLOCK_NODES, GP3, SUBNET_PREFIXES, USER_DATA_BYTES
from gpu_fabric.components.aws.regions import region_of
from gpu_fabric.components.aws.settings import AwsClusterSettings, CapacityBlock, Internet
from gpu_fabric.components.choices import PlacementKind, additions, scratch_problems
from gpu_fabric.components.node_files import problems_of_node_files
from gpu_fabric.components.other_cloud import beside
from gpu_fabric.components.other_cloud import problems as problems_of_other_cloud
from gpu_fabric.components.problems import Path, Problem
from gpu_fabric.components.subnets import read_block
from gpu_fabric.components.surroundings import NO_REGION, OtherCloud, Surroundings
from gpu_fabric.components.tags import refused_by_aws
from gpu_fabric.nccl.hardware import Cloud, Fabric, NodeSize
from gpu_fabric.nccl.hardware.catalog import UnknownSizeError
from gpu_fabric.nccl.hardware.interfaces import (
    InterfaceLayoutError,
    addresses_per_node,
    interfaces,
    possible_layouts,
)


def find_size(settings: AwsClusterSettings, around: Surroundings) -> NodeSize | None:
    size = around.sizes.get(settings.instance_type)
    return size if size is not None and size.cloud is Cloud.AWS else None


def _zone(settings: AwsClusterSettings, around: Surroundings) -> Iterator[Problem]:
    region = region_of(settings.zone)
    if around.region == NO_REGION:
        yield Problem(
            ("zone",),
            "no region is set for the AWS provider",
            f"set aws:region to {region or 'the region of the zone'}",
        )
        return
    if around.region is not None and region_of(f"{around.region}a") != around.region:
        what = f"aws:region is {around.region[:80]!r}, which is not a region"
        yield Problem(("zone",), what, f"set aws:region to {region or 'the region of the zone'}")
        return
    if region is None:
        example = f"{around.region or 'us-east-1'}a"
        yield Problem(
            ("zone",),
            f"{settings.zone!r} is not the name of an availability zone",
            f"give a name such as {example} (a zone id such as use1-az4 is not a name)",
        )
    elif around.region is not None and region != around.region:
        yield Problem(
            ("zone",),
            f"{settings.zone} is a zone of {region}, and aws:region is {around.region}",
            f"give a zone of {around.region}, such as {around.region}a, or set aws:region to {region}",
        )


def _instance_type(settings: AwsClusterSettings, around: Surroundings) -> Iterator[Problem]:
    size = around.sizes.get(settings.instance_type)
    aws_sizes = tuple(name for name, row in around.sizes.items() if row.cloud is Cloud.AWS and row.supported)
    with_efa = ", ".join(name for name in aws_sizes if around.sizes[name].fabric is Fabric.EFA)
    if size is None:
        unknown = str(UnknownSizeError(settings.instance_type, aws_sizes))
        what, _, known = unknown.partition(": ")
        yield Problem(
            ("instance_type",),
            f"{what} in the catalog",
            f"{known.removesuffix(', '.join(aws_sizes)).strip()} {', '.join(aws_sizes)}; or describe it under "
            "`fabric.sizes` with the catalog's fields".strip(),
        )
    elif size.cloud is not Cloud.AWS:
        yield Problem(("instance_type",), f"{size.name} is an Azure size", f"give one of {with_efa}")
    elif not size.supported:
        yield Problem(
            ("instance_type",),
            f"{size.name} is not laid out by this release",
            size.unsupported_reason.removesuffix("."),
        )
    elif size.fabric is not Fabric.EFA:
        yield Problem(("instance_type",), f"{size.name} has no EFA", f"give one of {with_efa}")


def _interface_layout(settings: AwsClusterSettings, around: Surroundings) -> Iterator[Problem]:
    size = find_size(settings, around)
    if size is None or size.fabric is not Fabric.EFA or not size.supported:
        return
    try:
        interfaces(size, settings.interfaces)
    except InterfaceLayoutError as error:
        what, _, remedy = str(error).rpartition("; ")
        yield Problem(("interfaces",), what, remedy)


def _parse_network(key: str, text: str | None, problems: list[Problem]) -> IPv4Network | None:
    return read_block(("network", key), text, SUBNET_PREFIXES, "AWS", problems, str(DEFAULT_VPC))


def other_addresses(settings: AwsClusterSettings) -> int:
    """Addresses of the private subnet that are not a node's: one for each interface endpoint."""
    return len(INTERFACE_ENDPOINTS) if settings.network.internet is Internet.ENDPOINTS else 0


def _addresses_needed(settings: AwsClusterSettings, around: Surroundings) -> int:
    size = find_size(settings, around)
    per_node = 1
    if size is not None and settings.interfaces in possible_layouts(size):
        per_node = addresses_per_node(size, settings.interfaces)
    return settings.nodes * per_node + other_addresses(settings)


def address_plan(
    settings: AwsClusterSettings, around: Surroundings
) -> tuple[AddressPlan | None, list[Problem]]:
    """The blocks of a new network, or what is wrong with those that the user gave."""
    network, problems = settings.network, list[Problem]()
    vpc = _parse_network("cidr", network.cidr, problems)
    private = _parse_network("subnet_cidr", network.subnet_cidr, problems)
    public = _parse_network("public_subnet_cidr", network.public_subnet_cidr, problems)
    if problems:
        return None, problems
    vpc = vpc or DEFAULT_VPC
    if vpc.is_loopback or vpc.is_link_local or vpc.is_multicast or vpc.is_reserved:
        what = (
            f"{vpc} is loopback, link-local, multicast or reserved (RFC 6890): no host can have its addresses"
        )
        problems.append(Problem(("network", "cidr"), what, "give a private block, such as 10.100.0.0/16"))
    if vpc.prefixlen == SUBNET_PREFIXES[-1] and private is None:
        private = vpc
    private = private or choose_private(vpc, _addresses_needed(settings, around))
    wants_public = network.internet is not Internet.ENDPOINTS
    if wants_public and public is None:
        public = choose_public(vpc, private)
        if public is None:
            problems.append(
                Problem(
                    ("network", "subnet_cidr"),
                    f"{private} fills the VPC {vpc} and leaves no room for the NAT gateway's subnet",
                    "give a smaller subnet, a larger `cidr`, or `internet: endpoints`, which needs no NAT",
                )
            )
    for key, subnet in (("subnet_cidr", private), ("public_subnet_cidr", public)):
        if subnet is not None and not subnet.subnet_of(vpc):
            problems.append(
                Problem(("network", key), f"{subnet} is not inside the VPC {vpc}", "give a part of it")
            )
    if public is not None and public.overlaps(private):
        problems.append(
            Problem(
                ("network", "public_subnet_cidr"),
                f"{public} overlaps the private subnet {private}",
                "give another part of the VPC",
            )
        )
    return AddressPlan(vpc, private, public if wants_public else None), problems


def own_blocks(settings: AwsClusterSettings, around: Surroundings) -> tuple[IPv4Network, ...]:
    """The address blocks of this side, as far as they are known: the new VPC's, or the adopted subnet's."""
    if settings.network.adopted:
        subnet = _parse_network("subnet_cidr", settings.network.subnet_cidr, [])
        return () if subnet is None else (subnet,)
    plan, _ = address_plan(settings, around)
    return () if plan is None else (plan.vpc,)


def _network(settings: AwsClusterSettings, around: Surroundings) -> Iterator[Problem]:
    network = settings.network
    if not network.adopted:
        plan, problems = address_plan(settings, around)
        yield from problems
        if network.internet is Internet.ENDPOINTS and network.public_subnet_cidr is not None:
            yield Problem(
                ("network", "public_subnet_cidr"),
                "a network without internet has no public subnet",
                "drop the key, or set `internet: nat`",
            )
        if network.security_group_ids:
            yield Problem(
                ("network", "security_group_ids"),
                "a security group belongs to one VPC, and this network creates a new one",
                "give `vpcId` and `subnetId` too, or drop the key",
            )
        if network.verify:
            yield Problem(("network", "verify"), "there is no adopted subnet to verify", "drop the key")
        if plan is not None and not problems:
            yield from _enough_addresses(settings, around, plan.private)
        return
    for key, value in (("vpc_id", network.vpc_id), ("subnet_id", network.subnet_id)):
        if value is None:
            yield Problem(
                ("network", key), "is missing", "adopting a network needs both `vpcId` and `subnetId`"
            )
    for key in ("cidr", "public_subnet_cidr", "internet"):
        if getattr(network, key) is not None:
            yield Problem(
                ("network", key),
                "an adopted network keeps its own blocks and routes",
                "drop the key, or drop `vpcId` and `subnetId` to create a network",
            )
    given: list[Problem] = []
    subnet = _parse_network("subnet_cidr", network.subnet_cidr, given)
    yield from given
    if subnet is not None:
        yield from _enough_addresses(settings, around, subnet)


def _enough_addresses(
    settings: AwsClusterSettings, around: Surroundings, subnet: IPv4Network
) -> Iterator[Problem]:
    size = find_size(settings, around)
    if size is None or settings.interfaces not in possible_layouts(size):
        return
    per_node = addresses_per_node(size, settings.interfaces)
    others = other_addresses(settings)
    fit = nodes_that_fit(subnet, per_node, others)
    if settings.nodes <= fit:
        return
    frugal = min(possible_layouts(size), key=lambda layout: addresses_per_node(size, layout))
    frugal_cost = addresses_per_node(size, frugal)
    remedies = ["give a larger `subnetCidr`"]
    if frugal_cost < per_node:
        fit_then = nodes_that_fit(subnet, frugal_cost, others)
        remedies.append(
            f"use `interfaces: {frugal.value}`, which takes {frugal_cost} a node ({fit_then} nodes fit)"
        )
    remedies.append(f"set `nodes` to {fit} or less" if fit else "no node fits as it is")
    key = ("network", "subnet_cidr") if settings.network.subnet_cidr else ("network", "cidr")
    beside = f" beside {others} for endpoints" if others else ""
    yield Problem(
        key,
        f"{subnet} has {usable_addresses(subnet)} usable addresses, and {settings.nodes} nodes of {size.name} in "
        f"layout {settings.interfaces.value} take {per_node} each{beside}: {fit} nodes fit",
        ", or ".join(remedies),
    )


def _placement(settings: AwsClusterSettings, _: Surroundings) -> Iterator[Problem]:
    kind, placement = settings.placement_kind, settings.placement
    if isinstance(settings.capacity, CapacityBlock) and kind is not PlacementKind.NONE:
        yield Problem(
            ("placement", "group"),
            "a capacity block brings its own placement, and a placement group can make it unusable",
            "set `placement: {group: none}` or drop the key",
        )
    if kind is PlacementKind.ADOPT and placement.name is None:
        yield Problem(("placement", "name"), "is missing", "give the name of the placement group to adopt")
    if kind is not PlacementKind.ADOPT and placement.name is not None:
        yield Problem(
            ("placement", "name"),
            f"a name is given, and `group` is {kind.value}",
            "set `group: adopt`, or drop the name (a new group is named by Pulumi)",
        )


#: EC2's `SupportedUsageClasses` for each kind of capacity; a reservation is of on-demand capacity.
_USAGE_CLASS = {
    "onDemand": "on-demand",
    "spot": "spot",
    "reservation": "on-demand",
    "capacityBlock": "capacity-block",
}


def _capacity(settings: AwsClusterSettings, around: Surroundings) -> Iterator[Problem]:
    capacity = settings.capacity
    if isinstance(capacity, CapacityBlock) and settings.nodes > CAPACITY_BLOCK_NODES:
        yield Problem(
            ("nodes",),
            f"a capacity block holds at most {CAPACITY_BLOCK_NODES} instances, and {settings.nodes} are asked for",
            f"set `nodes` to {CAPACITY_BLOCK_NODES} or less, and use one cluster a block",
        )
    size = find_size(settings, around)
    usage = _USAGE_CLASS[capacity.kind]
    if size is not None and size.supported and size.usage_classes and usage not in size.usage_classes:
        yield Problem(
            ("capacity", "kind"),
            f"{size.name} is not sold as {usage}",
            f"it is sold as {', '.join(size.usage_classes)} (EC2 DescribeInstanceTypes, {size.date})",
        )


def _root_volume(settings: AwsClusterSettings, _: Surroundings) -> Iterator[Problem]:
    volume = settings.root_volume
    if volume.size_gib > GP3.max_size_gib:
        yield Problem(
            ("root_volume", "size_gib"),
            f"{volume.size_gib} GiB is too large",
            f"gp3 holds {GP3.max_size_gib} GiB",
        )
    if not GP3.min_iops <= volume.iops <= GP3.max_iops:
        yield Problem(
            ("root_volume", "iops"),
            f"{volume.iops} is outside gp3's range",
            f"give {GP3.min_iops} to {GP3.max_iops}",
        )
    elif volume.iops > volume.size_gib * GP3.iops_per_gib and volume.iops > GP3.min_iops:
        most = max(volume.size_gib * GP3.iops_per_gib, GP3.min_iops)
        least = -(-volume.iops // GP3.iops_per_gib)
        yield Problem(
            ("root_volume", "iops"),
            f"{volume.iops} IOPS on {volume.size_gib} GiB exceed gp3's {GP3.iops_per_gib} IOPS a GiB",
            f"give at most {most} IOPS, or at least {least} GiB",
        )
    if not GP3.min_throughput_mibps <= volume.throughput_mibps <= GP3.max_throughput_mibps:
        yield Problem(
            ("root_volume", "throughput_mibps"),
            f"{volume.throughput_mibps} MiB/s is outside gp3's range",
            f"give {GP3.min_throughput_mibps} to {GP3.max_throughput_mibps}",
        )
    elif volume.throughput_mibps > volume.iops * GP3.throughput_mibps_per_iops:
        most = int(volume.iops * GP3.throughput_mibps_per_iops)
        least = -(-volume.throughput_mibps // GP3.throughput_mibps_per_iops)
        yield Problem(
            ("root_volume", "throughput_mibps"),
            f"{volume.throughput_mibps} MiB/s on {volume.iops} IOPS exceed gp3's "
            f"{GP3.throughput_mibps_per_iops} MiB/s an IOPS",
            f"give at most {most} MiB/s, or at least {int(least)} IOPS",
        )


def _image(settings: AwsClusterSettings, _: Surroundings) -> Iterator[Problem]:
    image = settings.image
    if image.ami_id is not None and image.ssm_parameter is not None:
        yield Problem(("image",), "`amiId` and `ssmParameter` exclude each other", "keep the one you mean")
    if isinstance(image.ami_id, str) and not image.ami_id.startswith("ami-"):
        yield Problem(
            ("image", "ami_id"), f"{image.ami_id!r} is not an AMI id", "give an id such as ami-0abc…"
        )
    if image.ssm_parameter is not None and not image.ssm_parameter.startswith("/"):
        yield Problem(
            ("image", "ssm_parameter"),
            f"{image.ssm_parameter!r} is not a parameter's name",
            "give it with its leading slash, without `resolve:ssm:`",
        )


def _access(settings: AwsClusterSettings, _: Surroundings) -> Iterator[Problem]:
    access = settings.access
    if access.instance_profile_name is not None and access.extra_policy_arns:
        yield Problem(
            ("access", "extra_policy_arns"),
            "an adopted instance profile has the policies of its own role",
            "attach them there and drop the key, or drop `instanceProfileName` to get a role of ours",
        )


#: What the ids of adopted things begin with; an id that is an output of another resource is not looked at.
_ID_PREFIXES: tuple[tuple[tuple[str, str], str], ...] = (
    (("network", "vpc_id"), "vpc-"),
    (("network", "subnet_id"), "subnet-"),
    (("network", "security_group_ids"), "sg-"),
    (("capacity", "reservation_id"), "cr-"),
    (("access", "extra_policy_arns"), "arn:"),
)


def _scratch(settings: AwsClusterSettings, around: Surroundings) -> Iterator[Problem]:
    yield from scratch_problems(settings.bootstrap, find_size(settings, around))


def id_problems(where: Path, given: Any, prefix: str) -> Iterator[Problem]:
    """An id, or one of a list of ids, that does not begin as such ids do."""
    listed = isinstance(given, tuple)
    for number, value in enumerate(given if listed else (given,)):
        if isinstance(value, str) and not value.startswith(prefix):
            yield Problem(
                (*where, number) if listed else where,
                f"{value[:80]!r} is not such an id",
                f"give one that begins with {prefix}",
            )


def _ids(settings: AwsClusterSettings, _: Surroundings) -> Iterator[Problem]:
    for where, prefix in _ID_PREFIXES:
        yield from id_problems(where, getattr(getattr(settings, where[0]), where[1], None), prefix)


def _tags(settings: AwsClusterSettings, _: Surroundings) -> Iterator[Problem]:
    for key in settings.tags:
        yield from refused_by_aws(key)


def _other_cloud(settings: AwsClusterSettings, around: Surroundings) -> Iterator[Problem]:
    yield from problems_of_other_cloud(
        settings.other_cloud,
        around,
        cloud=Cloud.AWS,
        region=region_of(settings.zone),
        own=own_blocks(settings, around),
    )


RULES: tuple[Callable[[AwsClusterSettings, Surroundings], Iterable[Problem]], ...] = (
    _zone,
    _instance_type,
    _interface_layout,
    _network,
    _placement,
    _capacity,
    _root_volume,
    _image,
    _access,
    _scratch,
    _other_cloud,
    _ids,
    _tags,
)

#: Those about a node alone, whoever starts and owns the nodes.
NODE_RULES = (_instance_type, _interface_layout, _placement, _capacity, _root_volume, _tags)


def check(settings: AwsClusterSettings, around: Surroundings) -> list[Problem]:
    """Every problem of `settings`, with paths in snake_case from the top of the settings."""
    return [problem for rule in RULES for problem in rule(settings, around)]


def other_cloud_of(settings: AwsClusterSettings, around: Surroundings) -> OtherCloud | None:
    """The link to the other cloud's nodes: that of the stack, or what the cluster is told."""
    return beside(settings.other_cloud, around, cloud=Cloud.AWS, region=region_of(settings.zone))


def node_additions(settings: AwsClusterSettings, around: Surroundings) -> dict[str, Any]:
    """What the user and the link to the other cloud add to a node, as `node_files` takes it."""
    return additions(settings.nccl, settings.bootstrap, other_cloud_of(settings, around))


def problems_of(settings: AwsClusterSettings, around: Surroundings) -> list[Problem]:
    """Every problem of the settings, and of what would be rendered from them."""
    problems = check(settings, around)
    size = find_size(settings, around)
    if size is not None:
        problems += problems_of_node_files(
            size, **node_additions(settings, around), limit=USER_DATA_BYTES, cloud="EC2"
        )
    return problems
