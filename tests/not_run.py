"""The one way in which a test says that it did not run here, and why. The summary lists every reason."""

from typing import NoReturn

import pytest


def not_run(reason: str) -> NoReturn:
    """Leave the test as not run; `reason` says what this machine lacks."""
    raise pytest.skip.Exception(f"not run: {reason}", _use_item_location=True)
