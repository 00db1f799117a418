"""Which kind of file a text is, from its name and its content."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from gpu_fabric.nccl.lint.sources.assignment import Assignment, Format, Misreading, Source
from gpu_fabric.nccl.lint.sources.conf import read_conf
from gpu_fabric.nccl.lint.sources.dockerfile import read_dockerfile
from gpu_fabric.nccl.lint.sources.shell import read_shell
from gpu_fabric.nccl.text import without_prefix

_ENV_LINE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(%%|\(\))?=.*")
_SHELL_SUFFIXES: Final = frozenset({".sh", ".bash", ".zsh", ".ksh", ".csh", ".tcsh"})
_SLURM_SUFFIXES: Final = frozenset({".sbatch", ".slurm"})
_YAML_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
"""JSON is YAML, as far as manifests go."""
_OTHER_LANGUAGES: Final = frozenset(
    {
        ".py",
        ".ipynb",
        ".pl",
        ".rb",
        ".js",
        ".ts",
        ".lua",
        ".go",
        ".rs",
        ".java",
        ".jl",
        ".c",
        ".cc",
        ".cpp",
        ".cu",
        ".h",
    }
    | {".hpp", ".toml", ".tf", ".hcl", ".md", ".rst", ".html", ".csv", ".ps1", ".bat"}
)
_OTHER_INTERPRETER: Final = re.compile(r"#!.*\b(?:python|perl|ruby|node|lua|julia|pwsh)")
# What only a shell reads: a file with one such line is sourced, whatever its suffix.
_SHELL_LINE: Final = re.compile(
    r"""^[ \t]*(?:export|declare|source|\.|if|for|set|unset|ulimit|module)\s"""
    r"""|^[^#\n]*?(?:\$[({A-Za-z_]|`)"""
    r"""|^[ \t]*\w+=(?:"|')""",
    re.MULTILINE,
)
_NCCLS_OWN: Final = frozenset({"nccl.conf", ".nccl.conf"})
BYTE_ORDER_MARK: Final = "\ufeff"


def is_topology(path: str, text: str) -> bool:
    """Whether a file is a topology XML: by its suffix, or because it begins like one."""
    return PurePath(path).suffix.lower() == ".xml" or text.lstrip("\ufeff \t\r\n").startswith(
        ("<system", "<?xml")
    )


def other_language(path: str, text: str) -> str | None:
    """What lint does not read, by suffix or interpreter; None for what it reads or takes for a script."""
    suffix = PurePath(path).suffix.lower()
    if suffix in _OTHER_LANGUAGES:
        return suffix
    interpreter = _OTHER_INTERPRETER.match(without_prefix(text, BYTE_ORDER_MARK))
    return interpreter[0] if interpreter else None


def detect_format(path: str, text: str) -> Format:
    """The kind of an environment file. A name that says nothing is decided by the content; the last guess is shell.

    `.conf` says little: nccl.conf is NCCL's, and others are sourced by scripts as often as NCCL_CONF_FILE names them.
    """
    text = without_prefix(text, BYTE_ORDER_MARK)
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
    if name in _NCCLS_OWN or (suffix == ".conf" and not _SHELL_LINE.search(text)):
        return Format.CONF
    if suffix == ".conf":
        return Format.SHELL
    if suffix == ".env" or _looks_like_env(text):
        return Format.ENV
    return Format.SHELL


def _looks_like_env(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ENV_LINE.fullmatch(line) for line in lines)


def read_source(path: str, text: str, format_: Format | None = None) -> Source:
    """Read an environment file of any kind. Never raises for its content."""
    chosen = format_ or detect_format(path, text)
    if text.startswith(BYTE_ORDER_MARK):
        source = _read(path, without_prefix(text, BYTE_ORDER_MARK), chosen)
        marks = (_MARK_MISREAD,) if chosen in _TAKE_MARK_FOR_TEXT else ()
        return replace(source, text=text, misreadings=(*marks, *source.misreadings))
    return _read(path, text, chosen)


_TAKE_MARK_FOR_TEXT: Final = frozenset({Format.CONF, Format.SHELL, Format.SLURM})
_MARK_MISREAD: Final = Misreading(
    "env-byte-order-mark",
    1,
    "The file begins with a UTF-8 byte order mark, which its reader takes for text: the first line is lost.",
    "Save it as UTF-8 without a byte order mark.",
    source="NVIDIA/nccl src/misc/param.cc 2.30.7; POSIX shell",
    whole_file=True,
)


def _read(path: str, text: str, chosen: Format) -> Source:
    if chosen is Format.CONF:
        return read_conf(path, text)
    if chosen is Format.DOCKERFILE:
        return read_dockerfile(path, text)
    if chosen is Format.KUBERNETES:
        # Imported here: PyYAML is not on every node, and the preflight reads no YAML.
        from gpu_fabric.nccl.lint.sources.kubernetes import read_kubernetes

        return read_kubernetes(path, text)
    if chosen is Format.ENV:
        return _read_env(path, text)
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
