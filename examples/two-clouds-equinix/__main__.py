"""Two GPU clusters and the private link between them, described in the stack file.

Makes what examples/two-clouds makes, and a Direct Connect gateway with two virtual interfaces, two Equinix cloud
routers with four connections, an ExpressRoute circuit with its gateway, and the routes and rules that let the nodes of
one side reach those of the other. Costs about 705 USD an hour with the link full: destroy it when done.
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
