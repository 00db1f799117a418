"""Make `gpu-fabric-preflight` one file that runs on a node with Python 3.8 and nothing else, without internet.

It holds the part of `gpu_fabric.nccl` that it needs, as it is. For Python 3.8 to 3.10 it brings what their standard
library lacks: `older_python`, and `tomllib` as the Python that makes the file has it.
"""

from __future__ import annotations

import io
import json
import stat
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gpu_fabric import __version__
from gpu_fabric.nccl.preflight.expected import Planner

_MAIN: Final = """\
import sys

if sys.version_info < (3, 8):
    sys.exit("gpu-fabric-preflight needs Python 3.8 or later, and this is " + sys.version.split()[0]
             + ": run it with a newer one (python3.11 FILE ...)")
if sys.version_info < (3, 11):
    from gpu_fabric.nccl.preflight.older_python import install

    install(sys.path[0] + "/backport")

from gpu_fabric.nccl.preflight.__main__ import main

sys.exit(main())
"""

#: Programs for other places, what only makes start-up data, and what no check asks for.
_LEFT_OUT: Final = frozenset(
    {
        "templates",
        "node",
        "bootstrap",
        "launch",
        "markdown.py",
        "environment/pages.py",
        "hardware/page.py",
        "lint/pages.py",
        "preflight/zipapp.py",
        "topology/compare.py",
        "topology/draw.py",
    }
)
_SUFFIXES: Final = (".py", ".toml", ".txt", ".json")


def build(planner: Planner | None = None, *, interpreter: str = "/usr/bin/env python3") -> bytes:
    """The file's bytes, the same each time for the same sources. With a planner its predictions travel along."""
    package = Path(__file__).resolve().parents[1]
    entries: dict[str, str] = {"__main__.py": _MAIN}
    # Not the package's own, which offers what is not in the file.
    entries["gpu_fabric/__init__.py"] = f'__version__ = "{__version__}"\n'
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package)
        if (
            path.is_file()
            and path.suffix in _SUFFIXES
            and _LEFT_OUT.isdisjoint((name.parts[0], name.as_posix()))
            and "__pycache__" not in name.parts
        ):
            entries[f"gpu_fabric/nccl/{name}"] = path.read_text(encoding="utf-8")
    backport = Path(tomllib.__file__).parent
    for path in sorted(backport.glob("*.py")):
        entries[f"backport/tomllib/{path.name}"] = path.read_text(encoding="utf-8")
    if planner is not None:
        entries["gpu_fabric/nccl/preflight/predicted.json"] = json.dumps(
            _predictions(planner), sort_keys=True
        )
    return b"#!" + interpreter.encode() + b"\n" + _zipped(entries)


def _zipped(entries: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(entries):
            # A fixed date, so that the same sources give the same file.
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entries[name])
    return buffer.getvalue()


NODES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
GIBIBYTES: Final = (1, 2, 4, 8, 16)


def _predictions(planner: Planner) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """size → collective → nodes → bytes → GB/s, of what the planner can say."""
    from gpu_fabric.nccl.hardware.plain import plain_sizes
    from gpu_fabric.nccl.preflight.judge import COLLECTIVES

    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for size, collective in ((size, collective) for size in plain_sizes() for collective in COLLECTIVES):
        for nodes in NODES:
            for gib in GIBIBYTES:
                busbw = planner(size, collective, nodes, gib * 2**30)
                if busbw is not None:
                    by_nodes = found.setdefault(size, {}).setdefault(collective, {})
                    by_nodes.setdefault(str(nodes), {})[str(gib * 2**30)] = round(busbw, 1)
    return found


def write(path: Path, planner: Planner | None = None) -> int:
    """Write the file, executable; its size in bytes."""
    data = build(planner)
    path.write_bytes(data)
    path.chmod(0o755)
    return len(data)
