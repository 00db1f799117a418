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

SETUP: Final = "/usr/local/sbin/gpu-fabric-setup"
"""The one script that cloud-init runs."""

SETUP_STATUS: Final = "/var/lib/gpu-fabric/setup.status"
"""One line: `running STEP`, `failed STEP (exit N)` or `ready`."""
