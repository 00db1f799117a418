"""Files that a command reads, each named in what is said of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_fabric.cli.errors import InputError

if TYPE_CHECKING:
    from gpu_fabric.nccl.launch import LaunchNode


def text_of(path: Path) -> str:
    """The text of a file, or of standard input for `-`. Raises `InputError` where it is no text."""
    raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is no text in UTF-8 ({error.reason} at byte {error.start})") from None


def nodes_in(path: Path, slots: int | None = None) -> list[LaunchNode]:
    """The nodes that a file lists, with `slots` in place of what it says where that is given. Raises `InputError`."""
    from gpu_fabric.nccl.launch import read_nodes
    from gpu_fabric.nccl.launch.nodes import NodeListError

    try:
        nodes = read_nodes(text_of(path))
    except NodeListError as error:
        raise InputError(f"{path}: {error}") from None
    return nodes if slots is None else [replace(node, slots=slots) for node in nodes]
