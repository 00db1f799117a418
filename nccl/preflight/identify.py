"""Which size this node is: what the user says, what its own files say, else the cloud's metadata service.

Only link-local addresses are asked, without a login.
"""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from typing import Final

from gpu_fabric.nccl.hardware.models import Cloud
from gpu_fabric.nccl.preflight.host import Host

METADATA: Final = "http://169.254.169.254"
SECONDS: Final = 3


class MetadataError(RuntimeError):
    """The metadata service did not answer, or not with a size."""


def cloud_of(host: Host) -> Cloud | None:
    """By the machine's vendor in its firmware. EC2 User Guide, identify_ec2_instances.html; Azure: cloud-init's
    DataSourceAzure."""
    vendor = f"{host.read('/sys/class/dmi/id/sys_vendor')} {host.read('/sys/class/dmi/id/product_uuid')}"
    if "Amazon" in vendor:
        return Cloud.AWS
    return Cloud.AZURE if "Microsoft" in vendor else None


def _ask(url: str, headers: dict[str, str], method: str = "GET") -> str:
    request = urllib.request.Request(url, headers=headers, method=method)
    # No proxy: the address is this machine's own.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            return answer.read(4096).decode("utf-8", errors="replace").strip()
    except (urllib.error.URLError, OSError) as error:
        raise MetadataError(f"{url}: {getattr(error, 'reason', error)}") from None


def size_from_metadata(cloud: Cloud, metadata: str = METADATA) -> str:
    """The name of the size. EC2: IMDSv2 (instancedata-data-retrieval.html); Azure: instance-metadata-service."""
    if cloud is Cloud.AWS:
        token = _ask(f"{metadata}/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, "PUT")
        name = _ask(f"{metadata}/latest/meta-data/instance-type", {"X-aws-ec2-metadata-token": token})
    else:
        query = "/metadata/instance/compute/vmSize?api-version=2021-02-01&format=text"
        name = _ask(metadata + query, {"Metadata": "true"})
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
        raise MetadataError(f"{metadata} answered {name[:60]!r}, which is not a size")
    return name


def size_of_node(host: Host, metadata: str = METADATA) -> str:
    """From our own file on the node, else from the metadata service of the cloud that its firmware names.

    Raises `MetadataError` with what to do.
    """
    written = re.search(r"^GPU_FABRIC_SIZE=(\S+)$", host.read("/etc/gpu-fabric/environment.sh") or "", re.M)
    if written:
        return written[1].strip("'\"")
    clouds = [cloud_of(host)] if cloud_of(host) else [Cloud.AWS, Cloud.AZURE]
    said = []
    for cloud in clouds:
        if cloud is not None:
            try:
                return size_from_metadata(cloud, metadata)
            except MetadataError as error:
                said.append(str(error))
    raise MetadataError(f"the size of this node is not known ({'; '.join(said)}): name it with --size")
