"""The provider process: ``python -m gpu_fabric.rehearsal.megaport ENGINE_ADDRESS``."""

import sys

from ..core.serve import serve
from .cloud import CLOUD

sys.exit(serve(CLOUD))
