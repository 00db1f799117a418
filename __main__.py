"""The stack's program: configuration in, one GpuFabric out."""

import pulumi

from gpu_fabric.components.config import read_stack
from gpu_fabric.components.fabric import GpuFabric

for name, value in GpuFabric("train", read_stack()).exports().items():
    pulumi.export(name, value)
