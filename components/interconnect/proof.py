"""The commands by which two nodes prove the link, with what this stack expects of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpu_fabric.planning.link import LinkModel

SERVE: Final = "gpu-fabric-preflight link --serve \"$(hostname -I | cut -d' ' -f1)\""
"""The first address of a node is its primary one, which the other cloud reaches."""


def proof(link: LinkModel, rtt_limit_ms: float) -> Mapping[str, str]:
    """Cloud → command, in the order in which they are started; ADDRESS and TOKEN are those that the first prints."""
    demands = (
        f"--bandwidth-mbps {link.bandwidth_gbps * 1000:g}",
        f"--rtt-ms {max(rtt_limit_ms, link.rtt_ms):g}",
        f"--mtu {link.mtu}",
        f"--flows {link.flows}",
    )
    return {
        "azureNode": SERVE,
        "awsNode": f"gpu-fabric-preflight link --peer ADDRESS --token TOKEN {' '.join(demands)}",
    }
