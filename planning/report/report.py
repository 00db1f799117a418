"""The fabric report: everything a pull request that changes a fabric should show, before anything is bought."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gpu_fabric.nccl.environment import Environment, EnvironmentInputError, Role, environment
from gpu_fabric.nccl.findings import Finding, ordered
from gpu_fabric.planning.collectives import Collective, predict
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.planner import Plan, plan
from gpu_fabric.planning.price import Bill, LinkParts, PriceTable, bill_of, load_table
from gpu_fabric.planning.report.cost_section import cost_quantities, cost_section
from gpu_fabric.planning.report.document import Block, Bullets, Document, Paragraph, Section, table
from gpu_fabric.planning.report.fabric_sections import (
    AddressRow,
    address_section,
    environment_section,
    mtu_section,
    picture_section,
    rails_section,
)
from gpu_fabric.planning.report.html import to_html
from gpu_fabric.planning.report.markdown import to_markdown
from gpu_fabric.planning.report.performance_sections import (
    PART_BASIS,
    accuracy_section,
    busbw_range,
    collectives_section,
    quantity_table,
    step_quantities,
    step_section,
    whole_group,
)
from gpu_fabric.planning.report.quantities import Basis, Quantity
from gpu_fabric.planning.spec import FabricSpec

GIB = 1 << 30


@dataclass(frozen=True)
class FabricReport:
    """The report of one fabric. `plan` is None when nothing runs; `problems` then says why."""

    spec: FabricSpec
    plan: Plan | None
    bill: Bill
    problems: tuple[str, ...]
    findings: tuple[Finding, ...]
    document: Document
    refused: tuple[str, ...] = ()
    """What the program refuses of the stack file that this is the report of."""

    def markdown(self) -> str:
        """For a pull request: below 60,000 characters, pictures in Mermaid."""
        return to_markdown(self.document)

    def html(self) -> str:
        """One file with SVG pictures."""
        return to_html(self.document)

    def json(self) -> str:
        """Every number with unit and basis."""
        return json.dumps(self.document.data, indent=2, ensure_ascii=False) + "\n"

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The headline numbers."""
        found: list[Quantity] = []
        if self.plan is not None:
            found += step_quantities(self.plan)
        for cluster in self.spec.clusters:
            prediction = predict(Collective.ALL_REDUCE, GIB, whole_group(cluster))
            if prediction.group.ranks > 1:
                low, high = busbw_range(prediction)
                name = f"all-reduce busbw at 1 GiB, {cluster.label}"
                found.append(
                    Quantity(
                        name, prediction.busbw_gbs, "GB/s", Basis.FITTED, "model of this report", low, high
                    )
                )
        return (*found, *cost_quantities(self.bill))

    def headline(self) -> dict[str, Any]:
        """Plain values to export from a program. A key is left out where its number is unknown."""
        values: dict[str, Any] = {
            "unknownPrices": [item.what for item in self.bill.unknowns],
            "problems": list(self.problems),
        }
        if self.bill.idle_is_known:
            values["usdPerHourIdle"] = round(self.bill.idle_per_hour, 2)
        if not self.bill.unpriced_nodes:
            values["usdPerHour"] = round(self.bill.training_per_hour, 2)
            if self.bill.per_step is not None and self.bill.per_billion_tokens is not None:
                values["usdPerStep"] = round(self.bill.per_step, 4)
                values["usdPerBillionTokens"] = round(self.bill.per_billion_tokens, 2)
        if self.plan is not None:
            best = self.plan.best.estimate
            values |= {
                "stepSeconds": round(best.seconds, 3),
                "mfu": round(best.mfu, 4),
                "tokensPerSecond": round(best.tokens_per_second, 1),
                "gpuWaitShare": round(best.wait_share, 4),
                "networkShare": round(best.network_share, 4),
                "layout": self.plan.best.layout.describe(),
                "clusters": self.plan.best.label,
                "verdict": self.plan.verdict,
            }
        return values


@dataclass(frozen=True)
class _Parts:
    """What the sections are written from."""

    spec: FabricSpec
    plan: Plan | None
    bill: Bill
    problems: tuple[str, ...]
    findings: tuple[Finding, ...]
    refused: tuple[str, ...]
    notes: tuple[str, ...]


def _environments(spec: FabricSpec) -> dict[str, Environment]:
    """The settings of each cluster's nodes, the user's variables included; at a stage boundary with a link."""
    role = Role.STAGE_BOUNDARY if spec.interconnect is not None else Role.INSIDE_CLOUD
    link_mbps = None if spec.interconnect is None else spec.interconnect.bandwidth_mbps
    made: dict[str, Environment] = {}
    problems: list[str] = []
    for cluster in spec.clusters:
        try:
            made[cluster.size.name] = environment(
                cluster.size, role=role, overrides=cluster.variables, link_mbps=link_mbps
            )
        except EnvironmentInputError as error:
            where = f"fabric.{cluster.cloud.value}.nccl.environment"
            problems += [problem.replace("overrides", where, 1) for problem in error.problems]
    if problems:
        raise PlanningError(problems)
    return made


