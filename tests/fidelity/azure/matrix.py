"""The settings whose requests are judged: every value of every axis, and every combination where axes meet.

A node's request depends on size, capacity and on what declares the nodes: `size_cases` has every combination. Nodes,
network and security group depend on each other, and so do nodes, zone and proximity group: `surrounding_cases` has
every network and every placement with each way to declare the nodes. What is left meets nothing: `changed_cases` has
every value of it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from gpu_fabric.nccl.hardware import Cloud, Fabric, NodeSize, load_sizes
from tests.components import arm
from tests.components.recorder import Recording, record_azure_cluster
from tests.components.test_interconnect import link

NODES = 2
NODES_AS = ("fleet", "instances")
#: The size of everything that does not depend on it.
PLAIN_SIZE = "Standard_ND96isr_H200_v5"
#: What each way to declare the nodes can be sold as: an availability set has no spot VMs.
CAPACITIES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "fleet": {"onDemand": {"kind": "onDemand"}, "spot": {"kind": "spot"}},
    "instances": {"onDemand": {"kind": "onDemand"}},
}

_GROUP = f"/subscriptions/{arm.SUBSCRIPTION}/resourceGroups/theirs/providers"
_SUBNET = f"{_GROUP}/Microsoft.Network/virtualNetworks/theirs/subnets/nodes"
NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "nat": {"internet": "nat"},
    "no internet": {"internet": "none"},
    "nat and bastion": {"internet": "nat", "bastion": True},
    "adopted": {"subnet_id": _SUBNET, "subnet_cidr": "10.9.0.0/24"},
    "adopted group": {
        "subnet_id": _SUBNET,
        "security_group_id": f"{_GROUP}/Microsoft.Network/networkSecurityGroups/theirs",
    },
}
_ADOPTED_GROUP = {"group": "adopt", "id": f"{_GROUP}/Microsoft.Compute/proximityPlacementGroups/theirs"}
#: Title → settings. With a zone: fleets only.
PLACEMENTS: Mapping[str, Mapping[str, Any]] = {
    "none": {"placement": {"group": "none"}},
    "created": {"placement": {"group": "create"}},
    "created with intent": {
        "placement": {"group": "create", "intent_sizes": [PLAIN_SIZE, "Standard_D8s_v5"]}
    },
    "adopted": {"placement": _ADOPTED_GROUP},
}
PLACEMENTS_IN_A_ZONE: Mapping[str, Mapping[str, Any]] = {
    "none, in a zone": {"zone": "3"},
    "created with intent, in a zone": {
        "zone": "1",
        "placement": {"group": "create", "intent_sizes": [PLAIN_SIZE]},
    },
    "adopted, in a zone": {"zone": "2", "placement": _ADOPTED_GROUP},
}


def _without_patterns(characters: int) -> str:
    """Text that gzip does not make much shorter."""
    blocks = (hashlib.sha256(str(number).encode()).hexdigest() for number in range(characters // 64 + 1))
    return "".join(blocks)[:characters]


#: Changes of parameters that do not meet in a request, some to a case.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "floating image, smallest disk, adopted identity": {
        "image": {"urn": "canonical:ubuntu-24_04-lts:server:latest"},
        "root_volume": {"size_gib": 30, "type": "Premium_ZRS"},
        "access": {"identity_id": f"{_GROUP}/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"},
    },
    "own image, largest disk under an own key, given SSH key, long user name": {
        "image": {"id": f"{_GROUP}/Microsoft.Compute/galleries/theirs/images/training/versions/1.2.3"},
        "root_volume": {
            "size_gib": 4095,
            "type": "StandardSSD_LRS",
            "disk_encryption_set_id": f"{_GROUP}/Microsoft.Compute/diskEncryptionSets/theirs",
        },
        "access": {
            "ssh_public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBmcKEkaJ2Tn0YkaRSGVnwx7PYrnvYoWJQL1SEkL5mIh",
            "admin_username": "u" * 32,
        },
    },
    "no trusted launch, no encryption at host, own tags": {
        "security": {"trusted_launch": False, "encryption_at_host": False},
        "root_volume": {"type": "StandardSSD_ZRS"},
        "tags": {"team": "research", "cost center": "42 / A+B"},
    },
    "Secure Boot without vTPM, three fault domains, adopted resource group": {
        "security": {"secure_boot": True, "vtpm": False},
        "fault_domains": 3,
        "root_volume": {"type": "Standard_LRS"},
        "resource_group": "theirs",
    },
    "own variables, much custom data, updates replace nodes": {
        "nccl": {"environment": {"NCCL_DEBUG": "WARN"}, "topology": "installed"},
        "bootstrap": {"after": [f"echo {_without_patterns(90_000)} > /dev/null"]},
        "updates": "replace",
    },
    "own blocks": {
        "network": {
            "cidr": "10.64.0.0/20",
            "subnet_cidr": "10.64.8.0/24",
            "bastion": True,
            "bastion_subnet_cidr": "10.64.0.0/25",
        }
    },
}
#: The same for what only a fleet has.
CHANGES_OF_A_FLEET: Mapping[str, Mapping[str, Any]] = {
    "nodes find each other, as many as one set takes": {"access": {"find_peers": True}, "nodes": 100},
    "spot at a price, deleted": {"capacity": {"kind": "spot", "max_price": 40.5, "eviction": "delete"}},
    "as many nodes as support grants": {"nodes": 300, "granted_nodes": 300},
}


#: What the private link to the other cloud asks of Azure: title → change of a stack file's `interconnect`.
LINKS: Mapping[str, Mapping[str, Any]] = {
    "link, tier Local": {},
    "link, both ports, a key of one's own, isolated": {
        "redundancy": "circuit",
        "bgpKeyFrom": "bgpKey",
        "routeIsolation": True,
    },
    "link, small and metered": {"bandwidthMbps": 50, "gateway": {"zones": []}},
    "link, scale units and FastPath, tier Premium": {
        "circuit": {"tier": "Premium", "family": "UnlimitedData"},
        "gateway": {"sku": "ErGwScale", "scaleUnits": 10, "fastPath": True, "zones": ["1"]},
        "asns": {"partner": 4_200_000_000},
    },
}


class Case(NamedTuple):
    title: str
    settings: Mapping[str, Any]
    """Of an `AzureGpuCluster`, or for one of `LINKS` of a stack file's `interconnect`."""


