"""Which image the nodes start from, without a look-up."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pulumi

from gpu_fabric.components.azure.limits import DEFAULT_IMAGE
from gpu_fabric.components.azure.settings import AzureClusterSettings

_PARTS = ("publisher", "offer", "sku", "version")
#: A version is three numbers (compute docs, virtual-machines/linux/cli-ps-findimage.md).
_VERSION = re.compile(r"\d+\.\d+\.\d+")
LATEST = "latest"


@dataclass(frozen=True)
class ImageReference:
    name: str
    """What a person calls it: the URN, or the id."""
    id: pulumi.Input[str] | None
    """An image of the user's own."""
    marketplace: dict[str, str] | None
    """Publisher, offer, sku and version."""
    floats: bool
    """Whether nodes that start later may get another image."""


def urn_problem(urn: str) -> tuple[str, str] | None:
    """What is wrong with a marketplace image's URN, and what to do."""
    parts = urn.split(":")
    if len(parts) != len(_PARTS) or not all(parts):
        return f"{urn!r} is not a marketplace image", f"give {':'.join(_PARTS)}, such as {DEFAULT_IMAGE}"
    version = parts[-1]
    if version != LATEST and not _VERSION.fullmatch(version):
        return (
            f"{version!r} is not a version",
            f"give three numbers with points between them, such as {DEFAULT_IMAGE.rpartition(':')[2]}, or `{LATEST}`",
        )
    return None


def image_reference(settings: AzureClusterSettings) -> ImageReference:
    """The image of the nodes; the HPC image at a pinned version by default."""
    image = settings.image
    if image.id is not None:
        name = image.id if isinstance(image.id, str) else "an image known after deployment"
        return ImageReference(name, image.id, None, floats=False)
    urn = image.urn or DEFAULT_IMAGE
    marketplace = dict(zip(_PARTS, urn.split(":"), strict=False))
    return ImageReference(urn, None, marketplace, floats=marketplace.get("version") == LATEST)
