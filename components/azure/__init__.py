"""Azure: InfiniBand nodes in one partition. `AzureGpuCluster` composes the others; each is usable alone."""

from typing import TYPE_CHECKING

from gpu_fabric._lazy import lazily

if TYPE_CHECKING:
    from gpu_fabric.components.azure.access import AzureNodeAccess
    from gpu_fabric.components.azure.arguments import AzureGpuClusterArgs
    from gpu_fabric.components.azure.cluster import AzureGpuCluster
    from gpu_fabric.components.azure.network import AzureNetwork
    from gpu_fabric.components.azure.nodes import AzureNodes
    from gpu_fabric.components.azure.placement import AzurePlacement
    from gpu_fabric.components.azure.security_group import AzureFabricSecurityGroup

__all__ = [
    "AzureFabricSecurityGroup",
    "AzureGpuCluster",
    "AzureGpuClusterArgs",
    "AzureNetwork",
    "AzureNodeAccess",
    "AzureNodes",
    "AzurePlacement",
]

__getattr__ = lazily(
    __name__,
    {
        "AzureFabricSecurityGroup": "security_group",
        "AzureGpuCluster": "cluster",
        "AzureGpuClusterArgs": "arguments",
        "AzureNetwork": "network",
        "AzureNodeAccess": "access",
        "AzureNodes": "nodes",
        "AzurePlacement": "placement",
    },
)
