"""What every test of the components shares."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _published_prices_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A preview counts with what this machine's user refreshed or gave, which no test may depend on."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "nothing-cached"))
    monkeypatch.delenv("GPU_FABRIC_PRICES", raising=False)
