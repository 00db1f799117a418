"""What a circuit that somebody ordered by hand cannot become, said before anything is touched.

A partner that connects by itself replaces its connections with the circuit. One that does not holds it, and Azure
deletes no circuit that its provider holds: what cannot change in place cannot change at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpu_fabric.components.changes import at
from gpu_fabric.components.interconnect.names import CircuitPlace, circuit_place
from gpu_fabric.components.interconnect.settings import Family, InterconnectSettings
from gpu_fabric.components.problems import Problem, raise_if_any

ANEW = (
    "keep it as it is; or, for a new circuit: drop `provisioned` and run `up`, have your partner release the circuit, "
    "take `interconnect` out and run `up`, and put it back"
)


@dataclass(frozen=True)
class Ordered:
    """What a circuit was ordered as, or is to be."""

    bandwidth_mbps: int
    family: str
    provider: str
    peering_location: str
    location: str

    @classmethod
    def from_inputs(cls, inputs: Mapping[str, Any]) -> Ordered:
        """From the inputs of an `ExpressRouteCircuit`, as the engine has them."""
        provided = inputs.get("serviceProviderProperties")
        return cls(
            int(at(provided, ("bandwidthInMbps",)) or 0),
            str(at(inputs, ("sku", "family"))),
            str(at(provided, ("serviceProviderName",))),
            str(at(provided, ("peeringLocation",))),
            str(inputs.get("location")),
        )


def refusals(before: Ordered, after: Ordered) -> Iterator[Problem]:
    """Changes that Azure refuses of a circuit that its provider holds.

    Sources: azure-docs, expressroute-howto-circuit-arm.md (rate, provider, location) and expressroute-faqs.md (family).
    """
    if after.bandwidth_mbps < before.bandwidth_mbps:
        yield Problem(
            ("interconnect", "bandwidthMbps"),
            f"the circuit has {before.bandwidth_mbps} Mb/s, and Azure lowers none to {after.bandwidth_mbps}",
            ANEW,
        )
    if (before.family, after.family) == (Family.UNLIMITED, Family.METERED):
        yield Problem(
            ("interconnect", "circuit", "family"),
            f"the circuit is {before.family}, and Azure makes none {after.family}",
            f"write `circuit: {{ family: {before.family} }}`, with a `tier` other than Local; or {ANEW}",
        )
    for path, what, now, wanted in (
        (("interconnect", "manual", "provider"), "provider", before.provider, after.provider),
        (("interconnect", "exchange"), "location", before.peering_location, after.peering_location),
        (("azure", "location"), "region", before.location, after.location),
    ):
        if now.casefold() != wanted.casefold():
            yield Problem(path, f"the {what} of a circuit is for life: {now}, not {wanted}", ANEW)


def own_circuit(settings: InterconnectSettings, own: CircuitPlace) -> Iterator[Problem]:
    """An adopted circuit that is the one that the stack makes itself."""
    if settings.circuit.id is None:
        return
    given = circuit_place("", settings.circuit.id)
    if (given.group.casefold(), given.name.casefold()) == (own.group.casefold(), own.name.casefold()):
        yield Problem(
            ("interconnect", "circuit", "id"),
            "is the circuit that this stack makes itself",
            "drop the key: without it the stack keeps its circuit",
        )


def still_held(own: CircuitPlace, state: str) -> Problem:
    """The stack's own circuit, in place of which another is to be adopted while a provider holds it."""
    return Problem(
        ("interconnect", "circuit", "id"),
        f"this stack has {own}, which is {state}: Azure deletes none that its provider holds",
        "drop the key and keep it; or drop `provisioned` too and run `up`, have your partner release that circuit, and "
        "then give the other one's id",
    )


def refuse_before_update(name: str) -> pulumi.ResourceHookBinding:
    """Fails a preview, and an update, that would ask Azure for what it refuses of the circuit with this unique name."""

    def refuse(arguments: pulumi.ResourceHookArgs) -> None:
        before, after = (
            Ordered.from_inputs(inputs or {}) for inputs in (arguments.old_inputs, arguments.new_inputs)
        )
        raise_if_any(name, refusals(before, after))

    options = pulumi.ResourceHookOptions(on_dry_run=True)
    hook = pulumi.ResourceHook(f"{name}: what Azure refuses of a circuit", refuse, options)
    return pulumi.ResourceHookBinding(before_update=[hook])
