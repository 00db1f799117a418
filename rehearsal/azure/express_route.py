"""ExpressRoute circuits, their private peering and authorizations, and ExpressRoute Direct ports.

A circuit comes with a service key and ``NotProvisioned``. Only its provider changes that: a partner's connection with
the service key (``rehearsal/equinix``, ``rehearsal/megaport``), or somebody's hand, which is the command ``provision``
of the rehearsal. Peerings and connections wait for it, and the circuit cannot be deleted before the provider let go.

The state is an input as well in this API version, so a refresh that finds it changed makes pulumi-azure-native put it
into the program's inputs, and the next preview wants to take it out again (provider/pkg/provider/diff.go, applyDiff).
A program says ``ignore_changes=["serviceProviderProvisioningState"]``, here as there.

A peering's MD5 key and an authorization's key are not in the database: of the first there is a fingerprint, the second
follows from the authorization itself.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

from ..core.errors import ProviderError, Refusal
from ..core.fingerprint import fingerprint
from ..core.resource import Call, Function, Lookup
from ..core.store import Transaction
from . import kinds
from .addresses import network
from .arm import Target, forget, guid, link, look_up, now, reference, sub_resources, users
from .errors import CONFLICT, network_missing, network_word, rule
from .resource import arm_type, at, require_range

TIERS, FAMILIES = ("Standard", "Premium", "Local"), ("MeteredData", "UnlimitedData")
BANDWIDTHS = (50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Mb/s a provider's circuit may have (azure-docs expressroute-faqs.md)."""
LOCAL_LEAST = 1000
"""Mb/s from which the Local tier starts (third party, DE-CIX: unverified)."""
PORT_CIRCUITS = {
    10: (1, 2, 5, 10),
    100: (5, 10, 40, 100),
    400: (5, 10, 40, 100, 200, 400),
}
"""Gb/s of circuits by Gb/s of the port (azure-docs expressroute-erdirect-about.md)."""
MICROSOFT_ASN = 12076
RESERVED_ASNS = range(65515, 65521)
"""azure-docs expressroute-routing.md."""
PEERING_PREFIX = 30
PRIVATE = "AzurePrivatePeering"

LOCATIONS: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "Washington DC": ("North America", ("Equinix", "Megaport"), ("eastus", "eastus2")),
    "Washington DC2": ("North America", ("Megaport",), ("eastus", "eastus2")),
    "Seattle": ("North America", ("Equinix", "Megaport"), ("westus2",)),
    "Quincy": ("North America", ("Megaport",), ("westus2",)),
    "Chicago": ("North America", ("Equinix", "Megaport"), ("northcentralus",)),
    "Silicon Valley": ("North America", ("Equinix", "Megaport"), ("westus",)),
    "Dublin": ("Europe", ("Equinix", "Megaport"), ("northeurope",)),
    "Frankfurt": ("Europe", ("Equinix", "Megaport"), ("germanywestcentral",)),
    "Frankfurt2": ("Europe", ("Equinix", "Megaport"), ("germanywestcentral",)),
    "London": ("Europe", ("Equinix", "Megaport"), ("uksouth",)),
    "Tokyo": ("Japan", ("Equinix", "Megaport"), ("japaneast",)),
    "Tokyo2": ("Japan", ("Equinix", "Megaport"), ("japaneast",)),
    "Singapore": ("Asia Pacific", ("Equinix", "Megaport"), ("southeastasia",)),
    "Sydney": ("Australia", ("Equinix", "Megaport"), ("australiaeast",)),
}
"""Peering locations that the simulation knows: geopolitical area, providers, regions that the Local tier reaches. The
two of Washington are azure-docs expressroute-locations-providers.md (2026-04-28); the others are unverified."""
_CIRCUITS, _ROUTING = "azure-docs expressroute-circuit-peerings.md", "azure-docs expressroute-routing.md"
_PROVIDERS = "azure-docs expressroute-locations-providers.md"
_WORKFLOW = "azure-docs expressroute-workflows.md"


