"""The rules for an Azure cluster: for each, an input that passes, one at the border, and one that fails."""

from __future__ import annotations

import hashlib
from typing import Any

import pulumi
import pytest

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.problems import InvalidInputError
from tests.components.recorder import record

GOOD: dict[str, Any] = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4}
WITH_INFINIBAND = (
    "Standard_ND96asr_v4, Standard_ND96amsr_A100_v4, Standard_ND96isr_H100_v5, Standard_ND96isr_H200_v5"
)
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/theirs/subnets/nodes"
GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/proximityPlacementGroups/theirs"
SECURITY_GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/theirs"
IDENTITY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
)
KEY_OF_THEIRS = "-----BEGIN OPENSSH PRIVATE KEY-----\nSECRETSECRETSECRET\n-----END OPENSSH PRIVATE KEY-----"


def problems(*, location: str | None = "eastus", **changes: Any) -> list[str]:
    """What is wrong with a good cluster after `changes`, without the common beginning of the paths."""
    try:
        read_fabric({"azure": {**GOOD, **changes}}, azure_location=location)
    except InvalidInputError as refused:
        return [str(problem).removeprefix("fabric.azure.") for problem in refused.problems]
    return []


def test_the_smallest_description_of_a_cluster_is_enough() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"network": {"cidr": "172.16.0.0/12"}},
            "network.cidr: 172.16.0.0/12 overlaps 172.16.0.0/16, which Azure's RDMA network owns on every node; give "
            "another block, such as 10.200.0.0/16",
        ),
        (
            {"network": {"cidr": "172.16.255.0/24"}},
            "network.cidr: 172.16.255.0/24 overlaps 172.16.0.0/16, which Azure's RDMA network owns on every node; "
            "give another block, such as 10.200.0.0/16",
        ),
        (
            {"network": {"subnetId": SUBNET, "subnetCidr": "172.16.1.0/24"}},
            "network.subnetCidr: 172.16.1.0/24 overlaps 172.16.0.0/16, which Azure's RDMA network owns on every node; "
            "give another block, such as 10.200.0.0/16",
        ),
        (
            {"nodes": 101},
            "nodes: one scale set with a single placement group holds 100 nodes, and 101 are asked for; set `nodes` "
            "to 100 or less, or ask Azure's support for more (up to 300) and set `grantedNodes` to what it granted, or "
            "set `nodesAs: instances`, which holds 200; InfiniBand does not reach from one scale set to another",
        ),
        (
            {"nodes": 201},
            "nodes: one scale set with a single placement group holds 100 nodes, and 201 are asked for; set `nodes` "
            "to 100 or less, or ask Azure's support for more (up to 300) and set `grantedNodes` to what it granted; "
            "InfiniBand does not reach from one scale set to another",
        ),
        (
            {"nodes": 301, "grantedNodes": 300},
            "nodes: one scale set with a single placement group holds 300 nodes, and 301 are asked for; set `nodes` "
            "to 300 or less; InfiniBand does not reach from one scale set to another",
        ),
        (
            {"nodes": 201, "nodesAs": "instances"},
            "nodes: one availability set holds 200 nodes, and 201 are asked for; set `nodes` to 200 or less; "
            "InfiniBand does not reach from one availability set to another",
        ),
        (
            {"vmSize": "Standard_ND96is_H100_v5"},
            "vmSize: Standard_ND96is_H100_v5 is not laid out by this release; Standard_ND96is_H100_v5 has no "
            "InfiniBand: nodes would talk over Ethernet. Use Standard_ND96isr_H100_v5 (with `r`, for RDMA)",
        ),
        (
            {"vmSize": "Standard_ND128isr_NDR_GB200_v6"},
            "vmSize: Standard_ND128isr_NDR_GB200_v6 is not laid out by this release; The NVLink domain of GB200 spans "
            "nodes; this release lays out nodes whose NVLink ends at the node. Use Standard_ND96isr_H200_v5, or "
            "describe a size of your own in the stack file",
        ),
        (
            {"vmSize": "Standard_ND128isr_GB300_v6"},
            "vmSize: Standard_ND128isr_GB300_v6 is not laid out by this release; The NVLink domain of GB300 spans a "
            "rack of 18 VMs, which Azure places without a single placement group; this release lays out nodes whose "
            "NVLink ends at the node. Use Standard_ND96isr_H200_v5, or describe a size of your own in the stack file",
        ),
        (
            {"vmSize": "standard_nd96isr_h100_v5"},
            "vmSize: unknown size 'standard_nd96isr_h100_v5' in the catalog; did you mean Standard_ND96isr_H100_v5? "
            f"give one of {WITH_INFINIBAND}, or describe it under `fabric.sizes` with the catalog's fields",
        ),
        (
            {"vmSize": "p5.48xlarge"},
            f"vmSize: p5.48xlarge is an AWS instance type; give one of {WITH_INFINIBAND}",
        ),
        (
            {"capacity": {"kind": "reservation", "reservationId": "a"}},
            "capacity: Azure has no capacity reservation for ND sizes, and none for a scale set with a single "
            "placement group, a proximity group, an availability set or spot; set `kind: onDemand` or `kind: spot`, "
            "and ask Azure for quota",
        ),
        (
            {"capacity": {"kind": "spot"}, "nodesAs": "instances"},
            "capacity.kind: Azure offers no spot VMs in an availability set, and `nodesAs: instances` needs one for "
            "InfiniBand; set `nodesAs: fleet`, or `kind: onDemand`",
        ),
        (
            {"capacity": {"kind": "spot", "eviction": "hibernate"}},
            "capacity.eviction: 'hibernate' is not a choice; give one of 'deallocate' or 'delete'",
        ),
        (
            {"zone": "1", "placement": {"group": "create"}},
            "placement.intentSizes: is missing, and a proximity group in a zone (1) needs it; give the sizes of the "
            "group, such as [Standard_ND96isr_H100_v5], or drop `zone`",
        ),
        (
            {
                "placement": {
                    "group": "create",
                    "intentSizes": ["Standard_ND96isr_H100_v5", "Standard_ND96asr_v4"],
                }
            },
            "placement.intentSizes[1]: Standard_ND96asr_v4 and Standard_ND96isr_H100_v5 cannot share an InfiniBand "
            "partition: that is one scale set, and a scale set has one size; a proximity group gives them no more than "
            "a short way over Ethernet; drop it, and make one cluster for each size (a group made elsewhere can be "
            "adopted by both)",
        ),
        (
            {"placement": {"group": "create", "intentSizes": ["Standard_D64s_v5"]}},
            "placement.intentSizes: the nodes' own size Standard_ND96isr_H100_v5 is not among Standard_D64s_v5; add it",
        ),
        (
            {"placement": {"intentSizes": ["Standard_ND96isr_H100_v5"]}},
            "placement.intentSizes: sizes are given, and `group` is none; set `group: create`, or drop the sizes",
        ),
        (
            {"placement": {"group": "adopt"}},
            "placement.id: is missing; give the resource id of the proximity placement group",
        ),
        (
            {"placement": {"group": "create", "id": GROUP}},
            "placement.id: an id is given, and `group` is create; set `group: adopt`, or drop the id",
        ),
        (
            {"zone": "eastus-1"},
            "zone: 'eastus-1' is not an availability zone; give one of '1', '2', '3'",
        ),
        (
            {"zone": "2", "nodesAs": "instances"},
            "zone: an availability set has no zone, and `nodesAs: instances` needs one for InfiniBand; drop the key, "
            "or set `nodesAs: fleet`",
        ),
        (
            {"location": "east us!"},
            "location: 'east us!' is not the name of a region; give one such as eastus (`az account list-locations "
            "--query [].name` lists them)",
        ),
        (
            {"faultDomains": 4},
            "faultDomains: a scale set cannot have 4 fault domains; give one of 1, 2, 3, 5; 1 keeps the nodes together",
        ),
        (
            {"faultDomains": 5, "nodesAs": "instances"},
            "faultDomains: an availability set cannot have 5 fault domains; give one of 1, 2, 3; 1 keeps the nodes "
            "together",
        ),
        (
            {"network": {"cidr": "168.63.0.0/16"}},
            "network.cidr: 168.63.0.0/16 overlaps 168.63.129.16/32 (Azure's own DNS and agent), which no virtual "
            "network can hold; give another block, such as 10.200.0.0/16",
        ),
        (
            {"network": {"cidr": "10.0.0.0/30"}},
            "network.cidr: 10.0.0.0/30 is a /30; Azure takes a size between /2 and /29",
        ),
        (
            {"network": {"cidr": "10.0.0.1/16"}},
            "network.cidr: '10.0.0.1/16' is not an IPv4 address block (10.0.0.1/16 has host bits set); give "
            "10.0.0.0/16",
        ),
        (
            {"nodes": 12, "network": {"subnetCidr": "10.200.1.0/28"}},
            "network.subnetCidr: 10.200.1.0/28 has 11 usable addresses beside Azure's 5, and 12 nodes take one each; "
            "give a larger `subnetCidr`, or set `nodes` to 11 or less",
        ),
        (
            {"network": {"subnetCidr": "10.100.0.0/24"}},
            "network.subnetCidr: 10.100.0.0/24 is not inside the network 10.200.0.0/16; give a part of it",
        ),
        (
            {"network": {"bastion": True, "cidr": "10.0.0.0/24", "subnetCidr": "10.0.0.0/24"}},
            "network.bastion: 10.0.0.0/24 leaves no /26 free in 10.0.0.0/24 for Bastion's subnet; give a smaller "
            "`subnetCidr`, a larger `cidr`, or drop `bastion`",
        ),
        (
            {"network": {"bastion": True, "bastionSubnetCidr": "10.200.0.0/27"}},
            "network.bastionSubnetCidr: 10.200.0.0/27 is a /27; Bastion takes a /26 or larger",
        ),
        (
            {
                "network": {
                    "bastion": True,
                    "subnetCidr": "10.200.0.0/24",
                    "bastionSubnetCidr": "10.200.0.0/26",
                }
            },
            "network.bastionSubnetCidr: 10.200.0.0/26 overlaps the nodes' subnet 10.200.0.0/24; give another part of "
            "the network",
        ),
        (
            {"network": {"bastionSubnetCidr": "10.200.0.0/26"}},
            "network.bastionSubnetCidr: there is no Bastion; set `bastion: true`, or drop the key",
        ),
        (
            {"network": {"subnetId": SUBNET}},
            "network.subnetCidr: is missing, and a security group cannot allow the traffic between the nodes without "
            "it; give the subnet's block, or `securityGroupId` of a group that allows it",
        ),
        (
            {"network": {"subnetId": "nodes", "subnetCidr": "10.0.0.0/24"}},
            "network.subnetId: 'nodes' is not the resource id of a subnet; give "
            "/subscriptions/…/virtualNetworks/…/subnets/… (`az network vnet subnet show --query id`)",
        ),
        (
            {"network": {"subnetId": SUBNET, "subnetCidr": "10.0.0.0/24", "internet": "nat"}},
            "network.internet: an adopted subnet keeps its own network and routes; drop the key, or drop `subnetId` to "
            "create a network",
        ),
        (
            {"network": {"subnetId": SUBNET, "subnetCidr": "10.0.0.0/24", "bastion": True}},
            "network.bastion: a Bastion is made in a new network only; drop the key, or drop `subnetId` to create a "
            "network",
        ),
        (
            {"rootVolume": {"sizeGib": 4_096}},
            "rootVolume.sizeGib: 4096 GiB is too large; an OS disk holds 4095 GiB",
        ),
        (
            {"rootVolume": {"type": "UltraSSD_LRS"}},
            "rootVolume.type: 'UltraSSD_LRS' is not a choice; give one of 'Premium_LRS', 'Premium_ZRS', "
            "'StandardSSD_LRS', 'StandardSSD_ZRS' or 'Standard_LRS'",
        ),
        (
            {"image": {"urn": "ubuntu-hpc"}},
            "image.urn: 'ubuntu-hpc' is not a marketplace image; give publisher:offer:sku:version, such as "
            "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
        ),
        (
            {"image": {"urn": "microsoft-dsvm:ubuntu-hpc:2404:newest"}},
            "image.urn: 'newest' is not a version; give three numbers with points between them, such as "
            "24.04.2026072901, or `latest`",
        ),
        (
            {"image": {"urn": "a:b:c:1.2.3", "id": "/subscriptions/s/images/i"}},
            "image: `urn` and `id` exclude each other; keep the one you mean",
        ),
        (
            {"image": {"id": "microsoft-dsvm:ubuntu-hpc:2404:latest"}},
            "image.id: 'microsoft-dsvm:ubuntu-hpc:2404:latest' is not a resource id; give /subscriptions/…/images/… or "
            "…/versions/…; a marketplace image goes into `urn`",
        ),
        (
            {"access": {"adminUsername": "root"}},
            "access.adminUsername: Azure refuses the name 'root'; choose another one",
        ),
        (
            {"access": {"adminUsername": "Jane Doe"}},
            "access.adminUsername: 'Jane Doe' is not a user name; give up to 32 lower-case letters, digits, `_` and "
            "`-`, a letter or `_` first",
        ),
        (
            {"access": {"sshPublicKey": KEY_OF_THEIRS}},
            "access.sshPublicKey: a private key stands where a public one belongs; take it out, make a new pair (this "
            "one has been written down), and give the .pub file of the new one",
        ),
        (
            {"access": {"sshPublicKey": [KEY_OF_THEIRS]}},
            "access.sshPublicKey: this is not text; give the line of a .pub file in quotes",
        ),
        (
            {"access": {"findPeers": True, "identityId": IDENTITY}},
            "access.findPeers: the role is assigned to an identity that is made for it, and `identityId` names one of "
            "yours; drop the key and assign the role Reader to yours, or drop `identityId`",
        ),
        (
            {"access": {"findPeers": True}, "nodesAs": "instances"},
            "access.findPeers: with `nodesAs: instances` there is no scale set to read, and the program knows every "
            "address; drop the key",
        ),
        (
            {"vmSize": "Standard_ND96asr_v4", "security": {"trustedLaunch": True}},
            "security.trustedLaunch: Azure does not offer trusted launch for Standard_ND96asr_v4; drop the key",
        ),
        (
            {"vmSize": "Standard_ND96asr_v4", "security": {"secureBoot": True}},
            "security.secureBoot: Secure Boot needs trusted launch, which is off; drop the key",
        ),
        (
            {"tags": {"cost/center": "7"}},
            "tags.cost/center: Azure refuses / in a tag's name; choose another key",
        ),
    ],
)
def test_what_is_wrong_is_said_with_place_reason_and_remedy(changes: dict[str, Any], message: str) -> None:
    assert problems(**changes) == [message]


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": 100},
        {"nodes": 300, "grantedNodes": 300},
        {"nodes": 200, "nodesAs": "instances"},
        {"network": {"cidr": "172.17.0.0/16"}},
        {"network": {"cidr": "172.15.255.0/24"}},
        {"nodes": 11, "network": {"subnetCidr": "10.200.1.0/28"}},
        {"nodes": 3, "network": {"cidr": "10.0.0.0/29"}},
        {"network": {"bastion": True, "cidr": "10.0.0.0/25", "subnetCidr": "10.0.0.0/26"}},
        {"network": {"subnetId": SUBNET, "subnetCidr": "10.0.0.0/24"}},
        {
            "network": {
                "subnetId": SUBNET,
                "securityGroupId": SECURITY_GROUP,
            }
        },
        {"network": {"internet": "none"}},
        {"zone": "3"},
        {"zone": "1", "placement": {"group": "create", "intentSizes": ["Standard_ND96isr_H100_v5"]}},
        {
            "placement": {
                "group": "create",
                "intentSizes": ["Standard_D64s_v5", "Standard_ND96isr_H100_v5"],
            }
        },
        {"placement": {"id": GROUP}, "zone": "1"},
        {"capacity": {"kind": "spot", "maxPrice": 30, "eviction": "delete"}},
        {"faultDomains": 5},
        {"faultDomains": 3, "nodesAs": "instances"},
        {"rootVolume": {"sizeGib": 4_095}},
        {"rootVolume": {"sizeGib": 30, "type": "StandardSSD_ZRS"}},
        {"image": {"urn": "microsoft-dsvm:ubuntu-hpc:2204:latest"}},
        {"image": {"id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/mine"}},
        {"security": {"trustedLaunch": False, "encryptionAtHost": False}},
        {"security": {"secureBoot": True}},
        {"vmSize": "Standard_ND96asr_v4"},
        {"location": "West Europe"},
        {"resourceGroup": "theirs"},
        {"access": {"findPeers": True}},
        {"tags": {"cost:center": "7"}},
    ],
)
def test_what_is_legal_up_to_the_border_is_taken(changes: dict[str, Any]) -> None:
    assert problems(**changes) == []


