"""GPU training fabrics as code: AWS EFA, Azure InfiniBand, the link between them, and the NCCL settings.

The names below are the stable ones: a program that uses only these keeps working within a major version. Each is
loaded at its first use, with the SDK of its own cloud alone (docs/library.md).
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

from gpu_fabric._lazy import lazily

if TYPE_CHECKING:
    from gpu_fabric.components.aws import (
        AwsEksNodeTemplate,
        AwsEksNodeTemplateArgs,
        AwsFabricSecurityGroup,
        AwsGpuCluster,
        AwsGpuClusterArgs,
        AwsNetwork,
        AwsNodeAccess,
        AwsNodes,
        AwsNodeTemplate,
        AwsPlacement,
    )
    from gpu_fabric.components.azure import (
        AzureFabricSecurityGroup,
        AzureGpuCluster,
        AzureGpuClusterArgs,
        AzureNetwork,
        AzureNodeAccess,
        AzureNodes,
        AzurePlacement,
    )
    from gpu_fabric.components.fabric import GpuFabric
    from gpu_fabric.components.interconnect import CrossCloudInterconnect
    from gpu_fabric.nccl.hardware import get_size, load_sizes
    from gpu_fabric.nccl.lint import lint, lint_values

__all__ = [
    "AwsEksNodeTemplate",
    "AwsEksNodeTemplateArgs",
    "AwsFabricSecurityGroup",
    "AwsGpuCluster",
    "AwsGpuClusterArgs",
    "AwsNetwork",
    "AwsNodeAccess",
    "AwsNodeTemplate",
    "AwsNodes",
    "AwsPlacement",
    "AzureFabricSecurityGroup",
    "AzureGpuCluster",
    "AzureGpuClusterArgs",
    "AzureNetwork",
    "AzureNodeAccess",
    "AzureNodes",
    "AzurePlacement",
    "CrossCloudInterconnect",
    "GpuFabric",
    "get_size",
    "lint",
    "lint_values",
    "load_sizes",
]

_AWS, _AZURE = "components.aws", "components.azure"
__getattr__ = lazily(
    __name__,
    {
        "AwsEksNodeTemplate": _AWS,
        "AwsEksNodeTemplateArgs": _AWS,
        "AwsFabricSecurityGroup": _AWS,
        "AwsGpuCluster": _AWS,
        "AwsGpuClusterArgs": _AWS,
        "AwsNetwork": _AWS,
        "AwsNodeAccess": _AWS,
        "AwsNodeTemplate": _AWS,
        "AwsNodes": _AWS,
        "AwsPlacement": _AWS,
        "AzureFabricSecurityGroup": _AZURE,
        "AzureGpuCluster": _AZURE,
        "AzureGpuClusterArgs": _AZURE,
        "AzureNetwork": _AZURE,
        "AzureNodeAccess": _AZURE,
        "AzureNodes": _AZURE,
        "AzurePlacement": _AZURE,
        "CrossCloudInterconnect": "components.interconnect",
        "GpuFabric": "components.fabric",
        "get_size": "nccl.hardware",
        "lint": "nccl.lint",
        "lint_values": "nccl.lint",
        "load_sizes": "nccl.hardware",
    },
)
