"""What an instance type can take, from instance_types.toml."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..core.errors import ProviderError

MORE = "GPU_FABRIC_REHEARSAL_INSTANCE_TYPES"
"""The environment variable that names a TOML file with more rows, or other ones."""


@dataclass(frozen=True)
class InstanceType:
    """One row. ``interfaces`` has the number of network interfaces of each card, by its index."""

    name: str
    interfaces: tuple[int, ...]
    efa: int
    without_efa: frozenset[int]
    vcpu: int
    arch: str
    cluster: bool
    on_demand: bool
    spot: bool
    block: bool

    @property
    def cards(self) -> int:
        return len(self.interfaces)


def _row(name: str, row: dict[str, Any]) -> InstanceType:
    slots = row["interfaces"]
    return InstanceType(
        name=name,
        interfaces=tuple(slots) if isinstance(slots, list) else (slots,) * row["cards"],
        efa=row.get("efa", 0),
        without_efa=frozenset(row.get("without_efa", [])),
        vcpu=row["vcpu"],
        arch=row.get("arch", "x86_64"),
        cluster=row.get("cluster", True),
        on_demand=row.get("on_demand", True),
        spot=row.get("spot", True),
        block=row.get("block", False),
    )


@cache
def _table(more: str) -> dict[str, InstanceType]:
    rows = tomllib.loads((Path(__file__).parent / "instance_types.toml").read_text())
    if more:
        try:
            rows |= tomllib.loads(Path(more).read_text())
        except (OSError, tomllib.TOMLDecodeError) as problem:
            raise ProviderError(f"{more} (named by {MORE}) cannot be read: {problem}") from problem
    return {name: _row(name, row) for name, row in rows.items()}


def table() -> dict[str, InstanceType]:
    """Every known type by name."""
    return _table(os.environ.get(MORE, ""))


def get(name: str) -> InstanceType:
    """The type, or an error that says where to add it: the simulation does not guess what a type can take."""
    found = table().get(name)
    if found is None:
        raise ProviderError(
            f"the simulated AWS has no row for the instance type {name}, so it cannot tell what EC2 would say. "
            f"Add one to a TOML file and name it in {MORE}; instance_types.toml shows the form."
        )
    return found
