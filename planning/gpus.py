"""What a GPU computes and how fast its NVLink is: rows of `data/gpus.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gpu_fabric.planning.errors import unknown_name
from gpu_fabric.planning.tables import read_toml


@dataclass(frozen=True, eq=False)
class GpuModel:
    """Peaks in 10^12 FLOP/s, dense; bandwidths in 10^9 byte/s."""

    name: str
    peak: Mapping[str, float]
    """By precision: bf16 (fp16 has the same), fp8 where the GPU has it."""
    nvlink_gbs: float
    """One direction of one GPU; 0 without NVLink."""
    hbm_tbs: float
    """10^12 byte/s that the memory copies."""
    nvls: bool = False
    """Whether NVSwitch reduces (NVLink SHARP)."""
    matmul: Mapping[str, float] = field(default_factory=dict)
    """The best measured matrix product, by precision."""
    unverified: tuple[str, ...] = ()


@cache
def gpu_models() -> Mapping[str, GpuModel]:
    """Every GPU of the table by name."""
    rows: dict[str, dict[str, Any]] = {
        name: row for name, row in read_toml("gpus.toml").items() if isinstance(row, dict)
    }
    return {
        name: GpuModel(
            name=name,
            peak=row["peak"],
            nvlink_gbs=row["nvlink_gbs"],
            hbm_tbs=row["hbm_tbs"],
            nvls=row.get("nvls", False),
            matmul=row.get("matmul", {}),
            unverified=tuple(row.get("unverified", ())),
        )
        for name, row in rows.items()
    }


def get_gpu(name: str) -> GpuModel:
    """The GPU of that name; raises `UnknownNameError` with the nearest. `GB200` is a B200 to the planner."""
    models = gpu_models()
    known = name if name in models else name.removeprefix("G")
    if known not in models:
        raise unknown_name("GPU", name, tuple(models))
    return models[known]
