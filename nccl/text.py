"""Text, by means that Python 3.8 has: what lies in the part of `nccl` that a node runs reads and works there."""

from __future__ import annotations


def without_prefix(text: str, prefix: str) -> str:
    """`text` without `prefix` where it begins with it. `str.removeprefix` came with Python 3.9."""
    return text[len(prefix) :] if text.startswith(prefix) else text


def without_suffix(text: str, suffix: str) -> str:
    """`text` without `suffix` where it ends in it; the empty suffix is at the end of everything."""
    return text[: len(text) - len(suffix)] if text.endswith(suffix) else text
