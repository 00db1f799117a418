"""Where our files lie on a node: one place for the names, so that files, units and messages agree.

None of them is `/etc/nccl.conf`: Azure's HPC image rewrites that file at every start and empties it when its
service stops (Azure/azhpc-images, components/customizations/setup_sku_customizations.sh, 8e9d055).
"""

from __future__ import annotations

from typing import Final

DIRECTORY: Final = "/etc/gpu-fabric"

NCCL_CONF: Final = f"{DIRECTORY}/nccl.conf"
"""Named by NCCL_CONF_FILE: NCCL reads it in place of ~/.nccl.conf and before /etc/nccl.conf, so it wins."""

ENVIRONMENT: Final = f"{DIRECTORY}/environment.sh"
"""The same variables for a shell, and those that NCCL's own files cannot carry (CUDA, UCX)."""

TOPOLOGY: Final = f"{DIRECTORY}/topology.xml"
"""Installed for every size with a published layout; active only where the environment names it."""

ENTRYPOINT: Final = "/usr/local/bin/gpu-fabric-entrypoint"

LIBRARY: Final = "/usr/local/lib/gpu-fabric"

SETUP: Final = f"{LIBRARY}/setup.py"
"""The runner of the node's setup, which `READY_UNIT` starts at every boot."""

SETUP_PLAN: Final = f"{DIRECTORY}/setup.json"
"""The steps that the runner takes, in order."""

VERSIONS: Final = f"{DIRECTORY}/versions.json"
"""Versions that the node must have, component by component; there only where some are demanded."""

READY_UNIT: Final = "/etc/systemd/system/gpu-fabric-ready.service"
"""Active when the node is ready, failed when a step failed: other units can order themselves after it."""

READY_WANTED: Final = "/etc/systemd/system/multi-user.target.d/gpu-fabric.conf"
"""Makes systemd start the unit at every boot, without a link that somebody must make."""


def before(unit: str) -> str:
    """The drop-in by which a unit of the image waits until the node is ready, and fails where it is not."""
    return f"/etc/systemd/system/{unit}.d/gpu-fabric.conf"


READY: Final = "/run/gpu-fabric/ready.json"
"""State of this boot as JSON: `state` is running, ready or failed; `step` and `reason` say where and why."""

STATE_TAG: Final = "gpu-fabric:state"
"""Key of the tag of its own instance to which a node writes its state, where it is asked to and allowed to."""

STEPS: Final = "/var/lib/gpu-fabric/steps"
"""One status file a step: pending, running, ok, skipped or failed, with reason and time."""
