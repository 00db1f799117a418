"""The predicted sections: collectives, step time, layouts, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_fabric.planning.collectives import Collective, Group, Prediction, platform_of, predict
from gpu_fabric.planning.collectives.constants import load_constants
from gpu_fabric.planning.collectives.validation import load_measurements
from gpu_fabric.planning.compute import PLANNER_STACK, fraction_of, step_constants
from gpu_fabric.planning.planner import Candidate, Plan
from gpu_fabric.planning.report import mermaid
from gpu_fabric.planning.report.document import Bullets, Figure, Paragraph, Section, Table, table
from gpu_fabric.planning.report.quantities import (
    Basis,
    Quantity,
    accuracy,
    busbw_accuracy,
    number,
    size_words,
)
from gpu_fabric.planning.report.svg import Bar, Series, line_chart, stacked_bars
from gpu_fabric.planning.spec import Cluster
from gpu_fabric.planning.tables import read_toml

MIB = 1 << 20
CURVE = tuple(MIB << exponent for exponent in range(5, 15))
"""32 MiB to 16 GiB: below, the model is not good enough to draw (docs/planning.md)."""
TABLE_SIZES = (64 * MIB, 1024 * MIB, 8192 * MIB)
COLLECTIVES = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.ALL_TO_ALL)
COLLECTIVE_NAMES = {
    Collective.ALL_REDUCE: "all-reduce",
    Collective.ALL_GATHER: "all-gather",
    Collective.REDUCE_SCATTER: "reduce-scatter",
    Collective.ALL_TO_ALL: "all-to-all",
    Collective.SEND_RECEIVE: "send/receive",
}
PART_NAMES = {
    "compute": "compute",
    "tensor": "tensor parallel",
    "context": "context parallel",
    "expert": "expert parallel",
    "data": "data parallel",
    "pipeline transfer": "pipeline transfers",
    "bubble": "pipeline bubble",
    "optimizer": "optimizer",
}
PART_BASIS = {
    "compute": "fitted: achievable share of peak",
    "tensor": "fitted: collectives, exposed share",
    "context": "fitted: collectives, overlap",
    "expert": "fitted: collectives, all exposed",
    "data": "fitted: collectives, overlap",
    "pipeline transfer": "simulated, against free hops",
    "bubble": "simulated; unequal stages and ends of the step included",
    "optimizer": "estimated: bytes over memory rate",
}


def whole_group(cluster: Cluster) -> Group:
    """All GPUs of a cluster."""
    platform = platform_of(cluster.size)
    return Group(platform, cluster.nodes, platform.gpus)


def busbw_range(prediction: Prediction) -> tuple[float, float]:
    """Where nine in ten checked rows lay, within the network's line rate unless the algorithm may exceed it."""
    low, high = busbw_accuracy(prediction.size, prediction.group.nodes).around(prediction.busbw_gbs)
    if prediction.group.nodes > 1 and not prediction.above_line:
        high = min(high, max(prediction.busbw_gbs, prediction.group.line_gbs))
    return low, high


def _series(collective: Collective, cluster: Cluster) -> Series:
    group = whole_group(cluster)
    predictions = [predict(collective, size, group) for size in CURVE]
    points = tuple((prediction.size, prediction.busbw_gbs) for prediction in predictions)
    band = tuple((prediction.size, *busbw_range(prediction)) for prediction in predictions)
    dots = tuple(
        (float(row.size), row.busbw_gbs)
        for row in load_measurements()
        if (row.platform, row.nodes, row.collective) == (cluster.size.name, cluster.nodes, collective)
        and CURVE[0] <= row.size <= CURVE[-1]
        and row.part != "excluded"
    )
    return Series(COLLECTIVE_NAMES[collective], points, band, dots)


def busbw_figure(cluster: Cluster) -> Figure:
    """Predicted busbw over size, with measured points where the same cluster was published."""
    series = [_series(collective, cluster) for collective in COLLECTIVES]
    ticks = [(float(size), size_words(size)) for size in CURVE]
    limits = []
    if cluster.nodes > 1:
        line = whole_group(cluster).line_gbs
        limits = [(f"network line rate of a node, {line:g} GB/s", line)]
    title = f"Predicted bus bandwidth, {cluster.label}"
    measured = any(line.dots for line in series)
    dots = " Dots: measured by others on this size and number of nodes." if measured else ""
    return Figure(
        f"busbw-{cluster.cloud.value}",
        f"{title}, 10^9 byte/s as nccl-tests prints it, against the size of the collective; fitted.",
        mermaid.chart(series, ticks, y_label="busbw GB/s"),
        line_chart(series, ticks, title=title, y_label="busbw, GB/s", limits=limits),
        key=f"Shaded: the range of nine in ten published rows that the model was checked on.{dots}",
    )


