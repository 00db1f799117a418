"""The fabric report of a stack, written at every preview and update: what the plan does to step time and cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpu_fabric.components.config import FabricSettings
from gpu_fabric.components.node_files import node_files
from gpu_fabric.components.prices import stack_prices
from gpu_fabric.nccl.environment import Environment
from gpu_fabric.planning.price import LinkParts, PriceTable
from gpu_fabric.planning.report import AddressRow, FabricReport, report

FOLDER = "reports"
"""Beside Pulumi.yaml; not under version control."""


def _addresses(settings: FabricSettings) -> Iterator[AddressRow]:
    """The blocks of the networks that the stack creates."""
    if settings.aws is not None and not settings.aws.network.adopted:
        from gpu_fabric.components.aws.checks import address_plan

        plan, _ = address_plan(settings.aws, settings.around_aws)
        if plan is not None:
            yield AddressRow("AWS", "VPC", str(plan.vpc), "the whole network")
            yield AddressRow("AWS", "private subnet", str(plan.private), "nodes")
            if plan.public is not None:
                yield AddressRow("AWS", "public subnet", str(plan.public), "NAT gateway")
    if settings.azure is not None and not settings.azure.network.adopted:
        from gpu_fabric.components.azure.checks import address_plan as azure_address_plan

        azure_plan, _ = azure_address_plan(settings.azure)
        if azure_plan is not None:
            yield AddressRow("Azure", "VNet", str(azure_plan.network), "the whole network")
            yield AddressRow("Azure", "private subnet", str(azure_plan.private), "nodes")
            if azure_plan.bastion is not None:
                yield AddressRow("Azure", "Bastion subnet", str(azure_plan.bastion), "Azure Bastion")


def _environments(settings: FabricSettings) -> dict[str, Environment]:
    """The NCCL settings in force, the user's own included, by size."""
    found: dict[str, Environment] = {}
    if settings.aws is not None:
        from gpu_fabric.components.aws.checks import node_additions

        size = settings.around_aws.sizes[settings.aws.instance_type]
        files = node_files(size, **node_additions(settings.aws, settings.around_aws))
        found[size.name] = files.environment_for(secret=settings.around_aws.secret)
    if settings.azure is not None:
        from gpu_fabric.components.azure.checks import node_additions as azure_node_additions

        size = settings.around_azure.sizes[settings.azure.vm_size]
        files = node_files(size, **azure_node_additions(settings.azure, settings.around_azure))
        found[size.name] = files.environment_for(secret=settings.around_azure.secret)
    return found


def _link_parts(settings: FabricSettings) -> LinkParts | None:
    """What the program's own rules make of the link; None without one."""
    if settings.interconnect is None or settings.ends is None:
        return None
    from gpu_fabric.components.interconnect.billing import link_parts

    return link_parts(settings.interconnect, settings.ends)


def fabric_report(
    settings: FabricSettings,
    *,
    prices: PriceTable | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> FabricReport:
    """The report of what the stack file describes, with what this program knows beside it.

    `prices`: by default the published ones, refreshed ones before them, and the user's own before both.
    """
    return report(
        settings.spec,
        prices=prices or stack_prices(),
        link=_link_parts(settings),
        environments=_environments(settings),
        addresses=list(_addresses(settings)),
        progress=progress,
        simulated=os.environ.get("GPU_FABRIC_CLOUD") == "simulated",
    )


def write_report(settings: FabricSettings, stack: str, project: Path) -> dict[str, Any]:
    """Write `reports/<stack>.md`; the headline numbers and the file's place, to export."""
    made = fabric_report(settings)
    place = Path(FOLDER) / f"{stack}.md"
    target = project / place
    target.parent.mkdir(exist_ok=True)
    target.write_text(made.markdown(), encoding="utf-8")
    return {"report": place.as_posix(), **made.headline()}
