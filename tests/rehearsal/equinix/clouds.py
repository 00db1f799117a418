"""A partner between two clouds, and short ways to ask for its lines."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_fabric.rehearsal import sessions

from ..aws import link as aws_link
from ..azure import link as azure_link
from ..azure.world import World, merged
from ..small_engine import Failed, Resource, SmallEngine

ROUTER = "equinix:fabric/cloudRouter:CloudRouter"
CONNECTION = "equinix:fabric/connection:Connection"
PROTOCOL = "equinix:fabric/routingProtocol:RoutingProtocol"
ACCOUNT = "123456789012"
NOTES = [{"type": "ALL", "emails": ["net@example.com"]}]


class Clouds:
    """The three engines, a router in Ashburn and a circuit that waits for its provider."""

    def __init__(self, aws: SmallEngine, azure: World, equinix: SmallEngine) -> None:
        self.aws, self.azure, self.equinix = aws, azure, equinix
        self.router = equinix.up(ROUTER, "router", router())
        self.circuit = azure.up(azure_link.CIRCUIT, "link", azure_link.circuit())

    def profile(self, name: str) -> str:
        found = self.equinix.invoke(
            "equinix:fabric/getServiceProfiles:getServiceProfiles",
            filter={"property": "/name", "operator": "=", "values": [name]},
        )
        return found["data"][0]["uuid"]

    def to_aws(self, **change: Any) -> dict[str, Any]:
        """The inputs of a connection from the router to AWS."""
        return self._connection(
            {
                "profile": {"type": "L2_PROFILE", "uuid": self.profile("AWS Direct Connect")},
                "authenticationKey": ACCOUNT,
                "sellerRegion": "us-east-1",
            },
            {"name": "to-aws", **change},
        )

    def to_azure(self, **change: Any) -> dict[str, Any]:
        """The inputs of a connection from the router to the circuit."""
        return self._connection(
            {
                "profile": {"type": "L2_PROFILE", "uuid": self.profile("Azure ExpressRoute")},
                "authenticationKey": self.circuit["serviceKey"],
                "peeringType": "PRIVATE",
            },
            {"name": "to-azure", **change},
        )

    def _connection(self, z_side: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
        point = {"type": "SP", "location": {"metroCode": "DC"}, **z_side}
        return merged(
            {
                "type": "IP_VC",
                "bandwidth": 10000,
                "notifications": NOTES,
                "aSide": {"accessPoint": {"type": "CLOUD_ROUTER", "router": {"uuid": self.router.id}}},
                "zSide": {"accessPoint": point},
            },
            change,
        )

    def up(self, token: str, name: str, inputs: dict[str, Any]) -> Resource:
        return self.equinix.up(token, name, inputs)

    def refused(self, token: str, name: str, inputs: dict[str, Any]) -> str:
        before = self.equinix.store.dump()
        with pytest.raises(Failed) as failed:
            self.equinix.up(token, name, inputs)
        assert self.equinix.store.dump() == before
        return failed.value.text

    def direct(self, connection: Resource, address: str) -> dict[str, Any]:
        return {
            "connectionUuid": connection.id,
            "type": "DIRECT",
            "directIpv4": {"equinixIfaceIp": address},
        }

    def bgp(self, connection: Resource, peer: str, asn: int, key: str = "") -> dict[str, Any]:
        inputs = {
            "connectionUuid": connection.id,
            "type": "BGP",
            "bgpIpv4": {"customerPeerIp": peer},
            "customerAsn": asn,
        }
        return inputs | ({"bgpAuthKey": key} if key else {})

    def sessions(self) -> dict[str, tuple[str, ...]]:
        """The reasons why each cloud's session is down, by cloud and port; empty where it is up."""
        with self.equinix.store.transaction("equinix") as tx:
            return {
                f"{each.cloud}{'/' if each.port else ''}{each.port}": each.reasons
                for each in sessions.sessions(tx)
            }

    def set_circuit(self, state: str) -> None:
        azure_link.set_state(self.azure, self.circuit, state)

    def whole(self, key: str = "correct-horse-battery") -> None:
        """Both ends of both sessions, in the order in which they can be made."""
        aws, azure = self.aws, self.azure
        line = self.up(CONNECTION, "to-aws", self.to_aws())
        id = line["zSide"]["accessPoint"]["providerConnectionId"]
        aws.up(aws_link.CONFIRMATION, "yes", connectionId=id)
        gateway = aws.up(aws_link.GATEWAY, "dx", amazonSideAsn="64512")
        vif = aws_link.vif(
            id,
            gateway.id,
            bgpAsn=self.router["equinixAsn"],
            vlan=line["zSide"]["accessPoint"]["linkProtocol"]["vlanTag"],
            amazonAddress="169.254.7.1/30",
            customerAddress="169.254.7.2/30",
            bgpAuthKey=key,
        )
        aws.up(aws_link.PRIVATE, "vif", vif)
        self.up(PROTOCOL, "aws-direct", self.direct(line, "169.254.7.2/30"))
        self.up(PROTOCOL, "aws-bgp", self.bgp(line, "169.254.7.1", 64512, key))
        other = self.up(CONNECTION, "to-azure", self.to_azure())
        azure.up(
            azure_link.PEERING,
            "peering",
            azure_link.peering(peerASN=self.router["equinixAsn"], sharedKey=key),
        )
        self.up(PROTOCOL, "azure-direct", self.direct(other, "192.168.15.17/30"))
        self.up(PROTOCOL, "azure-bgp", self.bgp(other, "192.168.15.18", 12076, key))


def router(**change: Any) -> dict[str, Any]:
    """The inputs of a cloud router in Ashburn."""
    return merged(
        {
            "type": "XF_ROUTER",
            "name": "fabric",
            "location": {"metroCode": "DC"},
            "package": {"code": "STANDARD"},
            "project": {"projectId": "291639000636552"},
            "notifications": NOTES,
        },
        change,
    )
