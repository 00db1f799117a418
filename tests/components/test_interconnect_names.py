"""Names of the link on Azure: legal, within the limits, and apart."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.components.interconnect.limits import NAME_CHARACTERS
from gpu_fabric.components.interconnect.names import fitted

#: Resource-name-rules of Microsoft.Network: begins with a letter or a digit, ends with one or an underscore.
LEGAL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9_])?")


def test_a_short_plain_name_stays_as_it_is() -> None:
    assert fitted("gpu-fabric-dev-pair-link", NAME_CHARACTERS) == "gpu-fabric-dev-pair-link"
    assert fitted("a" * 80, 80) == "a" * 80


def test_a_long_name_is_cut_and_stays_apart_from_another_that_begins_alike() -> None:
    first, second = (fitted("a" * 100 + end, NAME_CHARACTERS) for end in "xy")
    assert len(first) == len(second) == NAME_CHARACTERS
    assert first != second


@given(st.text(min_size=1, max_size=200), st.integers(20, 90))
def test_every_text_makes_a_legal_name_within_the_limit(text: str, most: int) -> None:
    name = f"{fitted(text, most)}-circuit"
    assert LEGAL.fullmatch(name)
    assert len(fitted(text, most)) <= most


@given(st.sets(st.text(min_size=1, max_size=60), min_size=2, max_size=5))
def test_different_texts_make_different_names(texts: set[str]) -> None:
    assert len({fitted(text, 40) for text in texts}) == len(texts)
