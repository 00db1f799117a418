"""A branch as a colleague would propose it: more nodes, another MTU, another interface layout, and a bad setting."""

from __future__ import annotations

import subprocess
from pathlib import Path

_NODES = "      nodes: 4\n      capacity"
_MORE_NODES = """\
      nodes: 8
      interfaces: allEfa
      bootstrap: {{ after: [ip link set dev ens32 mtu {mtu}] }}
      capacity"""
_BASE = _MORE_NODES.replace("nodes: 8\n      interfaces: allEfa", "nodes: 4")


def git(folder: Path, *arguments: str) -> None:
    line = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(line, cwd=folder, check=True, capture_output=True)


def make_a_branch(folder: Path) -> None:
    """Make the clone in `folder` a repository whose branch `more-nodes` is a change ahead of `main`."""
    stack_file = folder / "Pulumi.dev.yaml"
    given = stack_file.read_text()
    assert given.count(_NODES) == 1
    git(folder, "init", "-q", "-b", "main")
    stack_file.write_text(given.replace(_NODES, _BASE.format(mtu=9001)))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "checkout", "-q", "-b", "more-nodes")
    stack_file.write_text(given.replace(_NODES, _MORE_NODES.format(mtu=1500)))
    (folder / "job.sh").write_text("export NCCL_NET_GDR_LEVEL=LOC\nsrun python train.py\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "More nodes")
