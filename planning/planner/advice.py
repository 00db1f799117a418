"""Whether to split a training over two clouds, what would help the split, and what to watch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_fabric.planning.collectives import platform_of
from gpu_fabric.planning.layout import Training
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.memory import GRADIENT_BYTES
from gpu_fabric.planning.planner.candidates import placement_of
from gpu_fabric.planning.planner.search import Candidate
from gpu_fabric.planning.regions import closest_partner
from gpu_fabric.planning.spec import FabricSpec
from gpu_fabric.planning.step import StepEstimate, estimate_step


@dataclass(frozen=True)
class Advice:
    """One change and what it would do to the step time of the split."""

    change: str
    seconds: float
    gain: float
    """Share of the step time saved; 0.1 is 10 %."""


def _again(training: Training, candidate: Candidate, link: LinkModel, **changes: int) -> StepEstimate:
    """The split's step with another link, or another layout of the same GPUs."""
    platforms = [platform_of(cluster.size) for cluster in candidate.clusters]
    counts = (candidate.cut, candidate.layout.pipeline - candidate.cut)
    layout = replace(candidate.layout, **changes)
    return estimate_step(
        training, layout, placement_of(platforms, counts, link), split=candidate.split, exact=False
    )


def advice_for(training: Training, split: Candidate, link: LinkModel, spec: FabricSpec) -> list[Advice]:
    """What would help the split, the most helpful first; changes that gain less than 0.5 % are left out."""
    now = split.estimate.seconds
    changes: list[tuple[str, float]] = []
    for factor in (2, 4, 10):
        wider = replace(link, bandwidth_gbps=link.bandwidth_gbps * factor)
        changes.append((f"a link of {wider.bandwidth_gbps:g} Gb/s", _again(training, split, wider).seconds))
    near = closest_partner(spec.aws.region if spec.aws else None)
    if near is not None and near.rtt_ms < link.rtt_ms:
        nearer = replace(link, rtt_ms=near.rtt_ms)
        words = f"the region pair {near.aws} and {near.azure} ({near.rtt_ms:g} ms, estimated)"
        changes.append((words, _again(training, split, nearer).seconds))
    if link.loss > 0:
        changes.append(("a link without loss", _again(training, split, replace(link, loss=0.0)).seconds))
    layout = split.layout
    for extra in (layout.extra_in_flight + 1, layout.extra_in_flight + 2, layout.extra_in_flight + 4):
        again = _again(training, split, link, extra_in_flight=extra).seconds
        changes.append((f"{extra} microbatches in flight before the link beyond 1F1B (more memory)", again))
    doubled = replace(training, global_batch=2 * training.global_batch)
    changes.append(
        (
            f"twice the global batch ({doubled.global_batch}), per token",
            _again(doubled, split, link).seconds / 2,
        )
    )
    advice = [Advice(words, seconds, 1 - seconds / now) for words, seconds in changes]
    return sorted((item for item in advice if item.gain > 0.005), key=lambda item: -item.gain)


def without_loss(single: Sequence[Candidate], split: Candidate) -> float:
    """Seconds of a step if each cloud kept, in the split, the speed that it has alone.

    A cloud that cannot hold the training alone is counted by its GPUs' peak against the other's.
    """
    rates = {candidate.clusters[0].cloud: 1 / candidate.estimate.seconds for candidate in single}
    peaks = {
        cluster.cloud: cluster.gpus * platform_of(cluster.size).gpu.peak["bf16"] for cluster in split.clusters
    }
    a_peak = sum(rates.values()) / sum(peaks[cloud] for cloud in rates)
    return 1 / sum(rates.get(cloud, peak * a_peak) for cloud, peak in peaks.items())


def verdict_on(
    single: Sequence[Candidate], split: Candidate | None, link: LinkModel | None, *, clouds: int
) -> str:
    """Whether to split, with its numbers; empty for one cloud."""
    if link is None and clouds > 1:
        best = min(single, key=lambda candidate: candidate.estimate.seconds)
        return (
            f"No link is given, so each cloud was planned alone; the fastest is {best.label}, "
            f"{best.estimate.seconds:.2f} s a step. Give `interconnect` to plan both clouds together."
        )
    if link is None:
        return ""
    if not single and split is not None:
        b = split.estimate
        link = link.between(split.layout.stage_gpus)
        return (
            f"Neither cloud alone has the memory for this training: only the split runs, at {b.seconds:.2f} s a step; "
            f"the cut carries {b.link_bytes / 1e9:.1f} GB a step and direction over {link.limit} (the link is busy "
            f"{b.link_share:.0%} of the step)."
        )
    if split is None:
        return "No layout over both clouds divides and fits; each cloud alone does."
    link = link.between(split.layout.stage_gpus)
    alone = min(single, key=lambda candidate: candidate.estimate.seconds)
    a, b = alone.estimate, split.estimate
    carries = f"{b.link_bytes / 1e9:.1f} GB a step and direction over {link.limit}"
    busy = f"the link is busy {b.link_share:.0%} of the step"
    gpus = f"{b.gpus} GPUs against {a.gpus}"
    if b.seconds >= a.seconds:
        return (
            f"Do not split this across clouds: {alone.label} alone takes {a.seconds:.2f} s a step, both clouds "
            f"{b.seconds:.2f} s with {gpus}, because the cut carries {carries} ({busy})."
        )
    ideal = without_loss(single, split)
    efficiency = ideal / b.seconds
    lead = (
        f"Splitting makes a step {a.seconds / b.seconds:.2f} times as fast: {b.seconds:.2f} s on both clouds with "
        f"{gpus}, {a.seconds:.2f} s on {alone.label} alone; the cut carries {carries} ({busy})."
    )
    kept = f"{efficiency:.0%} of the speed that they have apart ({ideal:.2f} s if nothing were lost)"
    if efficiency < WORTH_SPLITTING:
        return (
            f"{lead} Together the clouds keep only {kept}: two separate runs, or one cloud, use the money better "
            "unless one run must end sooner."
        )
    return f"{lead} Together the clouds keep {kept}."


WORTH_SPLITTING = 0.7
"""Share of their speed apart that the clouds must keep for a split to be called worth it."""


def findings_of(training: Training, split: Candidate | None, link: LinkModel | None) -> list[str]:
    found = []
    model = training.model
    if model.moe is not None:
        found.append(
            f"{model.name} is a mixture of experts: no published run checks its step time here, and the many small "
            "matrix products of its experts are counted like large ones; take the step time as a lower bound"
        )
    if link is not None and split is not None:
        link = link.between(split.layout.stage_gpus)
    if split is not None and link is not None and model.tied_embeddings:
        size = float(GRADIENT_BYTES * model.head_parameters)
        found.append(
            f"{model.name} ties its output projection to the embedding, and the cut puts them on two clouds: "
            f"{size / 1e9:.2f} GB of gradients are reduced over the link each step "
            f"({link.transfer_seconds(size) + link.rtt_ms / 1e3:.2f} s); untie the embeddings"
        )
    if link is not None and link.limited_by_flows:
        found.append(
            f"the link's {link.bandwidth_gbps:g} Gb/s are not reached: {link.limit} carry {link.goodput_gbps:.2f} Gb/s"
        )
    return found
