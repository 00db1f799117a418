"""Pipeline schedules, simulated operation by operation: 1F1B, interleaved 1F1B, and extra microbatches in flight.

Every stage runs its operations in the schedule's order; an operation starts when the stage is free and its input has
arrived. Sends do not block. A link carries one transfer at a time and direction, in the order in which they were
sent, and delivers each after the link's latency. Nothing is approximated by a bubble formula.

Orders: 1F1B as in arXiv 2104.04473 section 2.2.1, interleaved as in section 2.2.2 (the order of Megatron-LM's
`forward_backward_pipelining_with_interleaving`). Extra in-flight microbatches lengthen the warm-up of the stages before
the slow link: they cover the round trip over it, at the price of the activations held.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from gpu_fabric.planning.errors import PlanningError


@dataclass(frozen=True)
class StageTime:
    """Seconds of one microbatch through one stage (all its virtual stages together)."""

    forward: float
    backward: float


@dataclass(frozen=True)
class Hop:
    """The way between two stages. Seconds; `transfer` is the time one microbatch's activations occupy the link."""

    latency: float = 0.0
    transfer: float = 0.0
    shared: str = ""
    """Hops of the same name and direction share one link's capacity; empty: a link of its own."""


@dataclass(frozen=True)
class Schedule:
    microbatches: int
    virtual: int = 1
    """Virtual stages a stage (interleaving); 1 is plain 1F1B."""
    extra_in_flight: int = 0
    """Microbatches that the stages before the cut start beyond what 1F1B does, before their first backward pass."""
    cut: int = 0
    """The first stage behind the slow link; only with `extra_in_flight`."""


class Operation(NamedTuple):
    stage: int
    chunk: int
    microbatch: int
    backward: bool
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """What a simulation found. Seconds."""

    seconds: float
    busy: tuple[float, ...]
    """Work of each stage."""
    in_flight: tuple[int, ...]
    """The most microbatches (times virtual stages) whose activations each stage holds at once."""
    operations: tuple[Operation, ...]

    @property
    def idle_share(self) -> float:
        """Mean share of the stages' time without work."""
        return 1 - sum(self.busy) / (len(self.busy) * self.seconds) if self.seconds else 0.0


Order = Sequence[tuple[bool, int, int]]
"""(backward, chunk, microbatch) of one stage in the order it runs them."""

REMEMBERED = 8_192
"""Passes of a stage up to which its order is kept: a search runs few schedules, many times."""


def _order(stage: int, stages: int, schedule: Schedule) -> Order:
    short = schedule.microbatches * schedule.virtual <= REMEMBERED
    return _remembered_order(stage, stages, schedule) if short else _new_order(stage, stages, schedule)


@lru_cache(maxsize=128)
def _remembered_order(stage: int, stages: int, schedule: Schedule) -> Order:
    return _new_order(stage, stages, schedule)


def _new_order(stage: int, stages: int, schedule: Schedule) -> Order:
    m, v = schedule.microbatches, schedule.virtual
    total = m * v

    def unit(index: int, backward: bool) -> tuple[bool, int, int]:
        """The chunk and microbatch of the index-th forward (or backward) pass of a stage."""
        round_, place = divmod(index, stages * v)
        chunk = place // stages
        return backward, (v - 1 - chunk if backward else chunk), round_ * stages + place % stages

    warmup = stages - stage - 1 if v == 1 else 2 * (stages - stage - 1) + (v - 1) * stages
    warmup = min(total, warmup + (schedule.extra_in_flight if stage < schedule.cut else 0))
    if v == 1:
        forward = [(False, 0, index) for index in range(total)]
        backward = [(True, 0, index) for index in range(total)]
        pairs = zip(forward[warmup:], backward, strict=False)
        steady = [operation for pair in pairs for operation in pair]
        return [*forward[:warmup], *steady, *backward[total - warmup :]]
    order = [unit(index, False) for index in range(warmup)]
    for index in range(total - warmup):
        order.append(unit(warmup + index, False))
        order.append(unit(index, True))
    order.extend(unit(index, True) for index in range(total - warmup, total))
    return order


