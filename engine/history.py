"""What became of a stack's last update."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu_fabric.engine.binary import Engine

_FAILED = "failed"


def failed_in(folder: Path) -> bool:
    """Whether the last update in a folder of the local backend's history failed (asking the engine costs a second)."""
    # Each name ends with the time.
    last = max(folder.glob("*.history.json"), key=lambda path: path.name, default=None)
    if last is None:
        return False
    try:
        return json.loads(last.read_text(encoding="utf-8")).get("result") == _FAILED
    except ValueError:
        # Cut off by a kill.
        return False


def checkpoint_in(folder: Path, stack: str) -> Mapping[str, Any]:
    """A stack's state in a folder of the local backend's stacks; empty where there is none that can be read."""
    for name, read in ((f"{stack}.json", Path.read_bytes), (f"{stack}.json.gz", _unpacked)):
        try:
            return json.loads(read(folder / name))
        except (OSError, ValueError):
            # Not there, or cut off by a kill.
            continue
    return {}


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def checkpoint_of(
    engine: Engine, stack: str, project: Path, environment: Mapping[str, str]
) -> Mapping[str, Any]:
    """A stack's state in any backend, as `pulumi stack export` gives it. Empty where the engine does not say."""
    return _said_of(engine, ["export", "--stack", stack], project, environment) or {}


def failed_before(engine: Engine, stack: str, project: Path, environment: Mapping[str, str]) -> bool:
    """Whether the last update of a stack of any backend failed. False where the engine does not say."""
    asked = ["history", "--stack", stack, "--page-size", "1", "--output", "json"]
    updates = _said_of(engine, asked, project, environment)
    return bool(updates) and updates[0].get("result") == _FAILED


def _said_of(engine: Engine, asked: Sequence[str], project: Path, environment: Mapping[str, str]) -> Any:
    """What `pulumi stack` says as JSON; None where it fails or says something else."""
    line = [engine.path, "stack", *asked]
    done = subprocess.run(
        line, cwd=project, env=dict(environment), capture_output=True, text=True, check=False
    )
    try:
        return json.loads(done.stdout) if done.returncode == 0 else None
    except ValueError:
        return None
