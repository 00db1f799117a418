"""`python -m gpu_fabric.cli.pages`: write the pages of docs/ that come from data. A test compares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from gpu_fabric.cli import COMMANDS, group
from gpu_fabric.nccl.environment.pages import page as environment_page
from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.nccl.lint.pages import page as lint_page
from gpu_fabric.planning.pages import page as planning_page

_INTRODUCTION = """\
# The command line

<!-- Written by `python -m gpu_fabric.cli.pages` from the commands themselves. Change those. -->

The package brings the command `gpu-fabric` ([how to install it](library.md)). It needs no cloud SDK, no
Pulumi and no account.

Every command has `--json`, where it stands alone or in its parts (`preflight node --json`, `launch torchrun --json`).
Exit codes: 0 fine; 1 `lint` found an error, `topology --compare` a difference, or `plan` no layout that fits or a stack
file that a preview refuses; 2 wrong input, with every problem on a line of standard error. `preflight` has its own, for
job scripts: 0 pass or warn, 1 fail, 2 unknown, 64 wrong usage.

## Completion

Add one line to the start-up file of your shell; commands, options and sizes are then completed:

| shell | file | line |
|---|---|---|
| bash | `~/.bashrc` | `eval "$(_GPU_FABRIC_COMPLETE=bash_source gpu-fabric)"` |
| zsh | `~/.zshrc` | `eval "$(_GPU_FABRIC_COMPLETE=zsh_source gpu-fabric)"` |
| fish | `~/.config/fish/completions/gpu-fabric.fish` | `_GPU_FABRIC_COMPLETE=fish_source gpu-fabric \\| source` |
"""


def pages() -> Mapping[str, str]:
    """Path below docs/ → text."""
    return {
        "cli.md": command_page(),
        "lint.md": lint_page(),
        "planning.md": planning_page(),
        **{f"environment/{cloud.value}.md": environment_page(cloud) for cloud in Cloud},
    }


def command_page() -> str:
    """The page of the command line: each command's own help."""
    context = click.Context(group, info_name="gpu-fabric", terminal_width=100, **group.context_settings)
    sections = [_INTRODUCTION]
    for name in COMMANDS:
        command = group.get_command(context, name)
        if command is not None:
            sections += _sections(command, name, context)
    return "\n".join(sections)


def _sections(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """The help of a command, then that of each of its own."""
    with click.Context(
        command, info_name=name, parent=parent, max_content_width=100, terminal_width=100
    ) as own:
        depth = "#" * (1 + len(own.command_path.split()) - 1)
        yield f"{depth} {own.command_path}\n\n```text\n{command.get_help(own).rstrip()}\n```\n"
        for below, part in (command.commands if isinstance(command, click.Group) else {}).items():
            yield from _sections(part, below, own)


def main() -> None:
    """Write every page into docs/ beside the package."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    for name, text in pages().items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        click.echo(f"wrote {path}")


if __name__ == "__main__":
    main()
