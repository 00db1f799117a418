"""The lock files are all that a fresh machine installs: the tests may lean on nothing else that happens to be here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.library.installed import closure
from tests.simulated import ROOT

#: What `python -m venv` and the editable install of this repository put there.
NOT_LOCKED = {"gpu-fabric", "pip"}


def locked(*files: str) -> Iterator[Requirement]:
    for file in files:
        for line in (ROOT / file).read_text().splitlines():
            if line and not line.startswith((" ", "#")):
                yield Requirement(line)


LOCKED = {
    canonicalize_name(one.name): one
    for one in locked("requirements.txt", "requirements-dev.txt")
    if one.marker is None or one.marker.evaluate()
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_environment_of_the_tests_holds_what_the_lock_files_name_and_nothing_else() -> None:
    """A package that somebody installed by hand hides that a fresh machine lacks it: `make clean` takes it away."""
    here = {canonicalize_name(one.name): one.version for one in distributions()}
    assert set(here) - NOT_LOCKED == set(LOCKED)
    wrong = {name: here[name] for name, one in LOCKED.items() if not one.specifier.contains(here[name])}
    assert wrong == {}


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_everything_that_an_extra_brings_is_pinned(extra: str) -> None:
    assert set(closure((extra,))) - set(LOCKED) == set()
