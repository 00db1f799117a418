"""The prices that a preview counts with."""

from __future__ import annotations

import pulumi

from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.price import PriceTable, prices_in_force


def stack_prices() -> PriceTable:
    """The same that `gpu-fabric plan` counts with. A price file that cannot be read ends the program with a message."""
    try:
        return prices_in_force()
    except PlanningError as error:
        raise pulumi.RunError(str(error)) from None
