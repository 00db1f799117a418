"""The fabric report, as Markdown, HTML and JSON."""

from gpu_fabric.planning.report.fabric_sections import AddressRow
from gpu_fabric.planning.report.report import FabricReport, report

__all__ = ["AddressRow", "FabricReport", "report"]
