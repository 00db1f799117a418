"""The tokens of the types that other subjects' files ask for."""

ROUTER = "equinix:fabric/cloudRouter:CloudRouter"
CONNECTION = "equinix:fabric/connection:Connection"
PROTOCOL = "equinix:fabric/routingProtocol:RoutingProtocol"
