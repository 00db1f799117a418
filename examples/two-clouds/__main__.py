"""One GPU cluster on each cloud, described in the stack file. There is no link between them.

Makes a VPC, a security group, a role, a placement group, a launch template and an Auto Scaling group on AWS; a resource
group, a virtual network, a security group, an SSH key pair and a scale set on Azure; a NAT gateway on each. Costs about
615 USD an hour: destroy it when done.
"""

import pulumi

from gpu_fabric.components.config import read_stack
from gpu_fabric.components.fabric import GpuFabric
from gpu_fabric.components.problems import InvalidInputError

try:
    settings = read_stack()
except InvalidInputError as error:
    # Shown as its message alone: bad input gets no traceback.
    raise pulumi.RunError(str(error)) from None

for name, value in GpuFabric("pair", settings).exports().items():
    pulumi.export(name, value)
