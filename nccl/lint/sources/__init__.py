"""Reading environments out of files: shell, Slurm, nccl.conf, Dockerfile, Kubernetes YAML, output of `env`."""

from gpu_fabric.nccl.lint.sources.assignment import Assignment, Format, Misreading, Source, concerns_us
from gpu_fabric.nccl.lint.sources.detect import detect_format, is_topology, other_language, read_source

__all__ = [
    "Assignment",
    "Format",
    "Misreading",
    "Source",
    "concerns_us",
    "detect_format",
    "is_topology",
    "other_language",
    "read_source",
]
