"""The settings whose requests are judged: every value of every axis, and every combination where axes meet.

A node's launch template depends on size, interface layout and capacity: `node_cases` has every combination of these.
The placement group and the nodes depend on capacity and on what declares the nodes, and so does what waits for the
network: `surrounding_cases` has every combination of these with placement, and with network. What is left changes one
parameter each: `single_cases`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from gpu_fabric.nccl.hardware import Cloud, Fabric, NodeSize, load_sizes
from gpu_fabric.nccl.hardware.interfaces import possible_layouts
from tests.components.recorder import Recording, cloud_id, record_cluster

ZONE = "us-east-1a"
NODES = 2
#: A size with every kind of capacity, whose requests are short.
PLAIN_SIZE = "p5.4xlarge"

RESERVATION = cloud_id("cr", "reservation")
#: Kind → (the usage class that EC2 names for it, settings).
CAPACITIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "onDemand": ("on-demand", {"kind": "onDemand"}),
    "spot": ("spot", {"kind": "spot"}),
    "reservation": ("on-demand", {"kind": "reservation", "reservation_id": RESERVATION}),
    "capacityBlock": ("capacity-block", {"kind": "capacityBlock", "reservation_id": RESERVATION}),
}
NODES_AS = ("fleet", "instances")
ADOPTED_NETWORK: Mapping[str, Any] = {
    "vpc_id": cloud_id("vpc", "adopted"),
    "subnet_id": cloud_id("subnet", "adopted"),
}
NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "nat": {"internet": "nat"},
    "endpoints": {"internet": "endpoints"},
    "adopted": {**ADOPTED_NETWORK, "verify": True},
    "adopted groups": {
        **ADOPTED_NETWORK,
        "security_group_ids": [cloud_id("sg", "adopted"), cloud_id("sg", "second")],
    },
}
PLACEMENTS: Mapping[str, Mapping[str, Any]] = {
    "created": {"group": "create"},
    "adopted": {"group": "adopt", "name": "close-together"},
    "none": {"group": "none"},
}
#: One change of the settings each.
SINGLE: Mapping[str, Mapping[str, Any]] = {
    "pinned image": {"image": {"ami_id": cloud_id("ami", "image")}},
    "image parameter": {"image": {"ssm_parameter": "/images/training", "root_device": "/dev/xvda"}},
    "pinned image parameter": {"image": {"ssm_parameter": "/images/training:42"}},
    "updates replace nodes": {"updates": "replace"},
    "smallest volume": {"root_volume": {"size_gib": 1, "iops": 3000, "throughput_mibps": 125}},
    "largest volume": {"root_volume": {"size_gib": 65536, "iops": 80000, "throughput_mibps": 2000}},
    "own key": {
        "root_volume": {
            "kms_key_id": "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-1234-5678-9abc-0123456789ab"
        }
    },
    "spot price": {"capacity": {"kind": "spot", "max_price": 12.5}},
    "adopted profile and key pair": {"access": {"instance_profile_name": "trainers", "key_name": "ops"}},
    "more policies": {
        "access": {
            "extra_policy_arns": [
                "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess",
                "arn:aws:iam::123456789012:policy/team/read-datasets",
            ]
        }
    },
    "own tags": {"tags": {"team": "research", "cost center": "42 / A+B"}},
    "own variables and commands": {
        "nccl": {"environment": {"NCCL_DEBUG": "WARN"}, "topology": "installed"},
        "bootstrap": {"after": ["echo ready > /tmp/ready"]},
    },
    "own blocks": {
        "network": {
            "cidr": "172.30.0.0/20",
            "subnet_cidr": "172.30.8.0/24",
            "public_subnet_cidr": "172.30.0.0/28",
        }
    },
}


class Case(NamedTuple):
    title: str
    settings: Mapping[str, Any]


def sizes() -> dict[str, NodeSize]:
    """The sizes that this release lays out."""
    return {
        name: size
        for name, size in load_sizes().items()
        if size.cloud is Cloud.AWS and size.supported and size.fabric is Fabric.EFA
    }


def _settings(size: str, nodes_as: str, capacity: str, **more: Any) -> dict[str, Any]:
    return {
        "zone": ZONE,
        "instance_type": size,
        "nodes": NODES,
        "nodes_as": nodes_as,
        "capacity": CAPACITIES[capacity][1],
        **more,
    }


def _capacities(size: NodeSize) -> Iterator[str]:
    return (kind for kind, (usage, _) in CAPACITIES.items() if usage in size.usage_classes)


def node_cases(size_name: str) -> list[Case]:
    """Every layout × capacity as a fleet, and every layout as instances, in an adopted network, of one size."""
    size = sizes()[size_name]
    combinations = [
        *(
            (layout, capacity, "fleet")
            for layout, capacity in product(possible_layouts(size), _capacities(size))
        ),
        # Instances differ from a fleet by the subnet, which stands beside the interfaces.
        *((layout, "onDemand", "instances") for layout in possible_layouts(size)),
    ]
    return [
        Case(
            f"{size_name} {layout} {capacity} {nodes_as}",
            _settings(
                size_name,
                nodes_as,
                capacity,
                interfaces=layout.value,
                network=ADOPTED_NETWORK,
                access={"instance_profile_name": "trainers"},
            ),
        )
        for layout, capacity, nodes_as in combinations
    ]


def surrounding_cases(nodes_as: str) -> list[Case]:
    """Every placement × capacity in an adopted network, and every new or adopted network × capacity."""
    # A capacity block brings its own placement; our checks refuse a group with it.
    chosen = {kind: "none" if kind == "capacityBlock" else "created" for kind in CAPACITIES}
    combinations = {
        **dict.fromkeys(
            (capacity, "adopted", placement)
            for capacity, placement in product(CAPACITIES, PLACEMENTS)
            if capacity != "capacityBlock" or placement == "none"
        ),
        **dict.fromkeys(
            (capacity, network, chosen[capacity]) for capacity, network in product(CAPACITIES, NETWORKS)
        ),
    }
    return [
        Case(
            f"{nodes_as} {capacity}, network {network}, placement {placement}",
            _settings(
                PLAIN_SIZE, nodes_as, capacity, network=NETWORKS[network], placement=PLACEMENTS[placement]
            ),
        )
        for capacity, network, placement in combinations
    ]


def single_cases(nodes_as: str) -> list[Case]:
    """Each single change."""
    return [
        Case(f"{nodes_as}, {title}", {**_settings(PLAIN_SIZE, nodes_as, "onDemand"), **change})
        for title, change in SINGLE.items()
    ]


#: Name of a part of the matrix → its cases. A part is what one test judges.
PARTS = {
    **{name: functools.partial(node_cases, name) for name in sizes()},
    **{f"surroundings of {kind}": functools.partial(surrounding_cases, kind) for kind in NODES_AS},
    **{f"single changes to {kind}": functools.partial(single_cases, kind) for kind in NODES_AS},
}


def recorded(case: Case) -> Recording:
    """What a case declares."""
    return record_cluster(case.settings, answers={"aws:ec2/getSubnet:getSubnet": {"availabilityZone": ZONE}})
