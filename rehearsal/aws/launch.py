"""RunInstances: what EC2 checks when instances start, and what starts.

All ways to an instance come here: a single instance, a launch template, an Auto Scaling group. That is also where EC2
checks the network interfaces: a launch template with a bad layout is created without complaint (EC2 User Guide,
"Store instance launch parameters in Amazon EC2 launch templates").

Where a rule's sentence could be found in a public log, the source stands beside it. ``unverified`` marks the
sentences, and codes, that could not: the rule itself has the source given, the words are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import Refusal
from ..core.faults import Faults
from ..core.store import Transaction
from . import images, kinds
from .account import ACCOUNT, arn, new_id, new_ids, zones
from .addresses import allocate, check_address, free_count
from .instance_types import InstanceType
from .instance_types import get as instance_type

USER_DATA_LIMIT = 16_384
"""Bytes before base64 (EC2 User Guide, instancedata-add-user-data)."""
EFA_KINDS = ("efa", "efa-only")


@dataclass(frozen=True)
class Interface:
    """One network interface of a request. ``existing`` is the id of one that is there already."""

    card: int = 0
    device: int = 0
    kind: str = "interface"
    subnet_id: str = ""
    groups: tuple[str, ...] = ()
    public: bool | None = None
    private_ip: str = ""
    secondary: int = 0
    prefixes: int = 0
    existing: str = ""
    delete_on_termination: bool = True

    @property
    def efa(self) -> bool:
        return self.kind in EFA_KINDS

    @property
    def addresses(self) -> int:
        """How many addresses of the subnet it takes; an efa-only interface has none (EC2 User Guide, efa)."""
        return 0 if self.existing or self.kind == "efa-only" else 1 + self.secondary


@dataclass(frozen=True)
class Request:
    """What RunInstances is asked for, whichever way it came."""

    instance_type: str
    image_id: str
    region: str
    interfaces: tuple[Interface, ...] = ()
    subnet_id: str = ""
    groups: tuple[str, ...] = ()
    group_names: tuple[str, ...] = ()
    public: bool | None = None
    private_ip: str = ""
    zone: str = ""
    placement_group: str = ""
    market: str = ""
    reservation_id: str = ""
    reservation_preference: str = ""
    user_data_size: int = 0
    key_name: str = ""
    profile: str = ""
    volumes: tuple[Mapping[str, Any], ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    template: tuple[str, str] = ("", "")
    """The launch template's id and version it came from."""


# What EC2 refuses whatever is free: the form of the request


def check_request(tx: Transaction, request: Request) -> InstanceType:
    """Refuse a request that could never succeed. Returns the instance type."""
    kind = instance_type(request.instance_type)
    if request.user_data_size > USER_DATA_LIMIT:
        # supergiant/capacity issue 148
        raise Refusal("InvalidParameterValue", f"User data is limited to {USER_DATA_LIMIT} bytes")
    _check_top_level(request)
    _check_interfaces(kind, request.interfaces)
    _check_public(request)
    _check_market(tx, kind, request)
    _check_references(tx, request)
    for volume in request.volumes:
        _check_volume(volume)
    return kind


def _check_top_level(request: Request) -> None:
    """aws/aws-cli issue 518."""
    if not request.interfaces:
        return
    if request.groups or request.group_names:
        raise Refusal(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level security groups may not be specified on the same request",
        )
    if request.subnet_id and any(each.subnet_id or each.existing for each in request.interfaces):
        raise Refusal(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level subnet ID may not be specified on the same request",
        )
    if request.private_ip:
        # mitchellh/vagrant-aws issue 230
        raise Refusal(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level private IP address may not be specified on the same request",
        )


def _check_interfaces(kind: InstanceType, interfaces: tuple[Interface, ...]) -> None:
    if not interfaces:
        return
    places = Counter((each.card, each.device) for each in interfaces)
    if max(places.values()) > 1:
        # Young-ook/terraform-aws-eks issue 148
        raise Refusal("InvalidParameterValue", "Each network interface requires a unique device index.")
    if len(interfaces) > sum(kind.interfaces):
        # chef/knife-ec2 pull request 375
        raise Refusal(
            "AttachmentLimitExceeded", f"Interface count {len(interfaces)} exceeds the limit for {kind.name}"
        )
    for each in interfaces:
        check_place(kind, each.card, each.device)
    primary = next((each for each in interfaces if (each.card, each.device) == (0, 0)), None)
    if primary is None:
        # EC2 multi-card page: the primary must be card 0, device 0. Unverified.
        raise Refusal(
            "InvalidParameterCombination",
            "The primary network interface must be specified: network card index 0, device index 0.",
        )
    if primary.kind == "efa-only":
        # EC2 multi-card page. Unverified.
        raise Refusal(
            "InvalidParameterCombination",
            "An EFA-only network interface cannot be the primary network interface. Specify the interface type "
            "'interface' or 'efa' for network card index 0, device index 0.",
        )
    _check_efa(kind, interfaces)


