"""A clone of the repository after its first `make`, in which the commands of one page are typed one after the other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.library.installed import copy_of_the_repository
from tests.simulated import MAKES_OWN, ROOT

#: What a make around the test run hands down, and what would say where a person's stacks are.
_NOT_A_PERSONS = (*MAKES_OWN, "GPU_FABRIC_REHEARSAL_DB", "GITHUB_ACTIONS")


@dataclass(frozen=True)
class Typed:
    text: str
    code: int
    output: str
    """stdout and stderr as a terminal would mix them."""


def clone(target: Path) -> Path:
    """The files of this repository, with this environment in place of one of its own.

    The environment is a folder of links, so that nothing that make touches is this repository's. The marks are newer
    than every file, so that make installs nothing.
    """
    copy_of_the_repository(target)
    environment = target / ".venv"
    environment.mkdir()
    for part in (ROOT / ".venv").iterdir():
        if not part.name.startswith("."):
            (environment / part.name).symlink_to(part)
    for mark in (".ready", ".ready-dev"):
        (environment / mark).touch()
    return target


def person(folder: Path) -> dict[str, str]:
    """The environment of a person who has activated the clone's `.venv`."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_A_PERSONS}
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    return {**environment, "PATH": path, "PYTHONPATH": str(folder), "COLUMNS": "120"}


def type_in(folder: Path, texts: Sequence[str]) -> list[Typed]:
    """Type `texts` into one shell, so that what one exports the next one has."""
    said = folder.with_name(f"{folder.name}-said")
    said.mkdir()
    script = "\n".join(
        f"{{ {text}\n}} > {said}/{number} 2>&1 < /dev/null\necho $? > {said}/{number}.code"
        for number, text in enumerate(texts)
    )
    subprocess.run(["bash", "-c", script], cwd=folder, env=person(folder), check=False, timeout=600)
    return [
        Typed(text, int((said / f"{number}.code").read_text()), (said / str(number)).read_text())
        for number, text in enumerate(texts)
    ]