def test_a_missing_location_is_said_with_both_places_for_it() -> None:
    assert problems(location=None) == [
        "location: is missing; give a region such as eastus, here or as azure-native:location"
    ]
    read_fabric({"azure": {**GOOD, "location": "eastus"}}, azure_location=None)


def test_a_region_may_be_written_as_the_portal_does() -> None:
    assert problems(location="East US 2") == []


def test_no_message_repeats_a_part_of_a_key() -> None:
    found = problems(access={"sshPublicKey": KEY_OF_THEIRS, "sshPrivateKey": KEY_OF_THEIRS}, vmSize=7)
    assert len(found) == 3
    assert not any("SECRET" in message for message in found)


def test_all_problems_are_said_at_once() -> None:
    found = problems(
        location=None,
        vmSize="Standard_ND96is_H200_v5",
        nodes=0,
        network={"cidr": "172.16.0.0/16"},
        capacity={"kind": "capacityBlock", "reservationId": "cr-1"},
        zone="4",
    )
    assert [message.partition(":")[0] for message in found] == [
        "capacity",
        "location",
        "network.cidr",
        "nodes",
        "vmSize",
        "zone",
    ]


def test_custom_data_that_is_too_large_is_refused_with_the_bytes() -> None:
    # Text that gzip cannot shrink to less than half: the digits of successive hashes.
    noise = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(2_500))
    (message,) = problems(bootstrap={"after": [f"echo {noise}"]})
    assert message.startswith("bootstrap.after: the node's start-up data is ")
    assert (
        " bytes after gzip, and Azure takes 65,535; move commands into a script that the node downloads"
        in message
    )
    assert int(message.split("data is ")[1].split(" bytes")[0].replace(",", "")) > 65_535
    # The same number of digits that EC2 refuses is well below Azure's limit.
    assert problems(bootstrap={"after": [f"echo {noise[: 600 * 64]}"]}) == []