def check_place(kind: InstanceType, card: int, device: int) -> None:
    """Refuse a card the type does not have, or a device index beyond the card's slots."""
    if not 0 <= card < kind.cards:
        # Unverified.
        raise Refusal(
            "InvalidParameterValue",
            f"The specified network card index '{card}' is not valid for the instance type '{kind.name}'. Specify a "
            f"number from 0 to {kind.cards - 1}, and try again.",
        )
    slots = kind.interfaces[card]
    if not 0 <= device < slots:
        # The sentence: eksctl-io/eksctl issue 7520. The code: unverified.
        raise Refusal(
            "InvalidParameterValue",
            f"The specified number '{device}' for the device index exceeds the maximum number of network interfaces "
            f"supported by the network card at network card index {card}. The maximum devices for this network card "
            f"is {slots}. Specify a number from 0 to {slots - 1}, and try again.",
        )


def _check_efa(kind: InstanceType, interfaces: Iterable[Interface]) -> None:
    """One EFA a card, on cards that take one (EC2 User Guide, efa and the multi-card page). Sentences unverified."""
    per_card = Counter(each.card for each in interfaces if each.efa)
    if per_card and not kind.efa:
        raise Refusal("InvalidParameterCombination", f"EFA interfaces are not supported on {kind.name}")
    for card, count in sorted(per_card.items()):
        if card in kind.without_efa:
            # aws/aws-parallelcluster issue 7143: the launch fails; the words there are not public.
            raise Refusal(
                "InvalidParameterCombination",
                f"The network card at network card index {card} of {kind.name} does not support EFA interfaces.",
            )
        if count > 1:
            # aws/aws-ofi-nccl issue 53
            raise Refusal(
                "AttachmentLimitExceeded",
                f"EFA interface count {count} exceeds the limit of 1 for network card index {card} of {kind.name}",
            )
    if sum(per_card.values()) > kind.efa:
        raise Refusal(
            "AttachmentLimitExceeded",
            f"EFA interface count {sum(per_card.values())} exceeds the limit for {kind.name}",
        )


def _check_public(request: Request) -> None:
    for each in request.interfaces:
        if each.kind == "efa-only" and (each.public or each.secondary or each.prefixes or each.private_ip):
            # aws/karpenter-provider-aws pkg/providers/launchtemplate/launchtemplate.go. The sentence: unverified.
            raise Refusal(
                "InvalidParameterValue",
                "IP addresses and prefixes cannot be specified for an EFA-only interface.",
            )
    if len(request.interfaces) > 1 and any(each.public for each in request.interfaces):
        # zalando-incubator/kubernetes-on-aws pull request 8733
        raise Refusal(
            "InvalidParameterCombination",
            "The associatePublicIPAddress parameter cannot be specified when launching with multiple network "
            "interfaces",
        )


def _check_market(tx: Transaction, kind: InstanceType, request: Request) -> None:
    """The purchase option against the reservation (EC2 User Guide, capacity-blocks-launch)."""
    # terraform-aws-modules/terraform-aws-ec2-instance pull request 404
    wrong = Refusal(
        "InvalidParameterValue",
        "The market type (purchasing) option is not valid. Choose a different market type and try again",
    )
    reservation = _reservation(tx, request.reservation_id) if request.reservation_id else None
    block = reservation is not None and reservation.get("reservationType") == "capacity-block"
    if block != (request.market == "capacity-block"):
        if request.market == "capacity-block" and reservation is None:
            # Unverified.
            raise Refusal(
                "MissingParameter",
                "The market type 'capacity-block' requires a Capacity Block: specify its ID as the capacity "
                "reservation target",
            )
        raise wrong
    if (request.market == "spot" and not kind.spot) or (not request.market and not kind.on_demand):
        raise wrong
    if request.reservation_id and request.reservation_preference in ("open", "none"):
        # API_CapacityReservationSpecification: a target may not be given with these. Unverified.
        raise Refusal(
            "InvalidParameterCombination",
            f"A capacity reservation target cannot be specified with the capacity reservation preference "
            f"'{request.reservation_preference}'",
        )