_SERVICES_OWN = ("circuitProvisioningState", "serviceKey", "serviceProviderProvisioningState")
"""Inputs by the specification, and nothing that a customer decides."""


def state_of(circuit: Mapping[str, Any]) -> str:
    """The provider's state of the circuit now: what is on its way arrives by itself."""
    state = str(circuit["serviceProviderProvisioningState"])
    if "settledAt" not in circuit or circuit["settledAt"] > time.time():
        return state
    return {"Provisioning": "Provisioned", "Deprovisioning": "NotProvisioned"}.get(state, state)


def location_named(name: Any) -> tuple[str, tuple[str, tuple[str, ...], tuple[str, ...]]] | None:
    """The peering location of the name, in any casing."""
    return next(
        ((known, what) for known, what in LOCATIONS.items() if known.casefold() == str(name).casefold()), None
    )


# Circuits


def put_circuit(call: Call, target: Target) -> dict[str, Any]:
    tx, inputs = call.tx, call.inputs
    sku = _sku(inputs.get("sku") or {})
    provider, port = inputs.get("serviceProviderProperties"), inputs.get("expressRoutePort")
    if inputs.get("peerings") or inputs.get("authorizations"):
        raise ProviderError(
            "the simulated azure-native cloud takes peerings and authorizations as resources of their own "
            "(ExpressRouteCircuitPeering, ExpressRouteCircuitAuthorization), not inside ExpressRouteCircuit"
        )
    if (provider is None) == (port is None):
        raise rule(
            f"Circuit {target.name} needs either serviceProviderProperties or expressRoutePort.",
            "Microsoft.Network 2024-05-01, ExpressRouteCircuitPropertiesFormat",
        )
    if provider is not None:
        _check_provider(target, provider, sku)
    else:
        _check_port(tx, target, port, inputs.get("bandwidthInGbps"))
    if call.old:
        _check_change(call, target, sku)
        return {"sku": sku, **{name: call.old[name] for name in _SERVICES_OWN}}
    return {
        "sku": sku,
        "serviceKey": guid(tx, "serviceKey"),
        "circuitProvisioningState": "Enabled",
        "serviceProviderProvisioningState": "NotProvisioned" if provider is not None else "Provisioned",
        "allowClassicOperations": inputs.get("allowClassicOperations", False),
        "globalReachEnabled": False,
        "gatewayManagerEtag": "",
        "stag": tx.next("stag"),
        "authorizationStatus": "",
    }


def _sku(sku: Mapping[str, Any]) -> dict[str, str]:
    tier, family = str(sku.get("tier")), str(sku.get("family"))
    if tier not in TIERS:
        raise network_word(tier, "sku.tier", TIERS)
    if family not in FAMILIES:
        raise network_word(family, "sku.family", FAMILIES)
    name = sku.get("name", f"{tier}_{family}")
    if name != f"{tier}_{family}":
        raise rule(
            f"sku.name '{name}' is not '{tier}_{family}', which its tier and family make.",
            "Microsoft.Network 2024-05-01, ExpressRouteCircuitSku",
        )
    return {"name": name, "tier": tier, "family": family}


def _check_provider(target: Target, provider: Mapping[str, Any], sku: Mapping[str, str]) -> None:
    where, who, bandwidth = (
        provider.get(name) for name in ("peeringLocation", "serviceProviderName", "bandwidthInMbps")
    )
    for name, value in (
        ("peeringLocation", where),
        ("serviceProviderName", who),
        ("bandwidthInMbps", bandwidth),
    ):
        if value is None:
            raise network_missing(f"serviceProviderProperties.{name}")
    found = location_named(where)
    if found is None:
        raise rule(
            f"peeringLocation '{where}' is not known. The simulation knows {', '.join(LOCATIONS)}.",
            _PROVIDERS,
        )
    known, (_, providers, _) = found
    if str(who).casefold() not in {each.casefold() for each in providers}:
        raise rule(
            f"serviceProviderName '{who}' is not at {known}. The simulation knows {', '.join(providers)} there.",
            _PROVIDERS,
        )
    if bandwidth not in BANDWIDTHS:
        raise rule(
            f"bandwidthInMbps {bandwidth:g} is none of {', '.join(map(str, BANDWIDTHS))}.",
            "azure-docs expressroute-faqs.md",
        )
    if sku["tier"] == "Local" and bandwidth < LOCAL_LEAST:
        raise rule(
            f"The Local tier starts at {LOCAL_LEAST} Mb/s; circuit {target.name} asks for {bandwidth:g}.",
            "third party, DE-CIX: unverified",
        )


