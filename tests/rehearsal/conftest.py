"""A simulated cloud for each test, empty at first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import fabric
from .small_engine import SmallEngine


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallEngine:
    """The simulated AWS in us-east-1."""
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "GPU_FABRIC_REHEARSAL_FAULTS"):
        monkeypatch.delenv(variable, raising=False)
    return SmallEngine("aws", tmp_path / "clouds.db", region="us-east-1")


@pytest.fixture
def net(aws: SmallEngine) -> fabric.Fabric:
    """A VPC, a /24 subnet in us-east-1a and a security group."""
    return fabric.make(aws)


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Switches faults on: ``faults(throttle=[{"first": 2}])``. Called again, it replaces what was on."""

    def switch(**rules: Any) -> None:
        path = tmp_path / "faults.json"
        path.write_text(json.dumps(rules))
        monkeypatch.setenv("GPU_FABRIC_REHEARSAL_FAULTS", str(path))

    return switch
