"""docs/sizes.md says what the catalog says, and its example of an own size is taken."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from gpu_fabric.components.config import read_fabric
from gpu_fabric.nccl.hardware.page import render

PAGE = Path(__file__).parents[2] / "docs" / "sizes.md"


def test_the_page_is_the_one_that_the_catalog_renders() -> None:
    assert PAGE.read_text() == render(), "run: python -m gpu_fabric.nccl.hardware.page > docs/sizes.md"


def test_the_pages_example_is_a_stack_file_that_is_taken() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", render(), flags=re.DOTALL)
    fabric = yaml.safe_load(example)["gpu-fabric:fabric"]
    settings = read_fabric(fabric, aws_region="us-east-1")
    assert settings.around_aws.sizes["p9.48xlarge"].fabric_gbps == 6_400
