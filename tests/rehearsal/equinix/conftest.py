"""Three simulated clouds that share one database, empty at first."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..azure.world import World
from ..small_engine import SmallEngine
from .clouds import Clouds


@pytest.fixture
def clouds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clouds:
    """AWS in us-east-1, Azure in eastus with a circuit of Equinix, and Equinix with a router in Ashburn."""
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "GPU_FABRIC_REHEARSAL_FAULTS"):
        monkeypatch.delenv(variable, raising=False)
    database = tmp_path / "clouds.db"
    return Clouds(
        SmallEngine("aws", database, region="us-east-1"),
        World(SmallEngine("azure-native", database, location="eastus")),
        SmallEngine("equinix", database),
    )
