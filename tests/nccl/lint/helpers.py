"""What the lint tests share: lint a text for a size, and the findings as (line, code, level)."""

from __future__ import annotations

from typing import Any

from gpu_fabric.nccl.environment import situation_of
from gpu_fabric.nccl.findings import Finding
from gpu_fabric.nccl.hardware import get_size
from gpu_fabric.nccl.lint import Target, fix, lint

P4D = "p4d.24xlarge"
P5 = "p5.48xlarge"
P5EN = "p5en.48xlarge"
NDV4 = "Standard_ND96asr_v4"
NDV5 = "Standard_ND96isr_H100_v5"


def target(size: str | None, **situation: Any) -> Target:
    if size is None:
        return Target()
    return Target(situation_of(size, **situation), get_size(size))


def findings(text: str, size: str | None = None, path: str = "job.sh", **situation: Any) -> list[Finding]:
    wanted = target(size, **situation)
    return lint({path: text}, situation=wanted.situation, size=wanted.size)


def found(
    text: str, size: str | None = None, path: str = "job.sh", **situation: Any
) -> list[tuple[int | None, str, str]]:
    return [(entry.line, entry.code, entry.level.value) for entry in findings(text, size, path, **situation)]


def codes(text: str, size: str | None = None, path: str = "job.sh", **situation: Any) -> list[str]:
    return [entry.code for entry in findings(text, size, path, **situation)]


def variable(name: str, value: str, size: str | None = None, **situation: Any) -> list[Finding]:
    """Lint one variable as `env` would print it."""
    return findings(f"{name}={value}\n", size, path="job.env", **situation)


def mended(text: str, size: str | None = None, path: str = "job.sh", **situation: Any) -> str:
    return fix({path: text}, [target(size, **situation)]).get(path, text)
