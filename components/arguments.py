"""Arguments that clusters on any cloud share. One type a name: they all become one module of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict


class NcclArgs(TypedDict, total=False):
    environment: Mapping[str, str]
    """Variables of yours; they win."""
    topology: str
    """`default`, `active` or `installed`."""


class VersionsArgs(TypedDict, total=False):
    """What `gpu-fabric-preflight node` holds a node to, each a version or its beginning: 580 takes 580.95.05."""

    driver: str
    """NVIDIA's driver."""
    cuda: str
    """CUDA, as nvidia-smi or the image's list says."""
    efa: str
    """The EFA installer; on AWS alone, as libfabric and plugin."""
    libfabric: str
    """libfabric of the EFA installer."""
    plugin: str
    """aws-ofi-nccl."""
    nccl: str
    """The NCCL library that the loader takes."""
    kernel: str
    """What uname -r says."""


class BootstrapArgs(TypedDict, total=False):
    before: Sequence[str]
    """Bash that runs on the node before ours, once a node."""
    after: Sequence[str]
    """Bash that runs on the node after ours, once a node."""
    scratch: str
    """Where local NVMe disks are mounted: /scratch, another path, or `none`."""
    containers: bool
    """Give container runtimes our files and unlimited locked memory; false."""
    versions: VersionsArgs
    """Versions that a node must have; gpu-fabric-preflight reads them on the node."""
    state_tag: bool
    """Let every node write its state to the tag gpu-fabric:state of its own instance; false."""


class OtherCloudArgs(TypedDict):
    """The private link to nodes on the other cloud; the nodes get routes and NCCL settings for it."""

    subnet_cidrs: Sequence[str]
    """Blocks of the other side's nodes' subnets."""
    bandwidth_mbps: int
    """10^6 bit/s of the link; the same on both sides."""
    rtt_ms: NotRequired[float]
    """Measured round-trip time; by default the estimate for both regions."""
    region: NotRequired[str]
    """The other side's region, for the estimate of the round trip."""
    route_isolation: NotRequired[bool]
    """The link's own `route_isolation`; false."""
