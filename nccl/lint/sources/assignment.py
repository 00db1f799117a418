"""One variable as it stands in a file, and the kinds of file that are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Format(StrEnum):
    """How a file is read."""

    CONF = "conf"
    """NCCL's own files: nccl.conf."""
    SHELL = "shell"
    SLURM = "slurm"
    """A shell script with #SBATCH lines."""
    DOCKERFILE = "dockerfile"
    KUBERNETES = "kubernetes"
    """YAML: pods, config maps, compose files."""
    ENV = "env"
    """What `env` prints."""
    VALUES = "values"
    """No file: variables given by a program."""


LIBRARY_PREFIXES: Final = ("NCCL_", "FI_", "UCX_", "SHARP_", "OFI_NCCL_", "OMPI_MCA_")
LIBRARY_NAMES: Final = ("CUDA_DEVICE_ORDER", "RDMAV_FORK_SAFE", "LD_LIBRARY_PATH")
_CONCERNS_US: Final = re.compile(r"NCCL_|FI_|UCX_|SHARP_|OFI_NCCL_|OMPI_MCA_", re.IGNORECASE)


def concerns_us(name: str) -> bool:
    """Whether lint looks at a variable: NCCL's, libfabric's, UCX's, SHARP's, and a few others. In any case."""
    return _CONCERNS_US.match(name) is not None or name in LIBRARY_NAMES


def concerns_us_anywhere(text: str) -> bool:
    """Whether a text may hold the name of a variable that lint looks at."""
    return _CONCERNS_US.search(text) is not None or any(name in text for name in LIBRARY_NAMES)


@dataclass(frozen=True)
class Assignment:
    """A variable that a file sets. `line` counts from 1; `last_line` is where it ends."""

    name: str
    value: str | None
    """None where the file computes it (`$OTHER`, `$(command)`): then only the name is checked."""
    path: str
    line: int
    format: Format
    last_line: int = 0
    exported: bool = True
    """Whether a child process sees it; a shell assignment need not."""
    alone: bool = False
    """Whether the lines hold nothing else, so that they can be taken out."""
    default: bool = False
    """`${NAME:-value}`: the value counts where the job has set none."""
    pod_network: bool = False
    """Whether it stands in a pod or compose service that has a network of its own."""

    @property
    def end(self) -> int:
        return self.last_line or self.line


@dataclass(frozen=True)
class Misreading:
    """A line that its reader takes for something else than was meant."""

    code: str
    line: int
    what: str
    remedy: str
    mended: str | None = None
    """The line as it should be, where that is certain."""
    names: tuple[str, ...] = ()
    until: str | None = None
    """The first release that reads the line as it was meant."""
    source: str = "NVIDIA/nccl src/misc/param.cc 2.30.7"
    whole_file: bool = False
    """Mended by writing the file anew without byte order mark and CR."""


@dataclass(frozen=True)
class Source:
    """A file as it was read: what it sets, and what its reader will misunderstand."""

    path: str
    format: Format
    text: str
    assignments: tuple[Assignment, ...] = ()
    misreadings: tuple[Misreading, ...] = ()
