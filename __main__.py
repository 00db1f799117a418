"""The stack's program: configuration in, one GpuFabric out, and the report of what it will do."""

from pathlib import Path

import pulumi

from gpu_fabric.components.config import read_stack
from gpu_fabric.components.fabric import GpuFabric
from gpu_fabric.components.report import write_report

settings = read_stack()
for name, value in GpuFabric("train", settings).exports().items():
    pulumi.export(name, value)
pulumi.export("plan", write_report(settings, pulumi.get_stack(), Path.cwd()))
