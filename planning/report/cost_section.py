"""The bill as a section, and its quantities."""

from __future__ import annotations

from gpu_fabric.planning.price import Bill, Unknown
from gpu_fabric.planning.report.document import Bullets, Paragraph, Section, table
from gpu_fabric.planning.report.performance_sections import quantity_table
from gpu_fabric.planning.report.quantities import Basis, Quantity, number


def cost_quantities(bill: Bill) -> list[Quantity]:
    """The headline of a bill: a lower bound where small prices are unknown, unknown where a node's is."""
    missing = len(bill.unknowns)
    left_out = f"; {missing} unknown price{' is' if missing == 1 else 's are'} not in it" if missing else ""
    source = f"price table of this report{left_out}"
    least = ", at least" if missing else ""
    nodes = "; ".join(item.basis for item in bill.unpriced_nodes)
    idle = "" if bill.idle_is_known else "nothing that stays on the bill has a known price"
    rows: list[tuple[str, float | None, str, str]] = [
        ("an hour of training", bill.training_per_hour, "USD/h", nodes),
        ("an hour with the nodes off", bill.idle_per_hour, "USD/h", idle),
        ("a month of training (730 h)", bill.per_month(), "USD", nodes),
    ]
    if bill.per_step is not None:
        rows += [
            ("a step", bill.per_step, "USD", nodes),
            ("a billion tokens", bill.per_billion_tokens, "USD", nodes),
        ]
    return [
        Quantity(name, None, unit, Basis.UNKNOWN, unknown)
        if unknown
        else Quantity(f"{name}{least}", value, unit, Basis.COMPUTED, source)
        for name, value, unit, unknown in rows
    ]


def _amount(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{number(value, 'USD')} {unit}"


def _dated(date: str) -> str:
    return date if date == "undated" else f"as of {date}"


def cost_section(bill: Bill) -> Section:
    """Lines, sums and unknowns."""
    rows = []
    for item in bill.items:
        if isinstance(item.price, Unknown):
            rows.append(
                (item.what, number(item.quantity) if item.quantity else "-", "unknown", "unknown", item.basis)
            )
            continue
        total = _amount(item.by_quantity, "USD/step") if item.by_volume else _amount(item.per_hour, "USD/h")
        price = f"{item.price.usd:g} USD/{item.price.unit}"
        rows.append(
            (item.what, number(item.quantity), price, total, f"{item.basis}; {_dated(item.price.date)}")
        )
    columns = ("item", "quantity", "price", "cost", "source")
    blocks: list[Paragraph | Bullets] = []
    if bill.unknowns:
        names = "; ".join(item.what for item in bill.unknowns)
        blocks.append(
            Paragraph(
                f"Not priced, and in no sum: {names}. Give your own prices with `--prices FILE` or "
                "`$GPU_FABRIC_PRICES`, or refresh."
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
