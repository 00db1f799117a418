"""Which images stay the same."""

from __future__ import annotations

import pytest

from tests.policy.plain import ND, SCALE_SET, resource, violations

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
