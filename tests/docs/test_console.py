"""Every command of the pages is typed in a clone as its reader would, or says why it cannot be."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from gpu_fabric.nccl.preflight.arguments import parser
from tests.docs.blocks import Command, commands, fits
from tests.docs.clone import Typed, clone, type_in
from tests.docs.picture import MARKDOWN, PICTURE, fingerprint, note_of, shown
from tests.docs.scenes import ELSEWHERE, EXIT_CODES, NOT_RUN, SCENES, Scene, not_run_because, run_elsewhere
from tests.not_run import not_run
from tests.simulated import ROOT

LEFT_OUT = [one for one in commands() if not_run_because(one.text)]
THERE = [one for one in commands() if one not in LEFT_OUT and run_elsewhere(one.text)]
RUN = [one for one in commands() if one not in LEFT_OUT and one not in THERE]
PAGES = sorted({one.page for one in RUN})


def typed(page: str, folder: Path) -> list[tuple[Command, Typed]]:
    """What `page`'s commands did, in its order, in a clone of their own."""
    scene = SCENES.get(page, Scene())
    for name, content in scene.files.items():
        (folder / name).write_text(content if isinstance(content, str) else content.read_text())
    if scene.prepare:
        scene.prepare(folder)
    asked = [one for one in RUN if one.page == page]
    answers = type_in(folder, [*scene.before, *(one.text for one in asked)])
    for typed_before in answers[: len(scene.before)]:
        assert typed_before.code == 0, typed_before
    return list(zip(asked, answers[len(scene.before) :], strict=True))


def shows(output: str, shown: tuple[str, ...]) -> bool:
    """Whether the lines stand in `output` one after the other; `…` stands for what differs from run to run."""
    lines = output.splitlines()
    return any(
        all(fits(line, lines[at + number]) for number, line in enumerate(shown))
        for at in range(len(lines) - len(shown) + 1)
    )


@pytest.mark.engine
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_do_what_it_says(page: str, tmp_path: Path) -> None:
    wrong = []
    for command, answer in typed(page, clone(tmp_path / "clone")):
        expected, _ = EXIT_CODES.get(command.text, (0, ""))
        comment = shown(answer.output) if command.text.startswith("scripts/pr-report") else None
        if comment is not None and comment != MARKDOWN.read_text():
            wrong.append(f"python -m tests.docs.picture draws another picture now; it printed\n{comment}")
        if answer.code != expected or not shows(answer.output, command.output):
            wrong.append(
                f"{page}:{command.line}: $ {command.text}\nexit code {answer.code}, expected {expected}; "
                f"expected output {command.output}\n{answer.output[-2_000:]}"
            )
    assert wrong == [], "\n\n".join(wrong)


@pytest.mark.parametrize("command", LEFT_OUT, ids=lambda one: f"{one.page} {one.text.splitlines()[0][:80]}")
def test_a_command_that_cannot_run_here_is_understood(command: Command) -> None:
    spelled = subprocess.run(["bash", "-n"], input=command.text, capture_output=True, text=True, check=False)
    assert spelled.returncode == 0, spelled.stderr
    words = shlex.split(command.text.partition(" > ")[0].partition(" || ")[0])
    if words[0] == "gpu-fabric":
        from gpu_fabric.cli import group

        with group.make_context("gpu-fabric", words[1:]) as context:
            name, chosen, rest = group.resolve_command(context, words[1:])
            assert chosen is not None
            chosen.make_context(name, rest, parent=context)
    elif words[0] == "gpu-fabric-preflight":
        parser().parse_args(words[1:])
    not_run(f"it {not_run_because(command.text)}")


def test_the_picture_of_the_comment_was_made_from_the_printed_markdown() -> None:
    picture = PICTURE.read_bytes()
    assert note_of(picture) == fingerprint(MARKDOWN.read_text()), "run python -m tests.docs.picture"
    assert len(picture) < 200_000


def test_every_reason_not_to_run_a_command_belongs_to_a_command() -> None:
    unused = {start for start in NOT_RUN if not any(f"{one.text} ".startswith(start) for one in LEFT_OUT)}
    assert unused == set()


def test_every_command_that_another_test_runs_names_a_test_that_is_there() -> None:
    assert {start for start in ELSEWHERE if not any(one.text.startswith(start) for one in THERE)} == set()
    assert {name for name in ELSEWHERE.values() if not (ROOT / name).is_file()} == set()


def test_every_exit_code_and_every_scene_belongs_to_a_page() -> None:
    assert set(EXIT_CODES) <= {one.text for one in RUN}
    assert set(SCENES) <= set(PAGES)


@pytest.mark.parametrize(
    ("output", "shown", "expected"),
    [
        ("a\nb 17 c\nd\n", ("b … c", "d"), True),
        ("a\nb 17 c\n", ("b … d",), False),
        ("a\nx\nb\n", ("a", "b"), False),
        ("Duration: 12s, 3 of 4\n", ("Duration: …s, … of 4",), True),
        ("", ("a",), False),
    ],
)
def test_shown_output_is_compared_line_by_line(output: str, shown: tuple[str, ...], expected: bool) -> None:
    assert shows(output, shown) is expected
