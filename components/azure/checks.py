"""The rules for an Azure cluster, each a small function from settings to problems; nothing here knows Pulumi's engine.

A rule says where, what is wrong, and what to do. What is legal but worth knowing is in `notes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Network
from typing import Any

from gpu_fabric.components.azure.addresses import DEFAULT_NETWORK, AddressPlan
from gpu_fabric.components.azure.ids import adopted_ids
from gpu_fabric.components.azure.image import image_reference, urn_problem
from gpu_fabric.components.azure.limits import (
    AVAILABILITY_SET_FAULT_DOMAINS,
    AVAILABILITY_SET_NODES,
    BASTION_PREFIX,
    OS_DISK_GIB,
    RDMA_NETWORK,
    RESERVED_USER_NAMES,
    SCALE_SET_FAULT_DOMAINS,
    SCALE_SET_NODES,
    SIZES_WITHOUT_TRUSTED_LAUNCH,
    SUBNET_PREFIXES,
    UNUSABLE_BLOCKS,
    ZONES,
)
from gpu_fabric.components.azure.regions import is_location, location_name
from gpu_fabric.components.azure.settings import AzureClusterSettings, Network, Spot
from gpu_fabric.components.choices import NodesAs, PlacementKind, additions, scratch_problems
from gpu_fabric.components.node_files import problems_of_node_files
from gpu_fabric.components.other_cloud import beside
from gpu_fabric.components.other_cloud import problems as problems_of_other_cloud
from gpu_fabric.components.problems import Problem
from gpu_fabric.components.subnets import (
    RESERVED_ADDRESSES,
    choose_free,
    choose_private,
    nodes_that_fit,
    read_block,
    usable_addresses,
)
from gpu_fabric.components.surroundings import OtherCloud, Surroundings
from gpu_fabric.components.tags import refused_by_azure
from gpu_fabric.nccl.bootstrap import AZURE_CUSTOM_DATA_LIMIT
from gpu_fabric.nccl.hardware import Cloud, Fabric, NodeSize
from gpu_fabric.nccl.hardware.catalog import UnknownSizeError

_USER_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


def find_size(settings: AzureClusterSettings, around: Surroundings) -> NodeSize | None:
    size = around.sizes.get(settings.vm_size)
    return size if size is not None and size.cloud is Cloud.AZURE else None


def location_of(settings: AzureClusterSettings, around: Surroundings) -> str | None:
    """The region in the form that ARM gives back: `East US` is eastus."""
    location = settings.location or around.region
    return None if location is None else location_name(location)


def trusted_launch(settings: AzureClusterSettings) -> bool:
    """What the user chose, or whether Azure documents it for the size."""
    if settings.security.trusted_launch is not None:
        return settings.security.trusted_launch
    return settings.vm_size not in SIZES_WITHOUT_TRUSTED_LAUNCH


def _with_infiniband(around: Surroundings) -> list[str]:
    return [
        name
        for name, row in around.sizes.items()
        if row.cloud is Cloud.AZURE and row.supported and row.fabric is Fabric.INFINIBAND
    ]


def _location(settings: AzureClusterSettings, around: Surroundings) -> Iterator[Problem]:
    location = location_of(settings, around)
    if location is None:
        yield Problem(
            ("location",), "is missing", "give a region such as eastus, here or as azure-native:location"
        )
    elif not is_location(location):
        yield Problem(
            ("location",),
            f"{settings.location or around.region!r} is not the name of a region",
            "give one such as eastus (`az account list-locations --query [].name` lists them)",
        )


def _zone(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    if settings.zone is None:
        return
    if settings.zone not in ZONES:
        yield Problem(
            ("zone",),
            f"{settings.zone!r} is not an availability zone",
            f"give one of {', '.join(repr(zone) for zone in ZONES)}",
        )
    if settings.nodes_as is NodesAs.INSTANCES:
        yield Problem(
            ("zone",),
            "an availability set has no zone, and `nodesAs: instances` needs one for InfiniBand",
            "drop the key, or set `nodesAs: fleet`",
        )


def _vm_size(settings: AzureClusterSettings, around: Surroundings) -> Iterator[Problem]:
    size = around.sizes.get(settings.vm_size)
    known = _with_infiniband(around)
    give = f"give one of {', '.join(known)}"
    if size is None:
        every = tuple(name for name, row in around.sizes.items() if row.cloud is Cloud.AZURE)
        hint = str(UnknownSizeError(settings.vm_size, every)).partition(": ")[2].partition("known sizes")[0]
        yield Problem(
            ("vm_size",),
            f"unknown size {settings.vm_size!r} in the catalog",
            f"{hint}{give}, or describe it under `fabric.sizes` with the catalog's fields",
        )
    elif size.cloud is not Cloud.AZURE:
        yield Problem(("vm_size",), f"{size.name} is an AWS instance type", give)
    elif not size.supported:
        yield Problem(
            ("vm_size",),
            f"{size.name} is not laid out by this release",
            size.unsupported_reason.removesuffix("."),
        )
    elif size.fabric is not Fabric.INFINIBAND:
        yield Problem(("vm_size",), f"{size.name} has no InfiniBand", give)


def partition_limit(settings: AzureClusterSettings, size: NodeSize | None) -> int:
    """The most nodes that can share one InfiniBand partition, by the size's row or by what Azure's support granted."""
    if settings.granted_nodes is not None:
        return settings.granted_nodes
    if settings.nodes_as is NodesAs.INSTANCES:
        return AVAILABILITY_SET_NODES
    return (size.scale_set_nodes if size is not None else None) or SCALE_SET_NODES


def _nodes(settings: AzureClusterSettings, around: Surroundings) -> Iterator[Problem]:
    size = find_size(settings, around)
    limit = partition_limit(settings, size)
    if settings.nodes <= limit:
        return
    if settings.nodes_as is NodesAs.INSTANCES:
        yield Problem(
            ("nodes",),
            f"one availability set holds {limit} nodes, and {settings.nodes} are asked for",
            f"set `nodes` to {limit} or less; InfiniBand does not reach from one availability set to another",
        )
        return
    by_request = size.scale_set_nodes_by_request if size is not None else None
    remedies = [f"set `nodes` to {limit} or less"]
    if settings.granted_nodes is None:
        more = f" (up to {by_request})" if by_request else ""
        remedies.append(f"ask Azure's support for more{more} and set `grantedNodes` to what it granted")
        if settings.nodes <= AVAILABILITY_SET_NODES and settings.zone is None:
            remedies.append(f"set `nodesAs: instances`, which holds {AVAILABILITY_SET_NODES}")
    yield Problem(
        ("nodes",),
        f"one scale set with a single placement group holds {limit} nodes, and {settings.nodes} are asked for",
        f"{', or '.join(remedies)}; InfiniBand does not reach from one scale set to another",
    )


def _fault_domains(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    fleet = settings.nodes_as is NodesAs.FLEET
    allowed = SCALE_SET_FAULT_DOMAINS if fleet else AVAILABILITY_SET_FAULT_DOMAINS
    if settings.fault_domains not in allowed:
        what = "a scale set" if fleet else "an availability set"
        yield Problem(
            ("fault_domains",),
            f"{what} cannot have {settings.fault_domains} fault domains",
            f"give one of {', '.join(map(str, allowed))}; 1 keeps the nodes together",
        )


def _block(key: str, text: str | None, problems: list[Problem]) -> IPv4Network | None:
    where = ("network", key)
    block = read_block(where, text, SUBNET_PREFIXES, "Azure", problems, str(DEFAULT_NETWORK))
    if block is None:
        return None
    if block.overlaps(RDMA_NETWORK):
        problems.append(
            Problem(
                where,
                f"{block} overlaps {RDMA_NETWORK}, which Azure's RDMA network owns on every node",
                f"give another block, such as {DEFAULT_NETWORK}",
            )
        )
        return None
    for unusable, purpose in UNUSABLE_BLOCKS.items():
        if block.overlaps(unusable):
            problems.append(
                Problem(
                    where,
                    f"{block} overlaps {unusable} ({purpose}), which no virtual network can hold",
                    f"give another block, such as {DEFAULT_NETWORK}",
                )
            )
            return None
    return block


def address_plan(settings: AzureClusterSettings) -> tuple[AddressPlan | None, list[Problem]]:
    """The blocks of a new network, or what is wrong with those that the user gave."""
    given, problems = settings.network, list[Problem]()
    network = _block("cidr", given.cidr, problems)
    private = _block("subnet_cidr", given.subnet_cidr, problems)
    bastion = _block("bastion_subnet_cidr", given.bastion_subnet_cidr, problems)
    if problems:
        return None, problems
    network = network or DEFAULT_NETWORK
    if private is None and network.prefixlen == SUBNET_PREFIXES[-1]:
        private = network
    private = private or choose_private(network, settings.nodes, SUBNET_PREFIXES[-1])
    if given.bastion and bastion is None:
        bastion = choose_free(network, private, BASTION_PREFIX)
        if bastion is None:
            problems.append(
                Problem(
                    ("network", "bastion"),
                    f"{private} leaves no /{BASTION_PREFIX} free in {network} for Bastion's subnet",
                    "give a smaller `subnetCidr`, a larger `cidr`, or drop `bastion`",
                )
            )
    for key, subnet in (("subnet_cidr", private), ("bastion_subnet_cidr", bastion)):
        if subnet is not None and not subnet.subnet_of(network):
            problems.append(
                Problem(
                    ("network", key), f"{subnet} is not inside the network {network}", "give a part of it"
                )
            )
    if bastion is not None and bastion.overlaps(private):
        problems.append(
            Problem(
                ("network", "bastion_subnet_cidr"),
                f"{bastion} overlaps the nodes' subnet {private}",
                "give another part of the network",
            )
        )
    if bastion is not None and bastion.prefixlen > BASTION_PREFIX:
        problems.append(
            Problem(
                ("network", "bastion_subnet_cidr"),
                f"{bastion} is a /{bastion.prefixlen}",
                f"Bastion takes a /{BASTION_PREFIX} or larger",
            )
        )
    return AddressPlan(network, private, bastion if given.bastion else None), problems


def own_blocks(settings: AzureClusterSettings) -> tuple[IPv4Network, ...]:
    """The address blocks of this side, as far as they are known: the new network's, or the adopted subnet's."""
    if settings.network.adopted:
        subnet = _block("subnet_cidr", settings.network.subnet_cidr, [])
        return () if subnet is None else (subnet,)
    plan, _ = address_plan(settings)
    return () if plan is None else (plan.network,)


def _network(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    network = settings.network
    if network.adopted:
        yield from _adopted_network(settings, network)
        return
    plan, problems = address_plan(settings)
    yield from problems
    if network.bastion_subnet_cidr is not None and not network.bastion:
        yield Problem(
            ("network", "bastion_subnet_cidr"), "there is no Bastion", "set `bastion: true`, or drop the key"
        )
    if plan is not None and not problems:
        yield from _enough_addresses(settings, plan.private)


def _adopted_network(settings: AzureClusterSettings, network: Network) -> Iterator[Problem]:
    for key in ("cidr", "bastion_subnet_cidr", "internet"):
        if getattr(network, key) is not None:
            yield Problem(
                ("network", key),
                "an adopted subnet keeps its own network and routes",
                "drop the key, or drop `subnetId` to create a network",
            )
    if network.bastion:
        yield Problem(
            ("network", "bastion"),
            "a Bastion is made in a new network only",
            "drop the key, or drop `subnetId` to create a network",
        )
    if network.subnet_cidr is None and network.security_group_id is None:
        yield Problem(
            ("network", "subnet_cidr"),
            "is missing, and a security group cannot allow the traffic between the nodes without it",
            "give the subnet's block, or `securityGroupId` of a group that allows it",
        )
    problems: list[Problem] = []
    subnet = _block("subnet_cidr", network.subnet_cidr, problems)
    yield from problems
    if subnet is not None:
        yield from _enough_addresses(settings, subnet)


def _enough_addresses(settings: AzureClusterSettings, subnet: IPv4Network) -> Iterator[Problem]:
    fit = nodes_that_fit(subnet, 1)
    if settings.nodes <= fit:
        return
    key = ("network", "subnet_cidr") if settings.network.subnet_cidr else ("network", "cidr")
    fewer = f", or set `nodes` to {fit} or less" if fit else ""
    yield Problem(
        key,
        f"{subnet} has {usable_addresses(subnet)} usable addresses beside Azure's {RESERVED_ADDRESSES}, and "
        f"{settings.nodes} nodes take one each",
        f"give a larger `subnetCidr`{fewer}",
    )


def _placement(settings: AzureClusterSettings, around: Surroundings) -> Iterator[Problem]:
    kind, placement = settings.placement_kind, settings.placement
    if kind is PlacementKind.ADOPT and placement.id is None:
        yield Problem(
            ("placement", "id"), "is missing", "give the resource id of the proximity placement group"
        )
    if kind is not PlacementKind.ADOPT and placement.id is not None:
        yield Problem(
            ("placement", "id"),
            f"an id is given, and `group` is {kind.value}",
            "set `group: adopt`, or drop the id",
        )
    if kind is not PlacementKind.CREATE:
        if placement.intent_sizes:
            yield Problem(
                ("placement", "intent_sizes"),
                f"sizes are given, and `group` is {kind.value}",
                "set `group: create`, or drop the sizes",
            )
        return
    if settings.zone is not None and not placement.intent_sizes:
        yield Problem(
            ("placement", "intent_sizes"),
            f"is missing, and a proximity group in a zone ({settings.zone}) needs it",
            f"give the sizes of the group, such as [{settings.vm_size}], or drop `zone`",
        )
    if placement.intent_sizes and settings.vm_size not in placement.intent_sizes:
        yield Problem(
            ("placement", "intent_sizes"),
            f"the nodes' own size {settings.vm_size} is not among {', '.join(placement.intent_sizes)}",
            "add it",
        )
    for number, name in enumerate(placement.intent_sizes):
        other = around.sizes.get(name)
        if other is not None and other.fabric is Fabric.INFINIBAND and name != settings.vm_size:
            yield Problem(
                ("placement", "intent_sizes", number),
                f"{name} and {settings.vm_size} cannot share an InfiniBand partition: that is one scale set, and a "
                "scale set has one size; a proximity group gives them no more than a short way over Ethernet",
                "drop it, and make one cluster for each size (a group made elsewhere can be adopted by both)",
            )


def _capacity(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    if isinstance(settings.capacity, Spot) and settings.nodes_as is NodesAs.INSTANCES:
        yield Problem(
            ("capacity", "kind"),
            "Azure offers no spot VMs in an availability set, and `nodesAs: instances` needs one for InfiniBand",
            "set `nodesAs: fleet`, or `kind: onDemand`",
        )


def _root_volume(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    volume = settings.root_volume
    if volume.size_gib > OS_DISK_GIB:
        yield Problem(
            ("root_volume", "size_gib"),
            f"{volume.size_gib} GiB is too large",
            f"an OS disk holds {OS_DISK_GIB} GiB",
        )


def _image(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    image = settings.image
    if image.urn is not None and image.id is not None:
        yield Problem(("image",), "`urn` and `id` exclude each other", "keep the one you mean")
    if image.urn is not None:
        wrong = urn_problem(image.urn)
        if wrong is not None:
            yield Problem(("image", "urn"), *wrong)
    if isinstance(image.id, str) and not image.id.startswith("/"):
        yield Problem(
            ("image", "id"),
            f"{image.id!r} is not a resource id",
            "give /subscriptions/…/images/… or …/versions/…; a marketplace image goes into `urn`",
        )


def _access(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    name = settings.access.admin_username
    if name.lower() in RESERVED_USER_NAMES:
        yield Problem(("access", "admin_username"), f"Azure refuses the name {name!r}", "choose another one")
    elif not _USER_NAME.fullmatch(name):
        yield Problem(
            ("access", "admin_username"),
            f"{name!r} is not a user name",
            "give up to 32 lower-case letters, digits, `_` and `-`, a letter or `_` first",
        )


def _identity(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    access = settings.access
    if not access.find_peers:
        return
    if access.identity_id is not None:
        yield Problem(
            ("access", "find_peers"),
            "the role is assigned to an identity that is made for it, and `identityId` names one of yours",
            "drop the key and assign the role Reader to yours, or drop `identityId`",
        )
    if settings.nodes_as is NodesAs.INSTANCES:
        yield Problem(
            ("access", "find_peers"),
            "with `nodesAs: instances` there is no scale set to read, and the program knows every address",
            "drop the key",
        )


def _scratch(settings: AzureClusterSettings, around: Surroundings) -> Iterator[Problem]:
    yield from scratch_problems(settings.bootstrap, find_size(settings, around))


def _security(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    security = settings.security
    if security.trusted_launch and settings.vm_size in SIZES_WITHOUT_TRUSTED_LAUNCH:
        yield Problem(
            ("security", "trusted_launch"),
            f"Azure does not offer trusted launch for {settings.vm_size}",
            "drop the key",
        )
    if security.secure_boot and not trusted_launch(settings):
        yield Problem(
            ("security", "secure_boot"), "Secure Boot needs trusted launch, which is off", "drop the key"
        )


def _adopted_ids(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    yield from adopted_ids(settings)


def _tags(settings: AzureClusterSettings, _: Surroundings) -> Iterator[Problem]:
    for key in settings.tags:
        yield from refused_by_azure(key)


def _other_cloud(settings: AzureClusterSettings, around: Surroundings) -> Iterator[Problem]:
    yield from problems_of_other_cloud(
        settings.other_cloud,
        around,
        cloud=Cloud.AZURE,
        region=location_of(settings, around),
        own=own_blocks(settings),
    )


RULES: tuple[Callable[[AzureClusterSettings, Surroundings], Iterable[Problem]], ...] = (
    _location,
    _zone,
    _vm_size,
    _nodes,
    _fault_domains,
    _network,
    _placement,
    _capacity,
    _root_volume,
    _image,
    _access,
    _identity,
    _scratch,
    _other_cloud,
    _security,
    _adopted_ids,
    _tags,
)


def check(settings: AzureClusterSettings, around: Surroundings) -> list[Problem]:
    """Every problem of `settings`, with paths in snake_case from the top of the settings."""
    return [problem for rule in RULES for problem in rule(settings, around)]


def other_cloud_of(settings: AzureClusterSettings, around: Surroundings) -> OtherCloud | None:
    """The link to the other cloud's nodes: that of the stack, or what the cluster is told."""
    return beside(settings.other_cloud, around, cloud=Cloud.AZURE, region=location_of(settings, around))


def node_additions(settings: AzureClusterSettings, around: Surroundings) -> dict[str, Any]:
    """What the user and the link to the other cloud add to a node, as `node_files` takes it."""
    shared = additions(settings.nccl, settings.bootstrap, other_cloud_of(settings, around))
    return {**shared, "image": image_reference(settings).name}


def problems_of(settings: AzureClusterSettings, around: Surroundings) -> list[Problem]:
    """Every problem of the settings, and of what would be rendered from them."""
    problems = check(settings, around)
    size = find_size(settings, around)
    if size is not None and size.supported:
        problems += problems_of_node_files(
            size, **node_additions(settings, around), limit=AZURE_CUSTOM_DATA_LIMIT, cloud="Azure"
        )
    return problems