def sizes() -> dict[str, NodeSize]:
    """The sizes that this release lays out."""
    return {
        name: size
        for name, size in load_sizes().items()
        if size.cloud is Cloud.AZURE and size.supported and size.fabric is Fabric.INFINIBAND
    }


def _settings(nodes_as: str, **more: Any) -> dict[str, Any]:
    return {"vm_size": PLAIN_SIZE, "nodes": NODES, "nodes_as": nodes_as, **more}


def size_cases(size: str) -> list[Case]:
    """A size in every capacity, as a fleet and as instances, in an adopted network."""
    return [
        Case(
            f"{size} {capacity} {nodes_as}",
            _settings(nodes_as, vm_size=size, capacity=settings, network=NETWORKS["adopted group"]),
        )
        for nodes_as in NODES_AS
        for capacity, settings in CAPACITIES[nodes_as].items()
    ]


def surrounding_cases(nodes_as: str) -> list[Case]:
    """Every network, and every placement in an adopted network."""
    placements = {**PLACEMENTS, **(PLACEMENTS_IN_A_ZONE if nodes_as == "fleet" else {})}
    return [
        *(
            Case(f"{nodes_as}, network {title}", _settings(nodes_as, network=network))
            for title, network in NETWORKS.items()
        ),
        *(
            Case(
                f"{nodes_as}, placement {title}",
                _settings(nodes_as, network=NETWORKS["adopted group"], **settings),
            )
            for title, settings in placements.items()
        ),
    ]


def changed_cases(nodes_as: str) -> list[Case]:
    """Each row of changes."""
    changes = {**CHANGES, **(CHANGES_OF_A_FLEET if nodes_as == "fleet" else {})}
    return [
        Case(f"{nodes_as}, {title}", {**_settings(nodes_as), **change}) for title, change in changes.items()
    ]


def link_cases() -> list[Case]:
    """Each row of links."""
    return [Case(title, change) for title, change in LINKS.items()]


#: Name of a part of the matrix → its cases. A part is what one test judges.
PARTS = {
    **{name: functools.partial(size_cases, name) for name in sizes()},
    **{f"surroundings of {kind}": functools.partial(surrounding_cases, kind) for kind in NODES_AS},
    **{f"changes to {kind}": functools.partial(changed_cases, kind) for kind in NODES_AS},
    "the private link": link_cases,
}


def recorded(case: Case) -> Recording:
    """What a case declares. Of a link it is the link's own part on Azure, and the network security rules beside it."""
    if case.title not in LINKS:
        return record_azure_cluster(case.settings)
    made = link(dict(case.settings))
    azure = [one for one in made.resources if one.type.startswith("azure-native:")]
    return replace(
        made,
        resources=[one for one in azure if "-link-" in one.name or one.type.endswith("NetworkSecurityGroup")],
    )
