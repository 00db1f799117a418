"""The whole fabric of a stack: composes the clusters of its clouds.

Creates: an `AwsGpuCluster` where the stack file has `aws`, an `AzureGpuCluster` where it has `azure`, a
`CrossCloudInterconnect` where it has `interconnect`. Only the SDK of a cloud that is named is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi

from gpu_fabric.components.component import child
from gpu_fabric.components.config import FabricSettings

if TYPE_CHECKING:
    from gpu_fabric.components.aws import AwsGpuCluster
    from gpu_fabric.components.azure import AzureGpuCluster
    from gpu_fabric.components.interconnect import CrossCloudInterconnect


class GpuFabric(pulumi.ComponentResource):
    """What a stack file describes."""

    def __init__(
        self, name: str, settings: FabricSettings, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu-fabric:index:GpuFabric", name, None, opts)
        # Annotated here and not in the class: the SDK evaluates a class's annotations, and would load both clouds.
        self.aws: AwsGpuCluster | None = None
        self.azure: AzureGpuCluster | None = None
        if settings.aws is not None:
            from gpu_fabric.components.aws import AwsGpuCluster

            self.aws = AwsGpuCluster.from_settings(
                f"{name}-aws", settings.aws, settings.around_aws, opts=child(self)
            )
        if settings.azure is not None:
            from gpu_fabric.components.azure import AzureGpuCluster

            self.azure = AzureGpuCluster.from_settings(
                f"{name}-azure", settings.azure, settings.around_azure, opts=child(self)
            )
        self.interconnect: CrossCloudInterconnect | None = None
        if settings.interconnect is not None:
            self.interconnect = self._join(name, settings)
        self.register_outputs({})

    def _join(self, name: str, settings: FabricSettings) -> CrossCloudInterconnect:
        from gpu_fabric.components.interconnect import AwsEnd, AzureEnd, CrossCloudInterconnect, Ends
        from gpu_fabric.components.interconnect.adopted import verified_block
        from gpu_fabric.components.interconnect.derived import vpc_block

        ends, link = settings.ends, settings.interconnect
        assert ends is not None
        assert link is not None
        assert self.aws is not None
        assert self.azure is not None
        vpc_cidr: pulumi.Input[str] = str(vpc_block(link, ends))
        if settings.aws is not None and settings.aws.network.verify and link.aws_vpc_cidr is not None:
            vpc_cidr = verified_block(self.aws.vpc_id, link.aws_vpc_cidr, self)
        table = self.aws.network.route_table_id
        ours = settings.aws is not None and not settings.aws.network.security_group_ids
        return CrossCloudInterconnect.from_settings(
            f"{name}-link",
            link,
            Ends(
                AwsEnd(
                    vpc_id=self.aws.vpc_id,
                    subnet_id=self.aws.subnet_id,
                    vpc_cidr=vpc_cidr,
                    nodes_cidr=str(ends.aws.nodes),
                    route_table_ids=link.aws_route_table_ids if table is None else [table],
                    security_group_id=self.aws.security_group_ids.apply(lambda ids: ids[0]) if ours else None,
                    region=ends.aws.region or "",
                ),
                AzureEnd(
                    virtual_network_id=self.azure.virtual_network_id,
                    location=ends.azure.region or "",
                    subnets=self.azure.network.subnets,
                ),
                ends,
            ),
            opts=child(self),
        )

    def exports(self) -> dict[str, Any]:
        """What a person wants to see after `up`, by cloud."""
        exported: dict[str, Any] = {}
        if self.aws is not None:
            exported["aws"] = {
                **_summary(self.aws),
                "network": {"vpcId": self.aws.vpc_id, "subnetId": self.aws.subnet_id},
            }
        if self.azure is not None:
            exported["azure"] = {
                **_summary(self.azure),
                "network": {
                    "virtualNetworkId": self.azure.virtual_network_id,
                    "subnetId": self.azure.subnet_id,
                },
                "resourceGroup": self.azure.resource_group_name,
                "sshPrivateKey": self.azure.ssh_private_key,
            }
        if self.interconnect is not None:
            exported["interconnect"] = {
                "link": self.interconnect.link,
                "nccl": self.interconnect.nccl,
                "directConnectGatewayId": self.interconnect.direct_connect_gateway_id,
                "serviceKey": self.interconnect.service_key,
                "toDo": self.interconnect.to_do,
            }
        return exported


def _summary(cluster: AwsGpuCluster | AzureGpuCluster) -> dict[str, Any]:
    """What both clouds have under the same name."""
    return {
        "fabric": cluster.fabric,
        "fleet": cluster.fleet_name,
        "instances": cluster.instance_ids,
        "privateAddresses": cluster.private_addresses,
        "launch": cluster.launch,
        "runs": cluster.runs,
    }
