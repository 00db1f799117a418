"""The bill as a section, and its quantities."""

from __future__ import annotations

from gpu_fabric.planning.price import Bill, Unknown
from gpu_fabric.planning.report.document import Bullets, Paragraph, Section, table
from gpu_fabric.planning.report.performance_sections import quantity_table
from gpu_fabric.planning.report.quantities import Basis, Quantity, number


def cost_quantities(bill: Bill) -> list[Quantity]:
    """The headline of a bill: a lower bound where small prices are unknown, unknown where a node's is."""
    missing = len(bill.unknowns)
    source = "price table of this report" + (f"; {missing} unknown prices are not in it" if missing else "")
    least = ", at least" if missing else ""
    rows: list[tuple[str, float | None, str, bool]] = [
        ("an hour of training", bill.training_per_hour, "USD/h", True),
        ("an hour with the nodes off", bill.idle_per_hour, "USD/h", False),
        ("a month of training (730 h)", bill.per_month(), "USD", True),
    ]
    if bill.per_step is not None:
        rows += [
            ("a step", bill.per_step, "USD", True),
            ("a billion tokens", bill.per_billion_tokens, "USD", True),
        ]
    found = []
    for name, value, unit, with_nodes in rows:
        if with_nodes and bill.unpriced_nodes:
            why = "; ".join(item.basis for item in bill.unpriced_nodes)
            found.append(Quantity(name, None, unit, Basis.UNKNOWN, why))
        else:
            found.append(Quantity(f"{name}{least}", value, unit, Basis.COMPUTED, source))
    return found


def _amount(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{number(value, 'USD')} {unit}"


def cost_section(bill: Bill) -> Section:
    """Lines, sums and unknowns."""
    rows = []
    for item in bill.items:
        if isinstance(item.price, Unknown):
            rows.append(
                (item.what, number(item.quantity) if item.quantity else "-", "unknown", "unknown", item.basis)
            )
            continue
        total = _amount(item.per_step, "USD/step") if item.by_volume else _amount(item.per_hour, "USD/h")
        price = f"{item.price.usd:g} USD/{item.price.unit}"
        rows.append(
            (item.what, number(item.quantity), price, total, f"{item.basis}; as of {item.price.date}")
        )
    columns = ("item", "quantity", "price", "cost", "source")
    blocks: list[Paragraph | Bullets] = []
    if bill.unknowns:
        names = "; ".join(item.what for item in bill.unknowns)
        blocks.append(
            Paragraph(
                f"Not priced, and in no sum: {names}. Give your own prices with `--prices FILE`, or refresh."
            )
        )
    return Section(
        "Cost",
        (
            quantity_table(cost_quantities(bill)),
            table(columns, rows, caption="The bill", numeric=("quantity", "price", "cost")),
            *blocks,
        ),
    )
