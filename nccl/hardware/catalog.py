"""Read the catalog's TOML rows into frozen models; the same reader takes the rows of a user's own sizes."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from gpu_fabric.nccl.hardware.models import Cloud, Fabric, NodeSize, PciLayout

_PACKAGE = "gpu_fabric.nccl.hardware"
_BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_AFFINITY = re.compile(r"[0-9a-f]{8}(,[0-9a-f]{8})*")


class UnknownSizeError(LookupError):
    """A size that neither the catalog nor the caller describes."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        near = _meant(name, known)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        super().__init__(f"unknown size {name!r}: {hint}known sizes are {', '.join(known)}")


def _meant(name: str, known: tuple[str, ...]) -> list[str]:
    """Sizes that a name may stand for: in another case, begun or named by its GPU, or misspelt."""
    written = name.lower()
    lower = {size.lower(): size for size in known}
    if written in lower:
        return [lower[written]]
    for fits in (
        lambda size: size.startswith(f"{written}."),
        lambda size: len(written) > 1 and written in size,
    ):
        found = [size for size in lower if fits(size)]
        if 0 < len(found) <= 4:
            return [lower[size] for size in found]
    return [lower[size] for size in get_close_matches(written, lower, n=1, cutoff=0.6)]


class SizeRowError(ValueError):
    """A row that does not describe a size; `problems` holds (path inside the row, what is wrong) for each fault."""

    def __init__(self, name: str, problems: tuple[tuple[str, str], ...]) -> None:
        self.problems = problems
        lines = "; ".join(f"{path}: {what}" if path else what for path, what in problems)
        super().__init__(f"size {name!r}: {lines}")


@cache
def _adapter() -> Any:
    # Imported here: pydantic is most of the time that `import gpu_fabric.nccl` would take.
    from pydantic import TypeAdapter

    return TypeAdapter(NodeSize)


def _layout_problems(layout: PciLayout, size: NodeSize) -> Iterator[tuple[str, str]]:
    places = [*layout.places()]
    kinds = Counter(place.kind for place in places)
    bus_ids = Counter(place.busid for place in places)
    for busid, times in bus_ids.items():
        if not _BUS_ID.fullmatch(busid):
            yield "pci", f"bus id {busid!r} is not 12 lower-case characters dddd:bb:dd.f"
        if times > 1:
            yield "pci", f"bus id {busid!r} stands {times} times; each device has its own"
    for node in layout.numa_nodes:
        if node.affinity is not None and not _AFFINITY.fullmatch(node.affinity):
            yield (
                "pci",
                f"affinity {node.affinity!r} is not a comma-separated list of 8-digit hexadecimal words",
            )
    for busid in layout.links:
        if busid not in bus_ids:
            yield "pci.links", f"no device of the layout has bus id {busid!r}"
    if kinds["gpu"] != size.gpu.count:
        yield "pci", f"places {kinds['gpu']} GPUs, and the size has {size.gpu.count}"
    if kinds["nic"] != size.fabric_ports:
        yield "pci", f"places {kinds['nic']} NICs, and the size has {size.fabric_ports}"


def _problems(size: NodeSize) -> Iterator[tuple[str, str]]:
    """What the types alone do not say."""
    for name in ("vcpus", "memory_gib"):
        if getattr(size, name) <= 0:
            yield name, f"must be above 0, not {getattr(size, name)}"
    if size.gpu.count <= 0:
        yield "gpu.count", f"must be above 0, not {size.gpu.count}"
    if size.fabric is Fabric.SOCKETS and size.fabric_ports:
        yield "fabric_ports", "must be 0 where the fabric is sockets"
    if size.fabric is not Fabric.SOCKETS and (size.fabric_ports <= 0 or size.fabric_port_gbps <= 0):
        yield "fabric_ports", f"ports and Gb/s must be above 0 where the fabric is {size.fabric.value}"
    if size.fabric is Fabric.EFA:
        if size.network_cards is None or size.efa_cards is None:
            yield "efa_cards", "a size with EFA needs network_cards and efa_cards"
        elif len(size.efa_cards) != size.fabric_ports:
            yield "efa_cards", f"names {len(size.efa_cards)} cards, and fabric_ports is {size.fabric_ports}"
    for name in ("efa_cards", "ip_cards"):
        cards = getattr(size, name) or ()
        if len(set(cards)) != len(cards):
            yield name, "names a card twice; a card takes one EFA interface"
        beyond = [card for card in cards if not 0 <= card < (size.network_cards or 0)]
        if beyond:
            yield name, f"card {beyond[0]} is not one of the {size.network_cards or 0} network cards"
    if 0 in size.ip_cards:
        yield "ip_cards", "card 0 carries the primary interface already"
    if not size.supported and not size.unsupported_reason:
        yield "unsupported_reason", "must say why the size is not supported"
    for name in size.field_sources:
        if name not in NodeSize.__dataclass_fields__:
            yield f"field_sources.{name}", "no field has that name"
    if size.pci is not None:
        yield from _layout_problems(size.pci, size)


def size_from_row(
    name: str, cloud: Cloud, row: Mapping[str, Any], layouts: Mapping[str, Any] | None = None
) -> NodeSize:
    """One `[sizes."name"]` table as a model.

    `pci` is a table, or the name of an entry of `layouts` whose values `pci_override` replaces.
    Raises `SizeRowError` with every fault of the row.
    """
    from pydantic import ValidationError

    fields = {**row, "name": name, "cloud": cloud}
    override = fields.pop("pci_override", {})
    if isinstance(fields.get("pci"), str):
        known = layouts or {}
        if fields["pci"] not in known:
            choice = ", ".join(known) or "none"
            raise SizeRowError(name, (("pci", f"no layout is named {fields['pci']!r}; known are {choice}"),))
        fields["pci"] = {**known[fields["pci"]], **override}
    try:
        # By way of JSON, where pydantic's strict mode takes an array for a tuple and a string for an enumeration.
        size = _adapter().validate_json(json.dumps(fields), strict=True)
    except ValidationError as refused:
        found = tuple((".".join(map(str, e["loc"])), _in_words(e)) for e in refused.errors())
        raise SizeRowError(name, found) from None
    problems = tuple(_problems(size))
    if problems:
        raise SizeRowError(name, problems)
    return size


def _in_words(error: Mapping[str, Any]) -> str:
    # pydantic calls an extra key "Unexpected keyword argument", which means nothing to who wrote a table.
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        near = get_close_matches(str(error["loc"][-1]), NodeSize.__dataclass_fields__, n=1)
        return "no field has that name" + (f"; did you mean {near[0]}?" if near else "")
    if error["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return "is missing"
    return f"{error['msg'][0].lower()}{error['msg'][1:]}, not {error['input']!r}"


@cache
def load_sizes() -> Mapping[str, NodeSize]:
    """Every size of the catalog by name, AWS before Azure, in the order of the files."""
    sizes: dict[str, NodeSize] = {}
    for cloud in Cloud:
        text = files(_PACKAGE).joinpath(f"{cloud.value}.toml").read_text(encoding="utf-8")
        document = tomllib.loads(text)
        for name, row in document["sizes"].items():
            sizes[name] = size_from_row(
                name, cloud, {**document["defaults"], **row}, document.get("pci_layouts", {})
            )
    return sizes


def get_size(name: str) -> NodeSize:
    """The size of that name; `UnknownSizeError` names the nearest."""
    sizes = load_sizes()
    if name not in sizes:
        raise UnknownSizeError(name, tuple(sizes))
    return sizes[name]
