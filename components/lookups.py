"""Look-ups of what exists already: each needs a login, and its answer may be that there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pulumi

Found = TypeVar("Found")

CANCELED = "context canceled"
"""The engine's words where it stops what is under way, because something else failed or a person asked for it."""


def looked_up(ask: Callable[[], Found], *, where: str, what: str, remedy: str) -> Found:
    """What `ask` finds, which waits for its answer. Raises RunError where it finds nothing.

    `where` is the key that led to the look-up, `what` the id or name that was asked for, and `remedy` what to do. An
    invoke in its form with outputs fails past every caller, with a traceback; so `ask` is one without.
    """
    try:
        return ask()
    except Exception as failure:  # the engine gives what the provider said this type and no other
        if CANCELED in str(failure):
            raise pulumi.RunError(
                f"{where}: {what} was not looked up: the run ended before, for a reason that stands beside this"
            ) from failure
        raise pulumi.RunError(f"{where}: {what} could not be looked up ({failure}); {remedy}") from failure
