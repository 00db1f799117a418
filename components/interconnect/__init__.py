"""The private link between the clouds. `CrossCloudInterconnect` composes the others; each partner is a file."""

from typing import TYPE_CHECKING

from gpu_fabric._lazy import lazily

if TYPE_CHECKING:
    from gpu_fabric.components.interconnect.arguments import CrossCloudInterconnectArgs
    from gpu_fabric.components.interconnect.aws_side import AwsEnd, AwsLinkEnd
    from gpu_fabric.components.interconnect.azure_side import AzureEnd, AzureLinkEnd
    from gpu_fabric.components.interconnect.interconnect import CrossCloudInterconnect, Ends

__all__ = [
    "AwsEnd",
    "AwsLinkEnd",
    "AzureEnd",
    "AzureLinkEnd",
    "CrossCloudInterconnect",
    "CrossCloudInterconnectArgs",
    "Ends",
]

__getattr__ = lazily(
    __name__,
    {
        "AwsEnd": "aws_side",
        "AwsLinkEnd": "aws_side",
        "AzureEnd": "azure_side",
        "AzureLinkEnd": "azure_side",
        "CrossCloudInterconnect": "interconnect",
        "CrossCloudInterconnectArgs": "arguments",
        "Ends": "interconnect",
    },
)
