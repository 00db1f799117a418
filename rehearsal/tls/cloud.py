"""The simulated tls provider as one piece."""

from __future__ import annotations

from pathlib import Path

from ..core.resource import Cloud
from . import private_key

CLOUD = Cloud(
    name="tls",
    folder=Path(__file__).parent,
    types=private_key.TYPES,
    notice="simulated tls: keys are real and made on this machine",
)
