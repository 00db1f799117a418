"""Images: any id in EC2's form is taken for an image, and SSM parameters name some.

Nothing is known of an image but its id, so the simulation neither finds one missing nor checks its architecture.
"""

from __future__ import annotations

import hashlib
import re

from ..core.errors import Refusal
from ..core.store import Transaction
from . import kinds

_ID = re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})")
_PUBLIC = re.compile(r"/aws/service/[A-Za-z0-9._/-]+")
RESOLVE = "resolve:ssm:"
"""The prefix of an image that is looked up at launch (EC2 User Guide, using-systems-manager-parameter)."""


def parameter_value(tx: Transaction, name: str, region: str) -> str | None:
    """The value of an SSM parameter: a stored one, or a made-up image for AWS's public ones. None if there is none."""
    stored = tx.get(kinds.SSM_PARAMETER, name)
    if stored is not None:
        return str(stored.get("value") or stored.get("insecureValue") or "")
    if _PUBLIC.fullmatch(name):
        return made_up(f"{region}{name}")
    return None


def made_up(seed: str) -> str:
    """An image id that is always the same for the same seed."""
    return f"ami-0{hashlib.sha256(seed.encode()).hexdigest()[:16]}"


def check(tx: Transaction, image: str, region: str) -> None:
    """Refuse an image that EC2 would refuse by its form, or a parameter that is not there."""
    resolve(tx, image, region)


def resolve(tx: Transaction, image: str, region: str) -> str:
    """The image's id, looked up where the image is a parameter."""
    if not image:
        raise Refusal("MissingParameter", "The request must contain the parameter ImageId")
    if image.startswith(RESOLVE):
        name = image.removeprefix(RESOLVE).partition(":")[0]
        image = parameter_value(tx, name, region) or ""
        if not image:
            # Unverified.
            raise Refusal("InvalidParameterValue", f"The Systems Manager parameter '{name}' does not exist")
    if not _ID.fullmatch(image):
        raise Refusal("InvalidAMIID.Malformed", f'Invalid id: "{image}"')
    return image
