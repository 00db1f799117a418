"""How the GPUs of a node are joined; standard library only, because the node's own checks read it too."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class NvLink:
    links: int
    """Links a GPU has."""
    switched: bool
    """Whether switches join them, so that `nvidia-fabricmanager` must run."""
    source: str


@cache
def _models() -> dict[str, NvLink]:
    text = files("gpu_fabric.nccl.hardware").joinpath("nvlink.toml").read_text(encoding="utf-8")
    return {name: NvLink(**row) for name, row in tomllib.loads(text)["models"].items()}


def nvlink(model: str, gpus: int) -> NvLink | None:
    """NVLink of a node with so many GPUs of a model; None where no source states it. One GPU alone has no links."""
    found = _models().get(model)
    return NvLink(0, False, found.source) if found is not None and gpus == 1 else found