def _reservation(tx: Transaction, id: str) -> Mapping[str, Any]:
    found = tx.get(kinds.CAPACITY_RESERVATION, id) or tx.get(kinds.CAPACITY_BLOCK, id)
    if found is None:
        raise Refusal(
            "InvalidCapacityReservationId.NotFound", f"The capacity reservation ID '{id}' does not exist"
        )
    return found


def _check_references(tx: Transaction, request: Request) -> None:
    images.check(tx, request.image_id, request.region)
    if request.key_name and tx.get(kinds.KEY_PAIR, request.key_name) is None:
        raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{request.key_name}' does not exist")
    if request.profile and _profile(tx, request.profile) is None:
        part = "arn" if request.profile.startswith("arn:") else "name"
        # terraform-provider-aws internal/service/autoscaling/group.go, comment in resourceGroupCreate
        raise Refusal(
            "InvalidParameterValue",
            f"Value ({request.profile}) for parameter iamInstanceProfile.{part} is invalid. Invalid IAM Instance "
            f"Profile {part}",
        )
    if request.placement_group:
        placement_group(tx, request.placement_group)


def _profile(tx: Transaction, name_or_arn: str) -> Mapping[str, Any] | None:
    return tx.get(kinds.INSTANCE_PROFILE, name_or_arn.rpartition("/")[2])


def placement_group(tx: Transaction, name_or_id: str) -> Mapping[str, Any]:
    """The placement group by name or id, or EC2's refusal."""
    found = tx.get(kinds.PLACEMENT_GROUP, name_or_id)
    if found is None:
        by_id = tx.find(kinds.PLACEMENT_GROUP, placementGroupId=name_or_id)
        if not by_id:
            raise Refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{name_or_id}' is unknown.")
        found = by_id[0][1]
    return found


def _check_volume(volume: Mapping[str, Any]) -> None:
    """gp3's ratios: 500 IOPS a GiB, 0.25 MiB/s an IOPS (EBS User Guide, general-purpose). Sentences from memory."""
    if volume.get("volumeType") != "gp3":
        return
    size, iops, throughput = (volume.get(name) for name in ("volumeSize", "iops", "throughput"))
    if size and iops and iops > max(3000, 500 * size):
        raise Refusal(
            "InvalidParameterCombination",
            f"Iops to volume size ratio of {iops / size:f} is too high; maximum is 500",
        )
    if throughput and throughput > 0.25 * (iops or 3000):
        raise Refusal(
            "InvalidParameterCombination",
            f"Throughput (MiBps) to iops ratio of {throughput / (iops or 3000):f} is too high; maximum is 0.250000 "
            f"MiBps per iops",
        )


# What EC2 refuses because of where and how much: the start itself


def run(
    tx: Transaction, request: Request, count: int, faults: Faults, owner: str = "", fit: bool = False
) -> list[str]:
    """Start ``count`` instances and return their ids.

    With ``fit`` as many start as there is room for (MinCount 1, as an Auto Scaling group asks) and the refusal for
    the rest is raised only when none does; ``owner`` is the Auto Scaling group's name. Raises Refusal.
    """
    kind = check_request(tx, request)
    interfaces = request.interfaces or (
        Interface(
            subnet_id=request.subnet_id,
            groups=request.groups,
            public=request.public,
            private_ip=request.private_ip,
        ),
    )
    subnets = _check_subnets(tx, request, interfaces)
    zone = next(iter(subnets.values()))["availabilityZone"]
    if request.zone and request.zone != zone:
        # Unverified.
        raise Refusal(
            "InvalidParameterValue",
            f"The availability zone '{request.zone}' does not match the subnet's availability zone '{zone}'.",
        )
    group = placement_group(tx, request.placement_group) if request.placement_group else None
    if group is not None:
        _check_placement(tx, kind, group, zone)
    room = min(
        (limit for limit in _limits(tx, kind, request, interfaces, group, zone, faults)),
        key=lambda limit: limit[0],
        default=(count, None),
    )
    possible = min(count, max(room[0], 0))
    if room[1] is not None and possible < count and (not fit or possible == 0):
        raise room[1]
    return _start(tx, request, interfaces, subnets, zone, group, possible, owner)


