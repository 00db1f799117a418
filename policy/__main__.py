"""Starts the pack. Constructing it serves and blocks, so nothing else may import this file."""

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("gpu_fabric") is None:
    # In a checkout the package is not installed; the folder above is its home.
    sys.path.append(str(Path(__file__).resolve().parents[1]))

from pulumi_policy import PolicyPack

from gpu_fabric.policy.pack import DESCRIPTION, NAME, policies

PolicyPack(NAME, policies(), description=DESCRIPTION)