def _findings_section(parts: _Parts) -> Section:
    blocks: list[Block] = []
    if parts.refused:
        blocks += [
            Paragraph("`pulumi preview` refuses this stack file as it is:"),
            Bullets(tuple(parts.refused)),
        ]
    blocks += [Paragraph(note) for note in parts.notes]
    planner = parts.plan.findings if parts.plan is not None else ()
    if parts.problems or planner:
        blocks.append(Bullets((*parts.problems, *planner)))
    if parts.findings:
        rows = [(f.level.value, f.place, f.what, f.remedy, f.code) for f in ordered(parts.findings)]
        blocks.append(table(("level", "where", "what", "do", "code"), rows, caption="Lint and validators"))
    unsupported = [c.size for c in parts.spec.clusters if not c.size.supported]
    if unsupported:
        blocks.append(Bullets(tuple(f"{size.name}: {size.unsupported_reason}" for size in unsupported)))
    return Section("Findings", tuple(blocks) or (Paragraph("None."),))


def _data(parts: _Parts) -> dict[str, Any]:
    """The JSON document."""
    spec, found, bill = parts.spec, parts.plan, parts.bill
    data: dict[str, Any] = {
        "fabric": spec.name,
        "clusters": [
            {
                "cloud": c.cloud.value,
                "size": c.size.name,
                "nodes": c.nodes,
                "gpus": c.gpus,
                "region": c.region,
            }
            for c in spec.clusters
        ],
        "problems": list(parts.problems),
        "refused": list(parts.refused),
        "notes": list(parts.notes),
        "findings": [f.what for f in parts.findings],
        "cost": {
            "items": [
                {
                    "item": item.what,
                    "quantity": item.quantity,
                    "usdPerHour": item.per_hour,
                    "usdPerStep": item.by_quantity,
                    "basis": item.basis,
                }
                for item in bill.items
            ],
            "unknown": [item.what for item in bill.unknowns],
        },
    }
    link = spec.link_model()
    if link is not None and found is not None and found.split is not None:
        link = link.between(found.split.layout.stage_gpus)
    if link is not None:
        data["link"] = {
            "bandwidthGbps": link.bandwidth_gbps,
            "goodputGbps": link.goodput_gbps,
            "rttMs": link.rtt_ms,
            "basis": link.basis,
        }
    if found is not None:
        best = found.best
        data["plan"] = {
            "verdict": found.verdict,
            "layout": best.layout.describe(),
            "clusters": best.label,
            "layersOfStages": list(best.split),
            "cutAfterLayer": best.cut_layer or None,
            "stepParts": {
                name: {"value": value, "unit": "s", "basis": PART_BASIS[name]}
                for name, value in best.estimate.parts.items()
            },
            "advice": [{"change": a.change, "stepSeconds": a.seconds, "saved": a.gain} for a in found.advice],
            "findings": list(found.findings),
        }
    return data


def report(
    spec: FabricSpec,
    *,
    prices: PriceTable | None = None,
    link: LinkParts | None = None,
    environments: Mapping[str, Environment] | None = None,
    addresses: Sequence[AddressRow] = (),
    findings: Sequence[Finding] | None = None,
    refused: Sequence[str] = (),
    notes: Sequence[str] = (),
    simulated: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> FabricReport:
    """The report of a fabric.

    `environments` are the NCCL settings in force by size name (default: ours with the spec's variables), `addresses`
    the address plan, `findings` what lint and validators found (default: what lint says of the environments). `link` is
    what the link is billed for (default: as the planner alone reads it). `refused` is what the program refuses of the
    stack file, `notes` what was not read of it. `simulated`: the plan comes from a preview against simulated clouds,
    which the report says. A training that does not fit is a problem in the report, not an error.
    """
    settings = environments if environments is not None else _environments(spec)
    problems: tuple[str, ...] = ()
    found: Plan | None = None
    try:
        found = plan(spec, progress=progress)
    except PlanningError as error:
        problems = error.problems
    estimate = found.best.estimate if found is not None else None
    bill = bill_of(spec, prices or load_table(), estimate, link=link)
    said = (
        tuple(findings) if findings is not None else tuple(f for e in settings.values() for f in e.findings)
    )
    parts = _Parts(spec, found, bill, problems, said, tuple(refused), tuple(notes))
    sections = [
        picture_section(spec, spec.link_model()),
        *([step_section(found)] if found is not None else []),
        collectives_section(spec.clusters),
        cost_section(bill),
        _findings_section(parts),
        rails_section(spec.clusters),
        mtu_section(spec),
        *([address_section(addresses)] if addresses else []),
        environment_section(settings),
        accuracy_section(),
    ]
    words = " and ".join(cluster.label for cluster in spec.clusters)
    subtitle = f"{words}. Predicted before anything is bought."
    if simulated:
        subtitle += " Previewed against simulated clouds."
    made = FabricReport(spec, found, bill, problems, said, Document("", "", ()), parts.refused)
    summary = Section("Summary", (quantity_table(made.quantities), *_verdict(parts)))
    data = _data(parts)
    data["summary"] = {quantity.name: quantity.as_dict() for quantity in made.quantities}
    document = Document(f"Fabric report: {spec.name}", subtitle, (summary, *sections), data)
    return FabricReport(spec, found, bill, problems, said, document, parts.refused)


def _verdict(parts: _Parts) -> list[Block]:
    blocks: list[Block] = []
    if parts.refused:
        blocks.append(Paragraph("`pulumi preview` refuses this stack file as it is: see Findings."))
    if parts.plan is not None and parts.plan.verdict:
        blocks.append(Paragraph(parts.plan.verdict))
    if parts.problems:
        blocks.append(Bullets(tuple(parts.problems)))
    return blocks
