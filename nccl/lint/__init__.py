"""Find what is wrong in anybody's NCCL environment: names, grammar, platform, versions, contradictions."""

from gpu_fabric.nccl.lint.check import MAX_BYTES, Target, diagnose, fix, lint, lint_for, lint_values
from gpu_fabric.nccl.lint.rules import codes
from gpu_fabric.nccl.lint.sources import Format, detect_format

__all__ = [
    "MAX_BYTES",
    "Format",
    "Target",
    "codes",
    "detect_format",
    "diagnose",
    "fix",
    "lint",
    "lint_for",
    "lint_values",
]
