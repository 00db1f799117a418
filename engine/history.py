"""What became of a stack's last update."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

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


def failed_before(engine: Engine, stack: str, project: Path, environment: Mapping[str, str]) -> bool:
    """The same of a stack of any backend. False where the engine does not say."""
    line = [engine.path, "stack", "history", "--stack", stack, "--page-size", "1", "--output", "json"]
    done = subprocess.run(
        line, cwd=project, env=dict(environment), capture_output=True, text=True, check=False
    )
    try:
        updates = json.loads(done.stdout) if done.returncode == 0 else []
    except ValueError:
        return False
    return bool(updates) and updates[0].get("result") == _FAILED
