"""The network that most tests of instances stand on, and the interface lists they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .small_engine import Resource, SmallEngine

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
FLEET = "aws:autoscaling/group:Group"
INSTANCE = "aws:ec2/instance:Instance"
INTERFACE = "aws:ec2/networkInterface:NetworkInterface"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
IMAGE = "ami-0123456789abcdef0"


@dataclass
class Fabric:
    """A VPC with one subnet and one security group, and the short ways to a template and its fleet."""

    cloud: SmallEngine
    vpc: Resource
    subnet: Resource
    group: Resource

    def template(self, name: str = "node", /, **data: Any) -> Resource:
        """A launch template; p5.48xlarge unless said otherwise."""
        return self.cloud.up(TEMPLATE, name, {"instanceType": "p5.48xlarge", "imageId": IMAGE, **data})

    def fleet(self, template: Resource, nodes: int, name: str = "fleet", /, **more: Any) -> Resource:
        """An Auto Scaling group of a fixed size in the subnet."""
        inputs = {
            "minSize": nodes,
            "maxSize": nodes,
            "desiredCapacity": nodes,
            "vpcZoneIdentifiers": [self.subnet.id],
            "launchTemplate": {"id": template.id, "version": str(template["latestVersion"])},
            **more,
        }
        return self.cloud.up(FLEET, name, inputs)

    def nodes(self) -> list[dict[str, Any]]:
        """Every running instance."""
        return [each["properties"] for each in self.cloud.store.dump() if each["kind"] == INSTANCE]

    def interfaces(self) -> list[dict[str, Any]]:
        """Every network interface."""
        return [each["properties"] for each in self.cloud.store.dump() if each["kind"] == INTERFACE]


def layout(*places: tuple[int, int, str], **more: Any) -> list[dict[str, Any]]:
    """Template interfaces at (card, device, type)."""
    return [
        {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind, **more}
        for card, device, kind in places
    ]


def p5(cards: int = 32, **more: Any) -> list[dict[str, Any]]:
    """The layout that saves addresses: one ENA interface, and an EFA on every card."""
    rest = [(card, 0, "efa-only") for card in range(1, cards)]
    return layout((0, 0, "interface"), (0, 1, "efa-only"), *rest, **more)


def make(cloud: SmallEngine, cidr: str = "10.100.1.0/24") -> Fabric:
    """The fabric in us-east-1a."""
    vpc = cloud.up(VPC, "net", cidrBlock="10.100.0.0/16", enableDnsHostnames=True)
    subnet = cloud.up(SUBNET, "private", vpcId=vpc.id, cidrBlock=cidr, availabilityZone="us-east-1a")
    group = cloud.up(GROUP, "efa", vpcId=vpc.id)
    return Fabric(cloud, vpc, subnet, group)
