"""Which kind of file a text is, from its name and its content."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final

from gpu_fabric.nccl.lint.sources.assignment import Assignment, Format, Source
from gpu_fabric.nccl.lint.sources.conf import read_conf
from gpu_fabric.nccl.lint.sources.dockerfile import read_dockerfile
from gpu_fabric.nccl.lint.sources.shell import read_shell

_ENV_LINE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(%%|\(\))?=.*")
_SHELL_SUFFIXES: Final = frozenset({".sh", ".bash", ".zsh", ".ksh"})
_SLURM_SUFFIXES: Final = frozenset({".sbatch", ".slurm"})
_YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})


def is_topology(path: str, text: str) -> bool:
    """Whether a file is a topology XML: by its suffix, or because it begins like one."""
    return PurePath(path).suffix.lower() == ".xml" or text.lstrip("\ufeff \t\r\n").startswith(
        ("<system", "<?xml")
    )


def detect_format(path: str, text: str) -> Format:
    """The kind of an environment file. A name that says nothing is decided by the content; the last guess is shell."""
    name = PurePath(path).name.lower()
    suffix = PurePath(name).suffix
    if name.startswith("dockerfile") or suffix == ".dockerfile" or name == "containerfile":
        return Format.DOCKERFILE
    if suffix in _YAML_SUFFIXES:
        return Format.KUBERNETES
    if suffix in _SLURM_SUFFIXES or re.search(r"^#SBATCH\b", text, re.MULTILINE):
        return Format.SLURM
    if suffix in _SHELL_SUFFIXES or text.startswith("#!"):
        return Format.SHELL
    if suffix == ".conf" or name == ".nccl.conf":
        return Format.CONF
    if suffix == ".env" or _looks_like_env(text):
        return Format.ENV
    return Format.SHELL


def _looks_like_env(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ENV_LINE.fullmatch(line) for line in lines)


def read_source(path: str, text: str, format_: Format | None = None) -> Source:
    """Read an environment file of any kind. Never raises for its content."""
    chosen = format_ or detect_format(path, text)
    match chosen:
        case Format.CONF:
            return read_conf(path, text)
        case Format.DOCKERFILE:
            return read_dockerfile(path, text)
        case Format.KUBERNETES:
            # Imported here: PyYAML is not on every node, and the preflight reads no YAML.
            from gpu_fabric.nccl.lint.sources.kubernetes import read_kubernetes

            return read_kubernetes(path, text)
        case Format.ENV:
            return _read_env(path, text)
        case _:
            return read_shell(path, text, format_=chosen)


def _read_env(path: str, text: str) -> Source:
    """What `env` printed: real values, so nothing in them is a mistake of writing."""
    from gpu_fabric.nccl.lint.sources.assignment import concerns_us

    found = []
    for index, line in enumerate(text.split("\n")):
        name, separator, value = line.rstrip("\r").partition("=")
        if separator and concerns_us(name) and " " not in name:
            found.append(Assignment(name, value, path, index + 1, Format.ENV, alone=True))
    return Source(path, Format.ENV, text, tuple(found))
