"""The stack's program: configuration in, one GpuFabric out."""

import pulumi

from gpu_fabric.components.config import read_stack
from gpu_fabric.components.fabric import GpuFabric
from gpu_fabric.components.problems import InvalidInputError

try:
    settings = read_stack()
except InvalidInputError as error:
    # A RunError is shown as its message alone: bad input gets no traceback.
    raise pulumi.RunError(str(error)) from None

for name, value in GpuFabric("train", settings).exports().items():
    pulumi.export(name, value)
