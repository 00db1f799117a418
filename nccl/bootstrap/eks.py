"""Start-up data of a node that an EKS managed node group starts from Amazon Linux 2023.

EKS adds its own part, with which a node joins the cluster, to what the launch template carries, and takes a MIME
archive of plain text only (EKS User Guide, launch-templates.html; terraform-aws-eks#2955: "User data was not in the
MIME multipart format"). So nothing is compressed as a whole here: each file is, inside the cloud-config.
"""

from __future__ import annotations

from dataclasses import replace
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from typing import Final

from gpu_fabric.nccl.bootstrap.plan import Setup
from gpu_fabric.nccl.bootstrap.render import cloud_config
from gpu_fabric.nccl.bootstrap.size import EC2_USER_DATA_LIMIT
from gpu_fabric.nccl.environment import Environment
from gpu_fabric.nccl.hardware import NodeSize, get_size

EKS_PART_BYTES: Final = 3_500
"""What EKS's own part may take: a NodeConfig with the cluster's address, its certificate of about 1,500 characters and
kubelet's flags. Unverified: EKS does not publish its size."""

EKS_USER_DATA_LIMIT: Final = EC2_USER_DATA_LIMIT - EKS_PART_BYTES
"""Bytes before base64 that are left to us. EC2's limit holds for both parts together."""

#: nodeadm makes one RAID 0 of the instance store and puts pods, images and logs there (awslabs/amazon-eks-ami,
#: nodeadm/doc/api.md, LocalStorageOptions).
_LOCAL_STORAGE: Final = """\
---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0
"""

_BOUNDARY: Final = "gpu-fabric"


def eks_user_data(
    size: str | NodeSize,
    *,
    environment: Environment,
    topology_xml: str | None = None,
    setup: Setup | None = None,
) -> str:
    """A MIME archive of a cloud-config and, for sizes with local NVMe disks, a NodeConfig; ASCII throughout.

    The node joins its cluster only where the setup ended ready. `setup` is taken with EKS's image, without packages to
    hold and without scratch: the disks are nodeadm's. Pods start in images of their own, so there is no entrypoint.
    Raises what `cloud_config` raises.
    """
    row = size if isinstance(size, NodeSize) else get_size(size)
    setup = replace(setup or Setup(), image="eks-al2023", hold_packages=False, scratch=None, entrypoint=False)
    config = cloud_config(row, environment=environment, topology_xml=topology_xml, setup=setup, packed=True)
    parts = [("text", "cloud-config", config)]
    if row.local_nvme_gb:
        parts.append(("application", "node.eks.aws", _LOCAL_STORAGE))
    archive = MIMEMultipart("mixed", _BOUNDARY)
    for kind, subtype, text in parts:
        part = MIMENonMultipart(kind, subtype, charset="us-ascii")
        part.set_payload(text)
        archive.attach(part)
    return archive.as_string()
