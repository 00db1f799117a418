"""What a fabric costs: dated prices, a bill that names its unknowns, and a refresh from the clouds' public lists."""

from gpu_fabric.planning.price.bill import Bill, LineItem, bill_of
from gpu_fabric.planning.price.table import Price, PriceTable, Unknown, load_table

__all__ = ["Bill", "LineItem", "Price", "PriceTable", "Unknown", "bill_of", "load_table"]
