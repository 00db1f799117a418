"""GPU nodes on both clouds and nothing between them."""

import pulumi_aws as aws
from pulumi_azure_native import compute

aws.ec2.LaunchTemplate("route-isolation-aws", instance_type="p5.48xlarge")
compute.VirtualMachineScaleSet(
    "route-isolation-azure",
    resource_group_name="training",
    sku={"name": "Standard_ND96isr_H100_v5", "capacity": 4},
    orchestration_mode="Uniform",
    single_placement_group=True,
)