def test_an_id_may_be_known_only_after_deployment() -> None:
    found: list[str] = []

    def program() -> None:
        later = pulumi.Output.from_input(SUBNET)
        found.extend(problems(network={"subnetId": later, "subnetCidr": "10.0.0.0/24"}))
        found.extend(problems(access={"sshPublicKey": later}))

    record(program)
    assert found == []


OWN_SIZE = {
    "cloud": "azure",
    "vcpus": 96,
    "memoryGib": 1900,
    "gpu": {"model": "X100", "count": 8, "memoryGb": 200, "computeCapability": 120, "gpudirectRdma": True},
    "fabric": "infiniband",
    "fabricPorts": 8,
    "fabricPortGbps": 800,
    "scaleSetNodes": 18,
    "singlePlacementGroup": False,
}


def test_a_size_of_the_users_own_brings_its_own_limit() -> None:
    def found(nodes: int) -> list[str]:
        given = {
            "sizes": {"Mine": OWN_SIZE},
            "azure": {"vmSize": "Mine", "nodes": nodes, "location": "eastus"},
        }
        try:
            read_fabric(given)
        except InvalidInputError as refused:
            return [problem.what for problem in refused.problems]
        return []

    assert found(18) == []
    assert found(19) == ["one scale set with a single placement group holds 18 nodes, and 19 are asked for"]
