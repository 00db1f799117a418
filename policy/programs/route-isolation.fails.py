"""GPU nodes on both clouds, and half a circuit between them: AWS's."""

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
connection = aws.directconnect.Connection("route-isolation-port", bandwidth="10Gbps", location="EqDC2")
gateway = aws.directconnect.Gateway("route-isolation-gateway", amazon_side_asn="64512")
aws.directconnect.PrivateVirtualInterface(
    "route-isolation-interface",
    connection_id=connection.id,
    dx_gateway_id=gateway.id,
    address_family="ipv4",
    bgp_asn=65010,
    vlan=100,
    mtu=1500,
)
