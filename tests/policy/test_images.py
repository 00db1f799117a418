"""Which images stay the same."""

from __future__ import annotations

import pytest

from tests.policy.plain import ND, P5, SCALE_SET, TEMPLATE, resource, verdicts, violations

_GALLERY = "/subscriptions/0/resourceGroups/g/providers/Microsoft.Compute/galleries/g/images/i"


@pytest.mark.parametrize(
    ("image", "floats"),
    [
        (_GALLERY, True),
        (f"{_GALLERY}/versions/latest", True),
        (f"{_GALLERY}/versions/1.2.3", False),
        ("/CommunityGalleries/x/Images/y", True),
        ("/CommunityGalleries/x/Images/y/Versions/latest", True),
        ("/CommunityGalleries/x/Images/y/Versions/1.0.0", False),
        ("/SharedGalleries/x/Images/y", True),
        ("/SharedGalleries/x/Images/y/Versions/Latest", True),
        ("/SharedGalleries/x/Images/y/Versions/1.0.0", False),
        ("/subscriptions/0/resourceGroups/g/providers/Microsoft.Compute/images/i", False),
    ],
)
@pytest.mark.parametrize("key", ["id", "communityGalleryImageId"])
def test_an_image_of_a_gallery_is_pinned_by_its_version(key: str, image: str, floats: bool) -> None:
    profile = {"storageProfile": {"imageReference": {key: image}}}
    fleet = resource(SCALE_SET, "fleet", sku={"name": ND}, virtualMachineProfile=profile)
    said = [
        f"fleet ({ND}) starts from {image}, which may be another image tomorrow: nodes that start later could run "
        "another driver."
    ]
    assert violations("image-pinned", fleet) == (said if floats else [])


_AMI = "resolve:ssm:/aws/service/deeplearning/ami"
OPEN, OLD = "base-oss-nvidia-driver-gpu-ubuntu-22.04", "base-proprietary-nvidia-driver-amazon-linux-2"


@pytest.mark.parametrize(
    ("size", "image", "why"),
    [
        (P5, f"{_AMI}/x86_64/{OPEN}/latest/ami-id", None),
        ("p6e-gb200.36xlarge", f"{_AMI}/arm64/{OPEN}/latest/ami-id", None),
        (P5, f"{_AMI}/arm64/{OPEN}/latest/ami-id", "is for arm64, and the size is x86_64"),
        ("p6e-gb200.36xlarge", f"{_AMI}/x86_64/{OPEN}/latest/ami-id", "is for x86_64, and the size is arm64"),
        (
            P5,
            f"{_AMI}/x86_64/{OLD}/latest/ami-id",
            "has the proprietary driver, which is for G3 and P3: later GPUs with EFA need the open one",
        ),
    ],
)
def test_an_image_of_aws_is_for_the_processor_and_the_gpus_of_the_size(
    size: str, image: str, why: str | None
) -> None:
    node = resource(TEMPLATE, "node", instanceType=size, imageId=image)
    expected = [f"node ({size}) starts from {image}, which {why}."] if why else []
    assert violations("drivers", node) == expected
    assert verdicts("drivers", node, images=[image]) == []
