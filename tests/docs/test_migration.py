"""docs/migration.md leads to keys of the stack file that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.simulated import ROOT

#: A heading's first words → the cloud whose keys its table names.
CLOUDS = {"A Terraform module": "aws", "aws-parallelcluster": "aws", "azurehpc": "azure"}

#: docs/stack-file.md is written from the models that read the file.
KEYS = set(re.findall(r"^\| `([\w.]+)`", (ROOT / "docs" / "stack-file.md").read_text(), re.MULTILINE))


def targets() -> Iterator[tuple[str, str]]:
    """(cloud, key) of every code word in the middle column that is no command, value or provider's setting."""
    for section in (ROOT / "docs" / "migration.md").read_text().split("\n## ")[1:]:
        cloud = next(cloud for start, cloud in CLOUDS.items() if section.startswith(start))
        for row in re.findall(r"^\| [^|]* \| ([^|]*) \|", section, re.MULTILINE):
            for word in re.findall(r"`([^`]*)`", row):
                key = word.partition(": ")[0]
                if re.fullmatch(r"[a-z]\w*(\.\w+)*", key) and not key.startswith("NCCL"):
                    yield cloud, key


@pytest.mark.parametrize(("cloud", "key"), sorted(set(targets())))
def test_what_a_setting_becomes_is_a_key_of_the_stack_file(cloud: str, key: str) -> None:
    assert any(known == f"{cloud}.{key}" or known.startswith(f"{cloud}.{key}.") for known in KEYS)
