"""What exists already is used and not made again: of each kind that a cluster can adopt, none is created, and its id
stands where the new one's would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pulumi
import pytest

from gpu_fabric.components.aws import AwsGpuCluster
from gpu_fabric.components.azure import ids
from gpu_fabric.components.problems import InvalidInputError
from tests.components.recorder import Recording, record, record_azure_cluster, record_cluster
from tests.components.test_interconnect import (
    ASSOCIATION,
    CIRCUIT,
    CIRCUIT_STATE,
    CONFIRMATION,
    PEERING,
    SECOND,
    link,
)
from tests.components.test_interconnect_checks import LINK, MANUAL

ROW = "/subscriptions/s/resourceGroups/their-group/providers"
SUBNET = f"{ROW}/Microsoft.Network/virtualNetworks/theirs/subnets/nodes"
SECURITY_GROUP = f"{ROW}/Microsoft.Network/networkSecurityGroups/theirs"
PROXIMITY = f"{ROW}/Microsoft.Compute/proximityPlacementGroups/theirs"
IDENTITY = f"{ROW}/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
KEYS = f"{ROW}/Microsoft.Compute/diskEncryptionSets/theirs"

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGb9mdxj6nZ0C1oZ2Vn0p1o5d3c1cPZr1f2y3x4z5w6v"

TEMPLATE, FLEET = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
AWS_NETWORK = {"vpc_id": "vpc-1", "subnet_id": "subnet-1"}


def aws(**changes: Any) -> Recording:
    return record_cluster({"zone": "us-east-1a", "instance_type": "p5.48xlarge", "nodes": 2, **changes})


def azure(**changes: Any) -> Recording:
    return record_azure_cluster({"vm_size": "Standard_ND96isr_H100_v5", "nodes": 2, **changes})


def _interfaces(recording: Recording) -> list[Any]:
    profile = recording.one(SCALE_SET).inputs["virtualMachineProfile"]
    return profile["networkProfile"]["networkInterfaceConfigurations"]


class Adopted(NamedTuple):
    make: Callable[..., Recording]
    args: Mapping[str, Any]
    made_otherwise: tuple[str, ...]
    """Types that a cluster of its own would create."""
    found: Callable[[Recording], Any]
    """Where the adopted thing stands."""
    expected: Any


CASES: Mapping[str, Adopted] = {
    "VPC and subnet": Adopted(
        aws,
        {"network": AWS_NETWORK},
        (
            "aws:ec2/vpc:Vpc",
            "aws:ec2/subnet:Subnet",
            "aws:ec2/routeTable:RouteTable",
            "aws:ec2/natGateway:NatGateway",
            "aws:ec2/internetGateway:InternetGateway",
        ),
        lambda made: (
            made.one("aws:ec2/securityGroup:SecurityGroup").inputs["vpcId"],
            made.one(FLEET).inputs["vpcZoneIdentifiers"],
        ),
        ("vpc-1", ["subnet-1"]),
    ),
    "security groups of AWS": Adopted(
        aws,
        {"network": {**AWS_NETWORK, "security_group_ids": ["sg-1", "sg-2"]}},
        (
            "aws:ec2/securityGroup:SecurityGroup",
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        ),
        lambda made: {tuple(one["securityGroups"]) for one in made.one(TEMPLATE).inputs["networkInterfaces"]},
        {("sg-1", "sg-2")},
    ),
    "placement group": Adopted(
        aws,
        {"placement": {"group": "adopt", "name": "theirs"}},
        ("aws:ec2/placementGroup:PlacementGroup",),
        lambda made: made.one(TEMPLATE).inputs["placement"],
        {"groupName": "theirs"},
    ),
    "role of AWS": Adopted(
        aws,
        {"access": {"instance_profile_name": "theirs"}},
        (
            "aws:iam/role:Role",
            "aws:iam/rolePolicy:RolePolicy",
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "aws:iam/instanceProfile:InstanceProfile",
        ),
        lambda made: made.one(TEMPLATE).inputs["iamInstanceProfile"],
        {"name": "theirs"},
    ),
    "reservation": Adopted(
        aws,
        {"capacity": {"kind": "reservation", "reservation_id": "cr-1"}},
        ("aws:ec2/capacityReservation:CapacityReservation",),
        lambda made: made.one(TEMPLATE).inputs["capacityReservationSpecification"],
        {"capacityReservationTarget": {"capacityReservationId": "cr-1"}},
    ),
    "resource group": Adopted(
        azure,
        {"resource_group": "their-group"},
        ("azure-native:resources:ResourceGroup",),
        lambda made: {one.inputs.get("resourceGroupName", "their-group") for one in made.custom},
        {"their-group"},
    ),
    "virtual network and subnet": Adopted(
        azure,
        {"network": {"subnet_id": SUBNET, "subnet_cidr": "10.200.0.0/24"}},
        (
            "azure-native:network:VirtualNetwork",
            "azure-native:network:Subnet",
            "azure-native:network:NatGateway",
            "azure-native:network:PublicIPAddress",
        ),
        lambda made: _interfaces(made)[0]["ipConfigurations"][0]["subnet"],
        {"id": SUBNET},
    ),
    "security group of Azure": Adopted(
        azure,
        {"network": {"subnet_id": SUBNET, "security_group_id": SECURITY_GROUP}},
        ("azure-native:network:NetworkSecurityGroup",),
        lambda made: _interfaces(made)[0]["networkSecurityGroup"],
        {"id": SECURITY_GROUP},
    ),
    "proximity placement group": Adopted(
        azure,
        {"placement": {"id": PROXIMITY}},
        ("azure-native:compute:ProximityPlacementGroup",),
        lambda made: made.one(SCALE_SET).inputs["proximityPlacementGroup"],
        {"id": PROXIMITY},
    ),
    "identity": Adopted(
        azure,
        {"access": {"identity_id": IDENTITY}},
        (
            "azure-native:managedidentity:UserAssignedIdentity",
            "azure-native:authorization:RoleAssignment",
        ),
        lambda made: made.one(SCALE_SET).inputs["identity"]["userAssignedIdentities"],
        [IDENTITY],
    ),
    "disk encryption set": Adopted(
        azure,
        {"root_volume": {"disk_encryption_set_id": KEYS}},
        ("azure-native:compute:DiskEncryptionSet",),
        lambda made: made.one(SCALE_SET).inputs["virtualMachineProfile"]["storageProfile"]["osDisk"][
            "managedDisk"
        ]["diskEncryptionSet"],
        {"id": KEYS},
    ),
    "SSH key": Adopted(
        azure,
        {
            "access": {
                "ssh_public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGb9mdxj6nZ0C1oZ2Vn0p1o5d3c1cPZr1f2y3x4z5w6v"
            }
        },
        ("tls:index/privateKey:PrivateKey",),
        lambda made: made.outputs["ssh_private_key"],
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_exists_is_used_and_none_of_its_kind_is_made(case: str) -> None:
    make, args, made_otherwise, found, expected = CASES[case]
    recording = make(**args)
    assert {one.type for one in recording.custom} & set(made_otherwise) == set()
    assert found(recording) == expected


def test_an_existing_transit_gateway_gets_the_attachment_the_routes_and_the_association() -> None:
    made = link({"awsGateway": "transit", "awsTransitGatewayId": "tgw-1"})
    assert made.of_type("aws:ec2transitgateway/transitGateway:TransitGateway") == []
    attachment = made.one("aws:ec2transitgateway/vpcAttachment:VpcAttachment").inputs
    assert attachment["transitGatewayId"] == "tgw-1"
    ways = [one.inputs.get("transitGatewayId") for one in made.of_type("aws:ec2/route:Route")]
    assert "tgw-1" in ways
    assert made.one(ASSOCIATION).inputs["associatedGatewayId"] == "tgw-1"
    assert any("the gateway keeps its own ASN" in text for _, text in made.messages)


def test_existing_direct_connect_connections_get_the_interfaces() -> None:
    made = link(SECOND, base=MANUAL)
    assert made.of_type("aws:directconnect/connection:Connection") == []
    assert [one.inputs["connectionId"] for one in made.of_type(CONFIRMATION)] == ["dxcon-00000007"]


THEIR_CIRCUIT = f"{ROW}/Microsoft.Network/expressRouteCircuits/theirs"


@pytest.mark.parametrize(
    ("change", "base"),
    [({"circuit": {"id": THEIR_CIRCUIT}}, LINK), ({**SECOND, "circuit": {"id": THEIR_CIRCUIT}}, MANUAL)],
)
def test_an_existing_circuit_gets_the_peering_by_its_own_name_and_group(
    change: dict[str, Any], base: dict[str, Any]
) -> None:
    made = link(change, base=base)
    assert made.of_type(CIRCUIT) == []
    assert [one.name for one in made.of_type("azure-native:resources:ResourceGroup")] == ["train-azure"]
    peering = made.one(PEERING).inputs
    assert (peering["resourceGroupName"], peering["peeringName"]) == ("their-group", "AzurePrivatePeering")
    asked = [one.arguments for one in made.invokes if one.token == CIRCUIT_STATE]
    assert any(
        {"circuitName": "theirs", "resourceGroupName": "their-group"}.items() <= one.items() for one in asked
    )
    assert any(
        "makes a private peering on this circuit, which may have none yet" in t for _, t in made.messages
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"circuit": {"id": "theirs"}},
            "interconnect.circuit.id: is not the id of an ExpressRoute circuit; give it as "
            "/subscriptions/…/expressRouteCircuits/… (`az network express-route show --query id`)",
        ),
        (
            {"circuit": {"id": f"{ROW}/Microsoft.Network/virtualNetworks/theirs"}},
            "interconnect.circuit.id: is not the id of an ExpressRoute circuit",
        ),
        (
            {"partner": "native", "bandwidthMbps": 1_000, "circuit": {"id": THEIR_CIRCUIT}},
            "interconnect.circuit.id: the native interconnect has no circuit; drop the key",
        ),
        (
            {"awsTransitGatewayId": "tgw-1"},
            "interconnect.awsTransitGatewayId: a transit gateway is given, and `awsGateway` is virtualPrivate; set "
            "`awsGateway: transit`, or drop the key",
        ),
        (
            {"awsGateway": "transit", "awsTransitGatewayId": "vgw-1"},
            "interconnect.awsTransitGatewayId: is not the id of a transit gateway; give it as AWS shows it, tgw-…",
        ),
    ],
)
def test_a_gateway_or_a_circuit_that_is_none_or_not_asked_for_is_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        link(change)
    assert message in str(refused.value)


def test_a_cluster_that_adopts_nothing_makes_most_of_these_kinds() -> None:
    own = {one.type for recording in (aws(), azure()) for one in recording.custom}
    kinds = {kind for case in CASES.values() for kind in case.made_otherwise}
    # What is never made, or by choice only: reservations, keys of disks, identities, proximity groups.
    assert kinds - own == {
        "aws:ec2/capacityReservation:CapacityReservation",
        "azure-native:authorization:RoleAssignment",
        "azure-native:compute:DiskEncryptionSet",
        "azure-native:compute:ProximityPlacementGroup",
        "azure-native:managedidentity:UserAssignedIdentity",
    }


def problem(make: Callable[..., Recording], **changes: Any) -> str:
    with pytest.raises(InvalidInputError) as refused:
        make(**changes)
    (line,) = str(refused.value).splitlines()[1:]
    return line.strip()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"network": {"subnet_id": SECURITY_GROUP, "subnet_cidr": "10.200.0.0/24"}},
            f"network.subnet_id: {SECURITY_GROUP!r} is not the resource id of a subnet; give "
            "/subscriptions/…/virtualNetworks/…/subnets/… (`az network vnet subnet show --query id`)",
        ),
        (
            {"network": {"security_group_id": "theirs"}},
            "network.security_group_id: 'theirs' is not the resource id of a network security group; give "
            "/subscriptions/…/networkSecurityGroups/… (`az network nsg show --query id`)",
        ),
        (
            {"placement": {"id": f"{ROW}/Microsoft.Compute/availabilitySets/theirs"}},
            f"placement.id: '{ROW}/Microsoft.Compute/availabilitySets/theirs' is not the resource id of a proximity "
            "placement group; give /subscriptions/…/proximityPlacementGroups/… (`az ppg show --query id`)",
        ),
        (
            {"access": {"identity_id": "train-nodes"}},
            "access.identity_id: 'train-nodes' is not the resource id of a user-assigned "
            "identity; give /subscriptions/…/userAssignedIdentities/… (`az identity show --query id`)",
        ),
        (
            {"root_volume": {"disk_encryption_set_id": f"{KEYS}/"}},
            f"root_volume.disk_encryption_set_id: '{KEYS}/' is not the resource id of a disk encryption set; give "
            "/subscriptions/…/diskEncryptionSets/… (`az disk-encryption-set show --query id`)",
        ),
        (
            {"resource_group": "/subscriptions/s/resourceGroups/theirs"},
            "resource_group: '/subscriptions/s/resourceGroups/theirs' is not the name of a resource group; give its "
            "name alone: 1 to 90 letters, digits, `_`, `-`, `.` and parentheses, not ending in a period (`az group "
            "list --query [].name`)",
        ),
    ],
)
def test_an_id_of_azure_that_names_something_else_is_refused(changes: dict[str, Any], message: str) -> None:
    assert problem(azure, **changes) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"network": {"vpc_id": "subnet-1", "subnet_id": "subnet-1"}},
            "network.vpc_id: 'subnet-1' is not such an id; give one that begins with vpc-",
        ),
        (
            {"network": {**AWS_NETWORK, "subnet_id": "10.0.0.0/24"}},
            "network.subnet_id: '10.0.0.0/24' is not such an id; give one that begins with subnet-",
        ),
        (
            {"network": {**AWS_NETWORK, "security_group_ids": ["sg-1", "default"]}},
            "network.security_group_ids[1]: 'default' is not such an id; give one that begins with sg-",
        ),
        (
            {"capacity": {"kind": "reservation", "reservation_id": "r-1"}},
            "capacity.reservation_id: 'r-1' is not such an id; give one that begins with cr-",
        ),
    ],
)
def test_an_id_of_aws_that_names_something_else_is_refused(changes: dict[str, Any], message: str) -> None:
    assert problem(aws, **changes) == message


@pytest.mark.parametrize(
    ("name", "fits"),
    [("a", True), ("a" * 90, True), ("a" * 91, False), ("ends.", False), ("(my)-group_1.b", True)],
)
def test_the_name_of_a_resource_group_at_its_borders(name: str, fits: bool) -> None:
    if fits:
        assert azure(resource_group=name).custom
    else:
        assert "is not the name of a resource group" in problem(azure, resource_group=name)


def test_azures_names_are_compared_without_regard_to_case() -> None:
    assert ids.SUBNET.matches(
        SUBNET.replace("resourceGroups", "resourcegroups").replace("Microsoft", "microsoft")
    )


def test_ids_that_another_resource_gives_are_not_looked_at() -> None:
    def program() -> None:
        later = pulumi.Output.from_input("whatever the cloud says")
        AwsGpuCluster(
            "train",
            {
                "zone": "us-east-1a",
                "instance_type": "p5.48xlarge",
                "nodes": 2,
                "network": {"vpc_id": later, "subnet_id": later},
            },
        )

    assert record(program).one(FLEET).inputs["vpcZoneIdentifiers"] == ["whatever the cloud says"]
