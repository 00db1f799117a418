"""A network of its own."""

from pulumi_azure_native import compute, network

network.VirtualNetwork(
    "rdma-network-free-network",
    resource_group_name="training",
    address_space={"address_prefixes": ["10.200.0.0/16"]},
)
compute.VirtualMachineScaleSet(
    "rdma-network-free-fleet",
    resource_group_name="training",
    sku={"name": "Standard_ND96isr_H100_v5", "capacity": 4},
    orchestration_mode="Uniform",
    single_placement_group=True,
)
