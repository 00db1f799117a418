"""Fit the constants of the collectives model to published rows, and to a user's own.

Each constant is fitted only on rows marked `fit` of the platforms named beside it, never on two-node rows: over two
nodes tree algorithms exceed the NIC's rate, so such a row says nothing about larger groups. The objective is the root
mean square of log(predicted / published), weighed by the goal of the row's size class; the search moves one constant
at a time, which the model's structure allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_fabric.planning.collectives.constants import Constants
from gpu_fabric.planning.collectives.model import with_nvlink, with_transport
from gpu_fabric.planning.collectives.validation import MIB, Measurement, compare
from gpu_fabric.planning.line_search import line_search


@dataclass(frozen=True)
class Fit:
    """The constants of one row of the table and the platforms whose rows they are fitted on."""

    table: str
    """`transport` or `nvlink`."""
    row: str
    platforms: tuple[str, ...]
    names: tuple[str, ...]

    def apply(self, constants: Constants, values: Mapping[str, float]) -> Constants:
        change = with_transport if self.table == "transport" else with_nvlink
        return change(constants, self.row, **values)

    def current(self, constants: Constants) -> dict[str, float]:
        row = (constants.transport if self.table == "transport" else constants.nvlink)[self.row]
        return {name: getattr(row, name) for name in self.names}


FITS: Sequence[Fit] = (
    Fit("nvlink", "A100", ("Standard_ND96amsr_A100_v4",), ("ring_share", "ring_hop_us")),
    Fit("nvlink", "H100", ("Standard_ND96isr_H100_v5",), ("nvls_us", "nvls_cap")),
    Fit("nvlink", "B200", ("p6-b200.48xlarge",), ("nvls_us", "nvls_cap")),
    Fit(
        "transport",
        "efa-v2",
        ("p5.48xlarge",),
        (
            "net_hop_ll128_us",
            "net_hop_simple_us",
            "net_hop_simple_gather_us",
            "ring_simple_cap",
            "ring_ll128_reduce_cap",
            "tree_ll128_share",
            "tree_simple_share",
            "alltoall_share",
            "alltoall_us",
            "alltoall_rank_us",
        ),
    ),
    Fit("transport", "efa-v1", ("p4de.24xlarge",), ("ring_simple_cap",)),
    Fit("transport", "efa-v3", ("p5en.48xlarge",), ("ring_simple_cap",)),
    Fit(
        "transport",
        "efa-v4",
        ("p6-b200.48xlarge", "p6-b300.48xlarge"),
        ("net_hop_simple_us", "ring_simple_cap", "alltoall_share", "alltoall_rank_us"),
    ),
    Fit("transport", "infiniband", ("reference-h100-ndr",), ("ring_simple_cap",)),
    Fit("transport", "sockets", ("reference-v100-tcp100",), ("nic_cap_gbs",)),
)


def fit_rows(fit: Fit, rows: Iterable[Measurement]) -> list[Measurement]:
    """The rows a fit may see: marked `fit`, 32 MiB and above, of its platforms, of its side of the network."""
    inside = fit.table == "nvlink"
    return [
        row
        for row in rows
        if row.part == "fit"
        and row.size >= 32 * MIB
        and row.platform in fit.platforms
        and (row.nodes == 1) is inside
    ]


GOAL = {"1 GiB and above": 0.10, "32 MiB to 1 GiB": 0.30}
"""The error that is aimed at, by size class: the weight of a row."""


def loss(rows: Sequence[Measurement], constants: Constants) -> float:
    """Root mean square of log(predicted / published) over the goal of the row's size class: 1 is just at the goal."""
    errors = (math.log(item.ratio) / GOAL[item.measurement.size_class] for item in compare(rows, constants))
    return math.sqrt(sum(error**2 for error in errors) / len(rows))


def fit_constants(fit: Fit, rows: Iterable[Measurement], constants: Constants, rounds: int = 12) -> Constants:
    """`constants` with those of `fit` moved to where its rows are matched best. Without rows: unchanged."""
    seen = fit_rows(fit, rows)
    if not seen:
        return constants
    values = fit.current(constants)
    for _ in range(rounds):
        for name in fit.names:

            def cost(value: float, name: str = name) -> float:
                return loss(seen, fit.apply(constants, {**values, name: value}))

            values[name] = line_search(cost, values[name])
    return fit.apply(constants, values)
