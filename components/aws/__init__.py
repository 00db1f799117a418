"""AWS: EFA nodes in one zone. `AwsGpuCluster` composes the others; each is usable alone."""

from typing import TYPE_CHECKING

from gpu_fabric._lazy import lazily

if TYPE_CHECKING:
    from gpu_fabric.components.aws.access import AwsNodeAccess
    from gpu_fabric.components.aws.arguments import AwsGpuClusterArgs
    from gpu_fabric.components.aws.cluster import AwsGpuCluster
    from gpu_fabric.components.aws.eks import AwsEksNodeTemplate
    from gpu_fabric.components.aws.eks_settings import AwsEksNodeTemplateArgs
    from gpu_fabric.components.aws.network import AwsNetwork
    from gpu_fabric.components.aws.nodes import AwsNodes
    from gpu_fabric.components.aws.placement import AwsPlacement
    from gpu_fabric.components.aws.security_group import AwsFabricSecurityGroup
    from gpu_fabric.components.aws.template import AwsNodeTemplate

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
]

__getattr__ = lazily(
    __name__,
    {
        "AwsEksNodeTemplate": "eks",
        "AwsEksNodeTemplateArgs": "eks_settings",
        "AwsFabricSecurityGroup": "security_group",
        "AwsGpuCluster": "cluster",
        "AwsGpuClusterArgs": "arguments",
        "AwsNetwork": "network",
        "AwsNodeAccess": "access",
        "AwsNodeTemplate": "template",
        "AwsNodes": "nodes",
        "AwsPlacement": "placement",
    },
)
