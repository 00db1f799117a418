"""What a fabric costs: dated prices, a bill that names its unknowns, and a refresh from the clouds' public lists."""

from gpu_fabric.planning.price.bill import Bill, bill_of
from gpu_fabric.planning.price.line_item import LineItem
from gpu_fabric.planning.price.link import LinkParts, link_items
from gpu_fabric.planning.price.table import Price, PriceTable, Unknown, load_table, prices_in_force

__all__ = [
    "Bill",
    "LineItem",
    "LinkParts",
    "Price",
    "PriceTable",
    "Unknown",
    "bill_of",
    "link_items",
    "load_table",
    "prices_in_force",
]
