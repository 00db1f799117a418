"""What the Azure half of these tests shares."""

from __future__ import annotations

import gc

import pytest

from tests.fidelity.azure import matrix


@pytest.fixture(scope="session", autouse=True)
def sdks_out_of_the_collectors_way() -> None:
    """What the SDKs keep for good, after a first recording has loaded it, is not walked again at each collection.

    A recording then takes two thirds of the time.
    """
    matrix.recorded(matrix.size_cases(matrix.PLAIN_SIZE)[0])
    gc.collect()
    gc.freeze()
