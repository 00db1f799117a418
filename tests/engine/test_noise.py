"""The engine's remarks about plugins on PATH do not drown the plan, and nothing else is lost."""

from __future__ import annotations

from gpu_fabric.engine.noise import WithoutNoise
from gpu_fabric.rehearsal.clouds import CLOUDS, load

SAID = """\
warning: using pulumi-language-python from $PATH at /x/.rehearsal/bin/pulumi-language-python
Previewing update (dev):
    pulumi:pulumi:Stack gpu-fabric-dev  warning: using pulumi-resource-aws from $PATH at /x/bin/pulumi-resource-aws
 +  pulumi:pulumi:Stack gpu-fabric-dev create
 +  gpu-fabric:index:AwsGpuCluster train-aws create
 +  gpu-fabric:index:AwsGpuCluster train-aws create warning: image: the name floats.
 +  pulumi:pulumi:Stack gpu-fabric-dev create simulated aws: no account is touched
 +  pulumi:pulumi:Stack gpu-fabric-dev creating (2s) simulated tls: keys are real and made on this machine
 ~  aws:autoscaling:Group train-aws-fleet update [diff: ~desiredCapacity]
    aws:ec2:Vpc train-aws-vpc  error: refused
Diagnostics:
  pulumi:pulumi:Stack (gpu-fabric-dev):
    warning: using pulumi-resource-aws from $PATH at /x/.rehearsal/bin/pulumi-resource-aws
    simulated aws: no account is touched
    simulated tls: keys are real and made on this machine
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
    simulated tls: keys are real and made on this machine
  gpu-fabric:index:AwsGpuCluster (train-aws):
    warning: image: the name floats.
"""


def seen(text: str) -> str:
    quiet = WithoutNoise()
    return "".join(line for line in text.splitlines(keepends=True) if quiet.keeps(line))


def test_rows_that_repeat_a_message_and_remarks_about_path_are_left_out() -> None:
    assert seen(SAID) == SEEN


def test_no_notice_of_a_simulated_cloud_stands_in_a_row_of_the_plan() -> None:
    for cloud in (load(name) for name in CLOUDS):
        row = f" +  pulumi:pulumi:Stack gpu-fabric-dev creating (2s) {cloud.notice}\n"
        assert seen(row) == ""
        assert seen(f"Diagnostics:\n    {cloud.notice}\n").endswith(f"{cloud.notice}\n")


def test_the_same_with_colours() -> None:
    coloured = SAID.replace("warning:", "\x1b[38;5;3mwarning:\x1b[0m")
    assert "from $PATH" not in seen(coloured)
    assert "the name floats" in seen(coloured)
