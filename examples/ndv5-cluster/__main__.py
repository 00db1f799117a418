"""Four Standard_ND96isr_H100_v5 in one InfiniBand partition, in a private subnet, reached through a Bastion.

Makes a resource group, a virtual network with a private subnet and Bastion's, a NAT gateway, a network security group,
an SSH key pair, a Bastion and one scale set of four nodes. Costs about 393 USD an hour: destroy it when done.
"""

import pulumi

from gpu_fabric.components.azure import AzureGpuCluster

cluster = AzureGpuCluster(
    "ndv5",
    {
        "vm_size": "Standard_ND96isr_H100_v5",
        "nodes": 4,
        "network": {"cidr": "10.200.0.0/16", "bastion": True},
        "tags": {"role": "distributed-training"},
    },
)

pulumi.export("fabric", cluster.fabric)
pulumi.export("launch", cluster.launch)
pulumi.export("runs", cluster.runs)
pulumi.export("sshPrivateKey", cluster.ssh_private_key)
