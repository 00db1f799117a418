"""Look-ups of what is adopted, made only where the user asks for them: each needs a login at preview."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pulumi

Found = TypeVar("Found")


def looked_up(ask: Callable[[], Found], *, where: str, id_: str, what: str, switch: str) -> Found:
    """What `ask` finds. Raises RunError where it finds nothing.

    `where` is the key that holds `id_`, `what` a thing of its kind, and `switch` the key that asks for the look-up.
    """
    try:
        return ask()
    except Exception as failure:  # the engine gives what the provider said this type and no other
        raise pulumi.RunError(
            f"{where}: {id_} could not be looked up ({failure}); give a {what} of this account and region, or leave "
            f"out `{switch}`"
        ) from failure