def _check(stages: int, schedule: Schedule) -> None:
    if schedule.virtual > 1 and schedule.microbatches % stages:
        raise PlanningError(
            [
                f"training: interleaving needs microbatches in multiples of the pipeline stages: "
                f"{schedule.microbatches} microbatches, {stages} stages; change globalBatch or set virtual stages to 1"
            ]
        )


def _successor(
    stage: int, backward: bool, chunk: int, stages: int, virtual: int
) -> tuple[int, bool, int] | None:
    """Where an output goes: the next stage, the next chunk, or the backward pass of the same unit."""
    if not backward:
        if stage < stages - 1:
            return stage + 1, False, chunk
        return (0, False, chunk + 1) if chunk < virtual - 1 else (stage, True, chunk)
    if stage > 0:
        return stage - 1, True, chunk
    return (stages - 1, True, chunk - 1) if chunk > 0 else None


def simulate(
    stages: Sequence[StageTime], hops: Mapping[tuple[int, int], Hop], schedule: Schedule
) -> Timeline:
    """Run `schedule` over `stages`; `hops[a, b]` is the way from stage a to stage b, free where not given.

    Raises `PlanningError` where interleaving's order needs microbatches in multiples of the stages.
    """
    count, virtual = len(stages), schedule.virtual
    _check(count, schedule)
    orders = [_order(stage, count, schedule) for stage in range(count)]
    position = [0] * count
    free = [0.0] * count
    busy = [0.0] * count
    held = [0] * count
    peak = [0] * count
    ready: dict[tuple[int, bool, int, int], float] = {
        (0, False, 0, mb): 0.0 for mb in range(schedule.microbatches)
    }
    link_free: dict[tuple[str, bool], float] = defaultdict(float)
    operations: list[Operation] = []
    events: list[tuple[float, int, int, bool, int, int]] = []
    sequence = 0

    def start_next(stage: int) -> None:
        """Start the stage's next operation if its input has arrived (or is known to arrive)."""
        nonlocal sequence
        if position[stage] == len(orders[stage]):
            return
        backward, chunk, microbatch = orders[stage][position[stage]]
        arrival = ready.get((stage, backward, chunk, microbatch))
        if arrival is None:
            return
        position[stage] += 1
        begin = max(free[stage], arrival)
        cost = (stages[stage].backward if backward else stages[stage].forward) / virtual
        end = begin + cost
        free[stage] = end
        busy[stage] += cost
        held[stage] += -1 if backward else 1
        peak[stage] = max(peak[stage], held[stage])
        operations.append(Operation(stage, chunk, microbatch, backward, begin, end))
        sequence += 1
        heapq.heappush(events, (end, sequence, stage, backward, chunk, microbatch))

    running = [False] * count
    for stage in range(count):
        before = position[stage]
        start_next(stage)
        running[stage] = position[stage] > before
    while events:
        end, _, stage, backward, chunk, microbatch = heapq.heappop(events)
        running[stage] = False
        target = _successor(stage, backward, chunk, count, virtual)
        if target is not None:
            to_stage, to_backward, to_chunk = target
            arrival = end
            hop = hops.get((stage, to_stage))
            if hop is not None and to_stage != stage:
                forward_way = stage < to_stage
                key = (hop.shared or f"{min(stage, to_stage)}-{max(stage, to_stage)}", forward_way)
                sent = max(end, link_free[key]) + hop.transfer
                link_free[key] = sent
                arrival = sent + hop.latency
            ready[to_stage, to_backward, to_chunk, microbatch] = arrival
            if not running[to_stage]:
                before = position[to_stage]
                start_next(to_stage)
                running[to_stage] = position[to_stage] > before
        if not running[stage]:
            before = position[stage]
            start_next(stage)
            running[stage] = position[stage] > before
    return Timeline(max(free), tuple(busy), tuple(peak), tuple(operations))


def slowdown(timeline: Timeline, stages: Sequence[StageTime], schedule: Schedule) -> float:
    """How much longer than the same schedule over free hops: 0.81 is 81 %."""
    return timeline.seconds / simulate(stages, {}, schedule).seconds - 1


