"""What a node is given at its first boot: our files, and the cloud-config text that carries and runs them.

The text is rendered from `templates/` and is the same to the byte for the same input. It is small: the files stay
readable in it, because one gzip over everything is smaller than gzip and base64 file by file.
"""

from gpu_fabric.nccl.bootstrap.eks import EKS_USER_DATA_LIMIT, eks_user_data
from gpu_fabric.nccl.bootstrap.files import BootstrapInputError, NodeFile, entrypoint, node_files
from gpu_fabric.nccl.bootstrap.plan import CrossCloudRoutes, Setup
from gpu_fabric.nccl.bootstrap.render import cloud_config
from gpu_fabric.nccl.bootstrap.shipped import bare
from gpu_fabric.nccl.bootstrap.size import (
    AZURE_CUSTOM_DATA_LIMIT,
    EC2_USER_DATA_LIMIT,
    UserDataTooLargeError,
    fits,
    user_data,
)

__all__ = [
    "AZURE_CUSTOM_DATA_LIMIT",
    "EC2_USER_DATA_LIMIT",
    "EKS_USER_DATA_LIMIT",
    "BootstrapInputError",
    "CrossCloudRoutes",
    "NodeFile",
    "Setup",
    "UserDataTooLargeError",
    "bare",
    "cloud_config",
    "eks_user_data",
    "entrypoint",
    "fits",
    "node_files",
    "user_data",
]
