"""The engine's remarks about plugins on PATH do not drown the plan, and nothing else is lost."""

from __future__ import annotations

from gpu_fabric.engine.noise import WithoutNoise

SAID = """\
warning: using pulumi-language-python from $PATH at /x/.rehearsal/bin/pulumi-language-python
Previewing update (dev):
    pulumi:pulumi:Stack gpu-fabric-dev  warning: using pulumi-resource-aws from $PATH at /x/bin/pulumi-resource-aws
 +  pulumi:pulumi:Stack gpu-fabric-dev create
 +  gpu-fabric:index:AwsGpuCluster train-aws create
 +  gpu-fabric:index:AwsGpuCluster train-aws create warning: image: the name floats.
 +  pulumi:pulumi:Stack gpu-fabric-dev create simulated aws: no account is touched
 ~  aws:autoscaling:Group train-aws-fleet update [diff: ~desiredCapacity]
    aws:ec2:Vpc train-aws-vpc  error: refused
Diagnostics:
  pulumi:pulumi:Stack (gpu-fabric-dev):
    warning: using pulumi-resource-aws from $PATH at /x/.rehearsal/bin/pulumi-resource-aws
    simulated aws: no account is touched
    error: Resource monitor has terminated, shutting down
  gpu-fabric:index:AwsGpuCluster (train-aws):
    warning: image: the name floats.
"""

SEEN = """\
Previewing update (dev):
 +  pulumi:pulumi:Stack gpu-fabric-dev create
 +  gpu-fabric:index:AwsGpuCluster train-aws create
 ~  aws:autoscaling:Group train-aws-fleet update [diff: ~desiredCapacity]
    aws:ec2:Vpc train-aws-vpc  error: refused
Diagnostics:
  pulumi:pulumi:Stack (gpu-fabric-dev):
    simulated aws: no account is touched
  gpu-fabric:index:AwsGpuCluster (train-aws):
    warning: image: the name floats.
"""


def seen(text: str) -> str:
    quiet = WithoutNoise()
    return "".join(line for line in text.splitlines(keepends=True) if quiet.keeps(line))


def test_rows_that_repeat_a_message_and_remarks_about_path_are_left_out() -> None:
    assert seen(SAID) == SEEN


def test_the_same_with_colours() -> None:
    coloured = SAID.replace("warning:", "\x1b[38;5;3mwarning:\x1b[0m")
    assert "from $PATH" not in seen(coloured)
    assert "the name floats" in seen(coloured)
