"""One line of a bill: what, how much of it, and its price or the reason why it has none."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_fabric.planning.price.table import HOURS_PER_MONTH, Price, Unknown


@dataclass(frozen=True)
class LineItem:
    """One line of a bill."""

    what: str
    quantity: float
    price: Price | Unknown
    standing: bool
    """Billed also while the nodes are off."""
    by_volume: bool = False
    """Billed by GB: `quantity` is then 10^9 bytes of a step, or of the month that a link's bill is of."""

    @property
    def per_hour(self) -> float | None:
        """US dollars an hour; None where unknown or billed by volume."""
        if isinstance(self.price, Unknown) or self.by_volume:
            return None
        return self.quantity * self.price.per_hour

    @property
    def by_quantity(self) -> float | None:
        """US dollars of what is billed by volume, for its quantity; None where unknown or billed by time."""
        if isinstance(self.price, Unknown) or not self.by_volume:
            return None
        return self.quantity * self.price.usd

    @property
    def per_month(self) -> float | None:
        """US dollars of 730 hours, and of the month's volume; None where unknown."""
        return self.by_quantity if self.per_hour is None else self.per_hour * HOURS_PER_MONTH

    @property
    def basis(self) -> str:
        """Where the price comes from, or why there is none."""
        if isinstance(self.price, Unknown):
            return f"unknown: {self.price.reason}"
        note = f"; {self.price.note}" if self.price.note else ""
        return f"{self.price.source}{note}"