def _check_port(tx: Transaction, target: Target, port: Any, bandwidth: Any) -> None:
    found = reference(tx, kinds.EXPRESS_ROUTE_PORT, port, Target(target.id, target.name, target.kind))
    if found is None:
        raise network_missing("expressRoutePort.id")
    speed = int(found["bandwidthInGbps"])
    allowed = PORT_CIRCUITS[speed]
    if bandwidth not in allowed:
        raise rule(
            f"bandwidthInGbps {bandwidth} of circuit {target.name} is none of {', '.join(map(str, allowed))}, which a "
            f"port of {speed} Gb/s has.",
            "azure-docs expressroute-erdirect-about.md",
        )
    link(tx, target.id, [(found["id"], "expressRoutePort")])


def _check_change(call: Call, target: Target, sku: Mapping[str, str]) -> None:
    before, after = call.old, call.inputs
    if before["sku"]["family"] == "UnlimitedData" and sku["family"] == "MeteredData":
        raise rule(
            f"Circuit {target.name} cannot change from UnlimitedData to MeteredData.",
            "azure-docs expressroute-faqs.md",
        )
    for name in ("peeringLocation", "serviceProviderName"):
        path = f"serviceProviderProperties.{name}"
        if str(at(before, path)).casefold() != str(at(after, path)).casefold():
            raise rule(
                f"{path} of circuit {target.name} cannot change from {at(before, path)} to {at(after, path)}.",
                "azure-docs expressroute-howto-circuit-arm.md",
            )
    path = "serviceProviderProperties.bandwidthInMbps"
    if at(after, path, 0) < at(before, path, 0):
        raise rule(
            f"The bandwidth of circuit {target.name} cannot go down from {at(before, path):g} to {at(after, path):g} "
            f"Mb/s: a new circuit is needed.",
            "azure-docs expressroute-howto-circuit-arm.md; terraform-provider-azurerm#3983",
        )