def _prediction_row(prediction: Prediction) -> tuple[str, ...]:
    low, high = busbw_range(prediction)
    limit = prediction.limit
    if prediction.above_line and prediction.busbw_gbs > prediction.group.line_gbs:
        limit = f"{limit}; above line rate: {prediction.above_line}"
    return (
        COLLECTIVE_NAMES[prediction.collective],
        size_words(prediction.size),
        f"{number(prediction.busbw_gbs)} GB/s",
        f"{number(low)} to {number(high)} GB/s",
        f"{number(prediction.seconds * 1e3)} ms",
        prediction.algorithm,
        limit,
    )


def collectives_section(clusters: Sequence[Cluster]) -> Section:
    """Curves and values of every cluster, with the basis of the constants."""
    blocks: list[Figure | Table | Paragraph] = []
    for cluster in clusters:
        group = whole_group(cluster)
        if group.ranks == 1:
            blocks.append(
                Paragraph(f"{cluster.label}: one GPU has nobody to talk to; there is no collective.")
            )
            continue
        rows = tuple(
            _prediction_row(predict(collective, size, group))
            for collective in (*COLLECTIVES, Collective.REDUCE_SCATTER)
            for size in TABLE_SIZES
        )
        blocks.append(busbw_figure(cluster))
        columns = ("collective", "size", "busbw, fitted", "range", "time", "algorithm", "limited by")
        blocks.append(
            table(columns, rows, caption=cluster.label, numeric=("size", "busbw, fitted", "range", "time"))
        )
        constants = load_constants()
        between = constants.transport[group.platform.transport].basis
        inside = constants.nvlink_of(group.platform.gpu).basis
        blocks.append(Paragraph(f"Constants: between nodes {between}; inside a node {inside}."))
    return Section("Collectives", tuple(blocks))


def _bar(name: str, candidate: Candidate) -> Bar:
    parts = candidate.estimate.parts
    return Bar(
        f"{name}: {number(candidate.estimate.seconds)} s",
        tuple((PART_NAMES[key], parts[key]) for key in PART_NAMES),
    )


def step_figure(plan: Plan) -> Figure:
    """The step of every placement, part by part."""
    shown = [(candidate.label, candidate) for candidate in plan.single]
    if plan.split is not None:
        shown.append((f"both clouds ({plan.split.label})", plan.split))
    shown.sort(key=lambda item: item[1].estimate.seconds)
    title = "Predicted step time by part"
    bars = [_bar(label, candidate) for label, candidate in shown]
    best = _bar(plan.best.label, plan.best)
    words = "; ".join(f"{label}: {number(candidate.estimate.seconds)} s" for label, candidate in shown)
    return Figure(
        "step-time",
        f"{title}, seconds: {words}. Parts are means over the pipeline stages.",
        mermaid.bars(best, title=f"{title}, {best.name}"),
        stacked_bars(bars, title=title, unit="s"),
    )


def step_quantities(plan: Plan) -> list[Quantity]:
    """The headline of the best layout's step. A mixture of experts is not checked by any row: estimated, no range."""
    candidate = plan.best
    estimate = candidate.estimate
    checked = plan.training.model.moe is None
    basis = Basis.FITTED if checked else Basis.ESTIMATED
    source = "model of this report"
    low, high = accuracy()["step time"].around(estimate.seconds)
    per_second = estimate.mfu * estimate.seconds

    def quantity(
        name: str, value: float, unit: str, worst: float | None = None, best: float | None = None
    ) -> Quantity:
        return Quantity(
            name, value, unit, basis, source, worst if checked else None, best if checked else None
        )

    return [
        quantity("step time", estimate.seconds, "s", low, high),
        quantity("MFU", estimate.mfu, "%", per_second / high, per_second / low),
        quantity(
            "tokens", estimate.tokens_per_second, "tokens/s", estimate.tokens / high, estimate.tokens / low
        ),
        quantity("tokens of one GPU", estimate.tokens_per_gpu_second, "tokens/s"),
        quantity("GPU wait", estimate.wait_share, "%"),
        quantity("of it network", estimate.network_share, "%"),
        Quantity("memory of the fullest GPU", max(candidate.memory_gb), "GB", Basis.ESTIMATED, source),
    ]


def quantity_table(quantities: Sequence[Quantity], caption: str = "") -> Table:
    rows = tuple(
        (q.name, q.written, "" if q.unit == "%" else q.unit, q.range, q.basis.value, q.source)
        for q in quantities
    )
    columns = ("quantity", "value", "unit", "range", "basis", "source")
    return table(columns, rows, caption=caption, numeric=("value", "range"))