def _check_subnets(
    tx: Transaction, request: Request, interfaces: Iterable[Interface]
) -> dict[str, Mapping[str, Any]]:
    subnets: dict[str, Mapping[str, Any]] = {}
    for each in interfaces:
        subnet_id = _subnet_of(tx, request, each)
        subnet = tx.get(kinds.SUBNET, subnet_id)
        if subnet is None:
            raise Refusal("InvalidSubnetID.NotFound", f"The subnet ID '{subnet_id}' does not exist")
        subnets[subnet_id] = subnet
        for group_id in each.groups:
            group = tx.get(kinds.SECURITY_GROUP, group_id)
            if group is None:
                raise Refusal("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
            if group["vpcId"] != subnet["vpcId"]:
                raise Refusal(
                    "InvalidParameter",
                    f"Security group {group_id} and subnet {subnet_id} belong to different networks.",
                )
    if len({subnet["availabilityZone"] for subnet in subnets.values()}) > 1:
        # EC2 User Guide, using-eni: interface and instance are in one zone. Unverified.
        raise Refusal(
            "InvalidParameterCombination",
            "The subnets of all network interfaces of an instance must be in the same availability zone.",
        )
    return subnets


def _subnet_of(tx: Transaction, request: Request, each: Interface) -> str:
    if each.existing:
        return str(network_interface(tx, each.existing)["subnetId"])
    subnet_id = each.subnet_id or request.subnet_id
    if not subnet_id:
        # RunInstances in an account without a default VPC
        raise Refusal(
            "MissingInput", f"No subnets found for the default VPC '{ACCOUNT}'. Please specify a subnet."
        )
    return subnet_id


def network_interface(tx: Transaction, id: str) -> dict[str, Any]:
    """The network interface, or EC2's refusal."""
    found = tx.get(kinds.NETWORK_INTERFACE, id)
    if found is None:
        raise Refusal("InvalidNetworkInterfaceID.NotFound", f"The networkInterface ID '{id}' does not exist")
    return found


def _check_placement(tx: Transaction, kind: InstanceType, group: Mapping[str, Any], zone: str) -> None:
    """A cluster placement group is in one zone (EC2 User Guide, placement-strategies)."""
    if group["strategy"] != "cluster":
        return
    if not kind.cluster:
        # EC2 User Guide, placement-limitations. Unverified.
        raise Refusal(
            "InvalidParameterCombination",
            f"The instance type '{kind.name}' is not supported in a cluster placement group.",
        )
    taken = next(
        (each for each in tx.select(kinds.INSTANCE, "availabilityZone", placementGroup=group["name"])), zone
    )
    if taken != zone:
        # bcbio/bcbio-nextgen-vm issue 45
        raise Refusal(
            "InvalidPlacementGroup.InUse",
            f"The placement group '{group['name']}' is in use in another availability zone: {taken}",
        )


def _limits(
    tx: Transaction,
    kind: InstanceType,
    request: Request,
    interfaces: Iterable[Interface],
    group: Mapping[str, Any] | None,
    zone: str,
    faults: Faults,
) -> Iterator[tuple[int, Refusal]]:
    """How many instances each scarce thing allows, and what EC2 says when it runs out."""
    if request.reservation_id:
        yield _reserved(tx, request, group, zone)
    available = faults.available(kind.name, zone)
    if available is not None:
        running = tx.count(kinds.INSTANCE, instanceType=kind.name, availabilityZone=zone)
        yield available - running, insufficient_capacity(kind.name, zone, request.region)
    wanted: Counter[str] = Counter()
    for each in interfaces:
        if each.addresses:
            wanted[_subnet_of(tx, request, each)] += each.addresses
    for subnet_id, each_takes in wanted.items():
        yield (
            free_count(tx, subnet_id) // each_takes,
            Refusal(
                "InsufficientFreeAddressesInSubnet",
                f"There are not enough free addresses in subnet '{subnet_id}' to satisfy the requested number of "
                f"instances.",
            ),
        )


def insufficient_capacity(instance_type: str, zone: str, region: str) -> Refusal:
    """ray-project/ray issue 49097, with the status EC2 gives it."""
    others = [each for each in zones(region) if each != zone]
    return Refusal(
        "InsufficientInstanceCapacity",
        f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested "
        f"({zone}). Our system will be working on provisioning additional capacity. You can currently get "
        f"{instance_type} capacity by not specifying an Availability Zone in your request or choosing "
        f"{', '.join(others)}.",
        status=500,
    )


def _reserved(
    tx: Transaction, request: Request, group: Mapping[str, Any] | None, zone: str
) -> tuple[int, Refusal]:
    """What is left of the reservation. The sentences of the three mismatches are unverified."""
    reservation = _reservation(tx, request.reservation_id)
    if reservation["instanceType"] != request.instance_type:
        raise Refusal(
            "InvalidParameterValue",
            f"The instance type '{request.instance_type}' does not match the instance type "
            f"'{reservation['instanceType']}' of the capacity reservation '{request.reservation_id}'.",
        )
    if reservation["availabilityZone"] != zone:
        raise Refusal(
            "InvalidParameterValue",
            f"The availability zone '{zone}' does not match the availability zone "
            f"'{reservation['availabilityZone']}' of the capacity reservation '{request.reservation_id}'.",
        )
    inside = reservation.get("placementGroupArn") or ""
    if (group["arn"] if group is not None else "") != inside and (group is not None or inside):
        # A capacity block brings its own placement; a reservation made inside a group serves that group only
        # (EC2 User Guide, cr-cpg and capacity-blocks-using).
        raise Refusal(
            "InvalidParameterCombination",
            f"The capacity reservation '{request.reservation_id}' does not belong to the placement group "
            f"'{group['name'] if group is not None else ''}'.",
        )
    used = tx.count(kinds.INSTANCE, capacityReservationId=request.reservation_id)
    return (
        int(reservation["instanceCount"]) - used,
        Refusal(
            "ReservationCapacityExceeded",
            "The requested reservation does not have sufficient compatible and available capacity for this request.",
        ),
    )


def _start(
    tx: Transaction,
    request: Request,
    interfaces: tuple[Interface, ...],
    subnets: Mapping[str, Mapping[str, Any]],
    zone: str,
    group: Mapping[str, Any] | None,
    count: int,
    owner: str,
) -> list[str]:
    ids = new_ids(tx, "i", count)
    interface_ids = iter(new_ids(tx, "eni", count * len(interfaces)) if count else [])
    addresses = _addresses(tx, request, interfaces, count)
    stored_interfaces, instances = [], []
    for id in ids:
        mine = [_interface(tx, request, each, id, interface_ids, addresses, subnets) for each in interfaces]
        stored_interfaces += mine
        primary = next(
            stored for _, stored in mine if stored["deviceIndex"] == 0 and stored["networkCardIndex"] == 0
        )
        instances.append((id, _instance(tx, request, id, mine, primary, zone, group, owner)))
    tx.put_many(kinds.NETWORK_INTERFACE, stored_interfaces)
    tx.put_many(kinds.INSTANCE, instances)
    return ids


def _addresses(
    tx: Transaction, request: Request, interfaces: Iterable[Interface], count: int
) -> dict[str, Iterator[str]]:
    wanted: Counter[str] = Counter()
    for each in interfaces:
        if each.private_ip:
            check_address(tx, _subnet_of(tx, request, each), each.private_ip)
            wanted[_subnet_of(tx, request, each)] += each.addresses - 1
        elif each.addresses:
            wanted[_subnet_of(tx, request, each)] += each.addresses
    taken = {each.private_ip for each in interfaces if each.private_ip}
    return {
        subnet_id: iter(
            [each for each in allocate(tx, subnet_id, number * count + len(taken)) if each not in taken]
            if taken
            else allocate(tx, subnet_id, number * count)
        )
        for subnet_id, number in wanted.items()
    }


def _interface(
    tx: Transaction,
    request: Request,
    each: Interface,
    instance_id: str,
    ids: Iterator[str],
    addresses: Mapping[str, Iterator[str]],
    subnets: Mapping[str, Mapping[str, Any]],
) -> tuple[str, dict[str, Any]]:
    attachment = {
        "instanceId": instance_id,
        "deviceIndex": each.device,
        "networkCardIndex": each.card,
        "attachmentId": new_id(tx, "eni-attach"),
        "deleteOnTermination": each.delete_on_termination,
    }
    if each.existing:
        stored = network_interface(tx, each.existing)
        if stored.get("instanceId"):
            raise Refusal("InvalidNetworkInterface.InUse", f"Interface: [{each.existing}] in use.")
        next(ids)
        return each.existing, {**stored, **attachment}
    subnet_id = _subnet_of(tx, request, each)
    subnet = subnets[subnet_id]
    own = [each.private_ip] if each.private_ip else []
    own += [next(addresses[subnet_id]) for _ in range(each.addresses - len(own))]
    id = next(ids)
    groups = list(each.groups) or [_default_group(tx, subnet["vpcId"])]
    return id, {
        "id": id,
        "arn": arn("ec2", request.region, f"network-interface/{id}"),
        "interfaceType": each.kind,
        "subnetId": subnet_id,
        "vpcId": subnet["vpcId"],
        "availabilityZone": subnet["availabilityZone"],
        "privateIp": own[0] if own else "",
        "privateIps": own,
        "securityGroups": groups,
        "ownerId": ACCOUNT,
        "region": request.region,
        **attachment,
    }


def _default_group(tx: Transaction, vpc_id: str) -> str:
    return next(id for id, group in tx.find(kinds.SECURITY_GROUP, vpcId=vpc_id) if group.get("isDefault"))


def _instance(
    tx: Transaction,
    request: Request,
    id: str,
    interfaces: list[tuple[str, dict[str, Any]]],
    primary: Mapping[str, Any],
    zone: str,
    group: Mapping[str, Any] | None,
    owner: str,
) -> dict[str, Any]:
    address = primary["privateIp"]
    return {
        "id": id,
        "arn": arn("ec2", request.region, f"instance/{id}"),
        "instanceState": "running",
        "instanceType": request.instance_type,
        "ami": images.resolve(tx, request.image_id, request.region),
        "availabilityZone": zone,
        "subnetId": primary["subnetId"],
        "vpcId": primary["vpcId"],
        "vpcSecurityGroupIds": primary["securityGroups"],
        "primaryNetworkInterfaceId": primary["id"],
        "privateIp": address,
        "privateDns": private_dns(address, request.region),
        "publicIp": _public_ip(tx, request, primary, len(interfaces)),
        "placementGroup": group["name"] if group is not None else "",
        "placementGroupId": group["placementGroupId"] if group is not None else "",
        "capacityReservationId": request.reservation_id,
        "marketType": request.market,
        "iamInstanceProfile": request.profile.rpartition("/")[2],
        "keyName": request.key_name,
        "region": request.region,
        "tags": dict(request.tags),
        "launchTemplateId": request.template[0],
        "launchTemplateVersion": request.template[1],
        "parentId": owner,
    }


def _public_ip(tx: Transaction, request: Request, primary: Mapping[str, Any], interfaces: int) -> str:
    """The public address that the request or the subnet asks for.

    An instance with several interfaces gets none from its subnet's setting, and no error either
    (aws/aws-parallelcluster pull request 7457): it starts without a way out.
    """
    asked = next((each.public for each in request.interfaces if each.public is not None), request.public)
    if asked is None:
        asked = (
            bool(tx.need(kinds.SUBNET, primary["subnetId"]).get("mapPublicIpOnLaunch")) and interfaces == 1
        )
    return public_address(tx) if asked else ""


def public_address(tx: Transaction) -> str:
    """A public address out of the range kept for documentation (RFC 5737, 203.0.113.0/24), then out of 198.18/15."""
    number = tx.next("publicAddress")
    return f"203.0.113.{number}" if number < 255 else f"198.18.{number // 256 % 256}.{number % 256}"


def private_dns(address: str, region: str) -> str:
    """``ip-10-0-0-4.ec2.internal`` in us-east-1, with the region's name elsewhere (VPC User Guide, vpc-dns)."""
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-{address.replace('.', '-')}.{domain}" if address else ""


def terminate(tx: Transaction, id: str) -> None:
    """End an instance: its own interfaces go with it, others become free."""
    for interface_id, stored in tx.find(kinds.NETWORK_INTERFACE, instanceId=id):
        if stored.get("deleteOnTermination"):
            tx.remove(kinds.NETWORK_INTERFACE, interface_id)
        else:
            detached = (
                "instanceId",
                "deviceIndex",
                "networkCardIndex",
                "attachmentId",
                "deleteOnTermination",
            )
            tx.put(
                kinds.NETWORK_INTERFACE,
                interface_id,
                {key: value for key, value in stored.items() if key not in detached},
            )
    tx.remove(kinds.INSTANCE, id)
