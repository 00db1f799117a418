"""A line search for fitting: no derivatives, few evaluations."""

from __future__ import annotations

from collections.abc import Callable


def line_search(cost: Callable[[float], float], start: float, *, first_step: float = 0.2) -> float:
    """The best multiple of `start`, by steps that halve until they are 0.2 %."""
    best, best_cost, step = start, cost(start), first_step
    while step > 0.002:
        for factor in (1 + step, 1 / (1 + step)):
            trial_cost = cost(best * factor)
            if trial_cost < best_cost - 1e-9:
                best, best_cost = best * factor, trial_cost
                break
        else:
            step /= 2
    return best