def _layout_row(candidate: Candidate) -> tuple[str, ...]:
    estimate = candidate.estimate
    cut = f"after layer {candidate.cut_layer}" if candidate.cut else "-"
    return (
        candidate.label,
        candidate.layout.describe(),
        cut,
        f"{number(estimate.seconds)} s",
        f"{estimate.mfu:.1%}",
        f"{max(candidate.memory_gb):.0f} GB",
    )


def step_section(plan: Plan) -> Section:
    """The step, its parts, the layouts behind it and what would help."""
    best = plan.best
    training = plan.training
    seconds = best.estimate.seconds
    parts = tuple(
        (PART_NAMES[key], f"{number(value)} s", f"{value / seconds:.1%}", PART_BASIS[key])
        for key, value in ((name, best.estimate.parts[name]) for name in PART_NAMES)
    )
    stages = tuple(
        (
            str(index),
            str(layers),
            best.clusters[0 if not best.cut or index < best.cut else 1].size.name,
            f"{memory:.1f} GB",
        )
        for index, (layers, memory) in enumerate(zip(best.split, best.memory_gb, strict=True))
    )
    lead = (
        f"{training.model.name} ({training.model.parameters / 1e9:.1f} billion parameters), {training.global_batch} "
        f"sequences of {training.sequence} tokens a step, {training.precision.value}. Best of {plan.considered} "
        f"layouts that divide ({plan.fitting} fit the memory): {best.layout.describe()} on {best.label}."
    )
    blocks: list[Paragraph | Table | Figure | Bullets] = [Paragraph(lead)]
    blocks += [
        step_figure(plan),
        table(
            ("part", "time", "share", "basis"),
            parts,
            caption=f"Step of {best.label}",
            numeric=("time", "share"),
        ),
        table(
            ("clusters", "layout", "cut", "step", "MFU", "memory"),
            tuple(_layout_row(candidate) for candidate in plan.ranked),
            caption="Layouts, fastest first; step and MFU fitted, memory estimated",
            numeric=("step", "MFU", "memory"),
        ),
        table(
            ("stage", "layers", "on", "memory, estimated"),
            stages,
            caption="Stages of the best layout",
            numeric=("stage", "layers", "memory, estimated"),
        ),
    ]
    if plan.advice:
        rows = tuple((item.change, f"{number(item.seconds)} s", f"{item.gain:.1%}") for item in plan.advice)
        blocks.append(
            table(
                ("change", "step", "saved"),
                rows,
                caption="What would help the split most, fitted",
                numeric=("step", "saved"),
            )
        )
    constants = step_constants()
    shares = []
    for name in dict.fromkeys(cluster.size.gpu.model for cluster in best.clusters):
        platform = next(platform_of(c.size) for c in best.clusters if c.size.gpu.model == name)
        fraction = fraction_of(platform.gpu, training.precision, PLANNER_STACK, constants)
        peak = platform.gpu.peak[training.precision.value]
        shares.append(f"{name}: {fraction.value:.1%} of {peak:g} TFLOP/s ({fraction.basis})")
    blocks.append(Paragraph(f"Achievable compute, {'; '.join(shares)}."))
    return Section("Step time", tuple(blocks))


def accuracy_section() -> Section:
    """What is measured, fitted and estimated, and how far off the model is."""
    rows = tuple(
        (f"busbw, {name}" if name != "step time" else name, str(a.rows), f"{a.median:.1%}", f"{a.nine_in_ten:.1%}",
         f"{a.worst:.1%}")
        for name, a in accuracy().items()
    )  # fmt: skip
    sources = sorted({row.source for row in load_measurements() if row.part == "fit"})
    known = read_toml("sources.toml")
    return Section(
        "What is measured, what is estimated",
        (
            Bullets(
                (
                    "Nothing here was measured on this fabric. Measured values are other people's, with their source.",
                    "Fitted: predicted by a model whose constants were fitted to published rows; the table below has "
                    "its errors on rows that no constant was fitted on.",
                    "Estimated: from vendors' statements and arithmetic, without a row to check: memory, latency "
                    "between regions, constants named as inherited or unverified.",
                    "Published: stated by the vendor. Prices are list prices without tax and discounts.",
                )
            ),
            table(("prediction", "checked rows", "median error", "nine in ten below", "worst"), rows,
                  numeric=("checked rows", "median error", "nine in ten below", "worst")),
            Paragraph("Fitted to: " + "; ".join(f"{key}: {known[key]}" for key in sources) + "."),
        ),
    )  # fmt: skip