def show_circuit(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    own = {
        "parentId",
        "circuitName",
        "resourceGroupName",
        "keyFingerprint",
        "peeringName",
        "authorizationName",
    }
    return {
        "serviceProviderProvisioningState": state_of(stored),
        "peerings": [
            {key: value for key, value in each.items() if key not in own}
            for _, each in tx.find(kinds.PEERING.token, parentId=id)
        ],
        "authorizations": [
            {"id": each["id"], "name": each["name"], "authorizationUseStatus": use_of(tx, each["id"])}
            for _, each in tx.find(kinds.AUTHORIZATION.token, parentId=id)
        ],
    }


def connections_of(tx: Transaction, circuit_id: str) -> list[str]:
    """The ids of the gateway connections that use the circuit."""
    return users(tx, circuit_id, "peer")


def remove_circuit(call: Call, target: Target) -> None:
    tx = call.tx
    linked = connections_of(tx, target.id)
    if linked:
        raise rule(
            f"Circuit {target.id} is linked to {', '.join(linked)} and cannot be deleted.",
            "azure-docs expressroute-howto-circuit-arm.md",
            status=CONFLICT,
        )
    if call.old.get("expressRoutePort") is None and state_of(call.old) in (
        "Provisioning",
        "Provisioned",
        "Deprovisioning",
    ):
        # oracle-quickstart/oci-azure-interconnect#8: code and sentence are Azure's.
        raise Refusal(
            "ConflictError",
            "The specified dedicated circuit is not in Deprovisioned state. Please initiate the deprovisioning process "
            "with your service provider.",
            status=CONFLICT,
        )
    for kind in (kinds.PEERING, kinds.AUTHORIZATION):
        for id, _ in tx.find(kind.token, parentId=target.id):
            forget(tx, id)
            tx.remove(kind.token, id)


# Peerings


def put_peering(call: Call, target: Target) -> dict[str, Any]:
    tx, inputs = call.tx, call.inputs
    circuit = tx.need(kinds.CIRCUIT.token, target.parent)
    if inputs.get("peeringType") != PRIVATE or target.name != PRIVATE:
        raise rule(
            f"Peering '{target.name}' of type {inputs.get('peeringType')}: the simulation knows the peering "
            f"{PRIVATE} of type {PRIVATE}.",
            _CIRCUITS,
        )
    if (state := state_of(circuit)) != "Provisioned":
        raise rule(
            f"Circuit {circuit['name']} is {state}: a peering can be configured "
            f"once the connectivity provider has provisioned service key {circuit['serviceKey']}.",
            f"{_WORKFLOW}; terraform-provider-azurerm#5342",
        )
    check_asn(inputs.get("peerASN"))
    if inputs.get("vlanId") is None:
        raise network_missing("vlanId")
    require_range(inputs["vlanId"], 1, 4094, "vlanId", _ROUTING)
    _check_prefixes(inputs, target)
    return {
        "azureASN": MICROSOFT_ASN,
        "primaryAzurePort": f"{circuit['name']}-primary",
        "secondaryAzurePort": f"{circuit['name']}-secondary",
        "state": inputs.get("state", "Enabled"),
        "lastModifiedBy": "Customer",
        "gatewayManagerEtag": "",
        "connections": [],
        "peeredConnections": [],
        "keyFingerprint": fingerprint(inputs.get("sharedKey")),
        "parentId": target.parent,
    }


def check_asn(asn: Any) -> None:
    """Refuse an ASN that a customer's side cannot have."""
    if asn is None:
        raise network_missing("peerASN")
    require_range(asn, 1, 4294967295, "peerASN", _ROUTING)
    if asn == MICROSOFT_ASN or asn in RESERVED_ASNS:
        raise rule(
            f"peerASN {asn:g} is Microsoft's: {MICROSOFT_ASN} and {RESERVED_ASNS[0]} to {RESERVED_ASNS[-1]} are "
            f"reserved.",
            _ROUTING,
        )


def _check_prefixes(inputs: Mapping[str, Any], target: Target) -> None:
    found: list[IPv4Network] = []
    for name in ("primaryPeerAddressPrefix", "secondaryPeerAddressPrefix"):
        if not inputs.get(name):
            raise network_missing(name)
        prefix = network(inputs[name], target.id)
        if prefix.prefixlen != PEERING_PREFIX:
            raise rule(f"{name} {prefix} is not a /{PEERING_PREFIX}.", _ROUTING)
        found.append(prefix)
    if found[0] == found[1]:
        raise rule(f"Primary and secondary address prefix are both {found[0]}.", _ROUTING)


def remove_peering(call: Call, target: Target) -> None:
    linked = connections_of(call.tx, target.parent)
    if linked:
        raise rule(
            f"Peering {target.id} is in use by {', '.join(linked)} and cannot be deleted.",
            "azure-docs expressroute-howto-routing-arm.md",
            status=CONFLICT,
        )


# Authorizations


def authorization_key(authorization: Mapping[str, Any]) -> str:
    """The key of an authorization: it follows from the object, and is kept nowhere."""
    return str(
        uuid.UUID(bytes=hashlib.sha256(f"authorizationKey/{authorization['seed']}".encode()).digest()[:16])
    )


def put_authorization(call: Call, target: Target) -> dict[str, Any]:
    seed = call.old.get("seed") or guid(call.tx, "authorization")
    return {
        "parentId": target.parent,
        "seed": seed,
        "authorizationKey": authorization_key({"seed": seed}),
    }


def use_of(tx: Transaction, authorization_id: str) -> str:
    return "InUse" if users(tx, authorization_id, "authorization") else "Available"


def show_authorization(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "authorizationUseStatus": use_of(tx, id),
        "authorizationKey": authorization_key(stored),
        "connectionResourceUri": next(iter(users(tx, id, "authorization")), ""),
    }


def remove_authorization(call: Call, target: Target) -> None:
    used = users(call.tx, target.id, "authorization")
    if used:
        raise rule(
            f"Authorization {target.id} is in use by {', '.join(used)}.",
            "azure-docs expressroute-howto-linkvnet-arm.md",
            status=CONFLICT,
        )


# ExpressRoute Direct


def put_port(call: Call, target: Target) -> dict[str, Any]:
    inputs = call.inputs
    speed = inputs.get("bandwidthInGbps")
    if speed not in PORT_CIRCUITS:
        raise rule(
            f"bandwidthInGbps {speed} is none of {', '.join(map(str, PORT_CIRCUITS))}.",
            "azure-docs expressroute-erdirect-about.md",
        )
    if not inputs.get("peeringLocation"):
        raise network_missing("peeringLocation")
    if inputs.get("encapsulation") not in ("Dot1Q", "QinQ"):
        raise network_word(inputs.get("encapsulation"), "encapsulation", ("Dot1Q", "QinQ"))
    return {
        "allocationDate": call.old.get("allocationDate") or now(),
        "etherType": "0x8100" if inputs["encapsulation"] == "Dot1Q" else "0x88A8",
        "mtu": "1500",
        "provisionedBandwidthInGbps": 0,
        "billingType": inputs.get("billingType", "MeteredData"),
        "links": inputs.get("links")
        or [{"name": f"link{number}", "adminState": "Disabled"} for number in (1, 2)],
    }


def show_port(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    circuits = users(tx, id, "expressRoutePort")
    used = sum(
        float((tx.get(kinds.CIRCUIT.token, each) or {}).get("bandwidthInGbps") or 0) for each in circuits
    )
    return {"circuits": sub_resources(circuits), "provisionedBandwidthInGbps": used}


def remove_port(call: Call, target: Target) -> None:
    circuits = users(call.tx, target.id, "expressRoutePort")
    if circuits:
        raise rule(
            f"ExpressRoute port {target.id} has circuits and cannot be deleted: {', '.join(circuits)}.",
            "azure-docs expressroute-erdirect-about.md",
            status=CONFLICT,
        )


# Look-ups


def look_up_circuit(lookup: Lookup) -> dict[str, Any]:
    found = look_up(lookup.tx, kinds.CIRCUIT, lookup.args)
    return {**found, **show_circuit(lookup.tx, found["id"], found)}


def look_up_peering(lookup: Lookup) -> dict[str, Any]:
    return look_up(lookup.tx, kinds.PEERING, lookup.args)


TYPES = (
    arm_type(kinds.EXPRESS_ROUTE_PORT, "ExpressRoute port", put_port, remove=remove_port, show=show_port),
    arm_type(
        kinds.CIRCUIT,
        "ExpressRoute circuit",
        put_circuit,
        remove=remove_circuit,
        show=show_circuit,
        filled=frozenset({"authorizations", "peerings"}),
        hidden=frozenset({"authorizationKey"}),
        secrets=frozenset({"authorizationKey"}),
    ),
    arm_type(
        kinds.PEERING,
        "ExpressRoute circuit peering",
        put_peering,
        remove=remove_peering,
        filled=frozenset({"connections"}),
        hidden=frozenset({"sharedKey"}),
        secrets=frozenset({"sharedKey"}),
    ),
    arm_type(
        kinds.AUTHORIZATION,
        "ExpressRoute circuit authorization",
        put_authorization,
        remove=remove_authorization,
        show=show_authorization,
        secrets=frozenset({"authorizationKey"}),
    ),
)
FUNCTIONS = (
    Function("azure-native:network:getExpressRouteCircuit", look_up_circuit),
    Function("azure-native:network:getExpressRouteCircuitPeering", look_up_peering),
)
