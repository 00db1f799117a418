"""Serves the components. Starting the host blocks, so nothing else may import this file."""

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("gpu_fabric") is None:
    # In a checkout the package is not installed; the folder above is its home.
    sys.path.append(str(Path(__file__).resolve().parents[1]))

from pulumi.provider.server import main

from gpu_fabric.plugin.host import Host
from gpu_fabric.plugin.served import COMPONENTS, NAME, VERSION

main(Host(COMPONENTS, NAME, None, VERSION), sys.argv[1:])
