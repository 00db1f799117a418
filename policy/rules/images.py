"""Mandate 2: the image carries the fabric's drivers, and stays the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from pulumi_policy import EnforcementLevel

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.policy.nodes import Node, for_each_node
from gpu_fabric.policy.rule import Parameters, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN

#: Images that carry driver, fabric and NCCL plugin. `resolve:ssm:` is EC2's own look-up in a launch template.
_KNOWN = {
    Cloud.AWS: (
        "resolve:ssm:/aws/service/deeplearning/ami/*",
        "resolve:ssm:/aws/service/eks/optimized-ami/*nvidia*",
    ),
    Cloud.AZURE: ("microsoft-dsvm:ubuntu-hpc:*", "almalinux:almalinux-hpc:*"),
}
_USE = {
    Cloud.AWS: "use an AWS Deep Learning AMI (resolve:ssm:/aws/service/deeplearning/ami/…)",
    Cloud.AZURE: "use microsoft-dsvm:ubuntu-hpc",
}
_IMAGES: Any = {
    "type": "array",
    "items": {"type": "string"},
    "default": [],
    "description": "Images of your own that carry the drivers; `*` matches anything: ami-0123456789abcdef0, "
    "/subscriptions/*/images/hpc-*, canonical:*.",
}
#: An image of a gallery, of a shared or of a community gallery, with its version.
_GALLERY = re.compile(
    r"/(?:shared|community)?galleries/[^/]+/images/[^/]+(?:/versions/([^/]+))?/?$", re.IGNORECASE
)
_EXACT = re.compile(r"\d+\.\d+\.\d+")


#: Parts of the path of AWS's public images: the processor, and the driver for GPUs before the A100's (DLAMI guide,
#: aws-deep-learning-ami-base-aml2: G3, P3, P3dn and Inf1).
_PROCESSOR = re.compile(r"/(x86_64|arm64)/")
_OLD_DRIVER = "proprietary-nvidia-driver"


def _matches(image: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(image.lower(), pattern.lower()) for pattern in patterns)


def _misfit(node: Node) -> str | None:
    """Why an image that carries drivers does not run on the node's size; None where it does, or no name tells."""
    processor = _PROCESSOR.search(node.image)
    if node.size is not None and processor and processor[1] != node.size.cpu_arch:
        return f"is for {processor[1]}, and the size is {node.size.cpu_arch}"
    if _OLD_DRIVER in node.image:
        return "has the proprietary driver, which is for G3 and P3: later GPUs with EFA need the open one"
    return None


def _opaque(image: str) -> bool:
    """Whether the name says nothing about what is inside."""
    return image.startswith(("ami-", "/"))


def _drivers(node: Node, parameters: Parameters) -> Verdicts:
    if node.image is UNKNOWN:
        yield Undecided(f"the image of {node.called}")
    elif node.image is None:
        yield Undecided(f"{node.called} names no image: somebody else chooses it")
    elif _matches(node.image, parameters["images"]):
        return
    elif _matches(node.image, _KNOWN[node.cloud]):
        misfit = _misfit(node)
        if misfit:
            yield Violation(
                f"{node.called} starts from {node.image}, which {misfit}.",
                "name the image of the size's processor with the open driver (…/base-oss-nvidia-driver-gpu-…).",
            )
    else:
        if _opaque(node.image):
            yield Undecided(
                f"whether {node.image}, the image of {node.called}, carries the drivers; if it does, list it in the "
                "rule's parameter `images`"
            )
        else:
            yield Violation(
                f"{node.called} starts from {node.image}, which is not known to carry the drivers of its fabric.",
                f"{_USE[node.cloud]}, or list your image in the rule's parameter `images`.",
            )


def _pinned(node: Node, parameters: Parameters) -> Verdicts:
    del parameters
    if node.image is UNKNOWN:
        yield Undecided(f"the image of {node.called}")
    elif node.image is not None and _floats(node.image):
        how = (
            "give an AMI id, or the parameter's version (…/ami-id:42)"
            if node.cloud is Cloud.AWS
            else "give a version instead of `latest`"
        )
        yield Violation(
            f"{node.called} starts from {node.image}, which may be another image tomorrow: nodes that start later "
            "could run another driver.",
            f"{how}.",
        )


def _floats(image: str) -> bool:
    if image.startswith("resolve:ssm:"):
        return not image.removeprefix("resolve:ssm:").rpartition(":")[2].isdecimal()
    if _opaque(image):
        # A gallery's image without a version is the newest one.
        version = _GALLERY.search(image)
        return version is not None and (version[1] or "latest").lower() == "latest"
    return not _EXACT.fullmatch(image.rpartition(":")[2])


RULES = (
    Rule(
        name="drivers",
        summary="GPU nodes start from an image that carries the drivers of their fabric.",
        why="Without the fabric's driver, library and NCCL plugin the job runs over TCP, and says so in a line of its "
        "log at most.",
        source="AWS Deep Learning AMI release notes; EKS User Guide, ml-eks-optimized-ami.html; azure-compute-docs, "
        "azure-hpc-vm-images.md",
        **for_each_node(_drivers),
        parameters={"images": _IMAGES},
    ),
    Rule(
        name="image-pinned",
        summary="GPU nodes start from one exact image.",
        why="A node that replaces a broken one should run the same driver and NCCL plugin as its neighbours. Advisory "
        "by default, because a floating image is a choice that some fleets make on purpose.",
        source="Systems Manager User Guide, parameter versions; virtual-machines/linux/cli-ps-findimage.md",
        **for_each_node(_pinned),
        level=EnforcementLevel.ADVISORY,
    ),
)