def makespan(stages: Sequence[StageTime], hops: Mapping[tuple[int, int], Hop], schedule: Schedule) -> float:
    """The seconds of `simulate`, several times faster, when no two stages share a link in one direction.

    Then transfers leave a stage in the stage's own order, and every stage can run ahead as far as its inputs are known
    without a common clock. Raises `ValueError` for shared links under interleaving.
    """
    return _run(stages, hops, schedule)[0]


Arrivals = list[list[list[list[float | None]]]]


def _way(
    stage: int, backward: bool, chunk: int, arrivals: Arrivals, hops: Mapping[tuple[int, int], Hop]
) -> tuple[int, list[float | None], Hop | None] | None:
    """The stage that an output goes to, where its arrival is noted, and the hop between; None at the end."""
    target = _successor(stage, backward, chunk, len(arrivals), len(arrivals[0][0]))
    if target is None:
        return None
    to_stage, to_backward, to_chunk = target
    hop = hops.get((stage, to_stage)) if to_stage != stage else None
    return to_stage, arrivals[to_stage][to_backward][to_chunk], hop


def _run(
    stages: Sequence[StageTime], hops: Mapping[tuple[int, int], Hop], schedule: Schedule
) -> tuple[float, list[float]]:
    """The makespan, and when each microbatch has passed backward through the first stage, in that order."""
    count, virtual, total = len(stages), schedule.virtual, schedule.microbatches
    _check(count, schedule)
    if virtual > 1 and any(hop.shared for hop in hops.values()):
        raise ValueError("two stages share a link: use simulate")
    orders = [_order(stage, count, schedule) for stage in range(count)]
    # Arrival of each input, by stage, direction and chunk; None until it is known.
    arrivals: Arrivals = [
        [[[None] * total for _ in range(virtual)] for _ in (False, True)] for _ in range(count)
    ]
    arrivals[0][False][0] = [0.0] * total
    targets = [
        [
            [_way(stage, backward, chunk, arrivals, hops) for chunk in range(virtual)]
            for backward in (False, True)
        ]
        for stage in range(count)
    ]
    done: list[float] = []
    free = [0.0] * count
    position = [0] * count
    link_free = dict.fromkeys(hops, 0.0)
    costs = [(stage.forward / virtual, stage.backward / virtual) for stage in stages]
    waiting = deque(range(count))
    queued = [True] * count
    while waiting:
        stage = waiting.popleft()
        queued[stage] = False
        own, order, now, index = arrivals[stage], orders[stage], free[stage], position[stage]
        cost, ways, end = costs[stage], targets[stage], len(order)
        while index < end:
            backward, chunk, microbatch = order[index]
            arrival = own[backward][chunk][microbatch]
            if arrival is None:
                break
            index += 1
            now = (arrival if arrival > now else now) + cost[backward]
            way = ways[backward][chunk]
            if way is None:
                done.append(now)
                continue
            to_stage, inbox, hop = way
            due = now
            if hop is not None:
                left = link_free[stage, to_stage]
                left = (left if left > now else now) + hop.transfer
                link_free[stage, to_stage] = left
                due = left + hop.latency
            inbox[microbatch] = due
            if to_stage != stage and not queued[to_stage]:
                queued[to_stage] = True
                waiting.append(to_stage)
        free[stage], position[stage] = now, index
    return max(free), done


def steady_seconds(
    stages: Sequence[StageTime], hops: Mapping[tuple[int, int], Hop], schedule: Schedule
) -> float:
    """The makespan, from a short run and its pace between filling and draining.

    A schedule repeats itself once it is full, so every further microbatch adds the same time; where a slow link makes
    that rhythm long, the pace of a few microbatches is off by some percent. For a search, which ends with `makespan`.
    A schedule that is hardly longer than the short run is run whole.
    """
    count = len(stages)
    unit = count if schedule.virtual > 1 else 1
    window = unit * -(-8 // unit)
    reach = (count if schedule.virtual == 1 else 2 * count) + schedule.extra_in_flight
    short = -(-(3 * reach + 4 + window) // unit) * unit
    if schedule.microbatches <= short + unit:
        return makespan(stages, hops, schedule)
    seconds, done = _run(stages, hops, replace(schedule, microbatches=short))
    last = short - reach - 1
    pace = (done[last] - done[last - window]) / window
    return seconds + (schedule.microbatches - short) * pace
