"""The command line of the pull-request report; `scripts/pr-report` calls it.

Ends with 0 where the preview, the mandatory policies and the lint pass, 1 where one does not, 2 for wrong input.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import click

from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.pull_request.comment import LIMIT, comment, marker
from gpu_fabric.pull_request.errors import InputError
from gpu_fabric.pull_request.github import PullRequest
from gpu_fabric.pull_request.runs import OWN_POLICY, Request, git, run


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--base", default="main", show_default=True, help="Branch or commit to compare with.")
@click.option("--stack", default="dev", show_default=True)
@click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder of Pulumi.yaml.",
)
@click.option("--cloud", type=click.Choice(("simulated", "real")), default="simulated", show_default=True)
@click.option(
    "--policy", type=click.Path(exists=True, path_type=Path), default=OWN_POLICY, help="Another policy pack."
)
@click.option(
    "--policy-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Levels and parameters.",
)
@click.option("--no-policy", is_flag=True, help="No policy pack.")
@click.option(
    "--install",
    is_flag=True,
    help="Install the project's requirements.txt or pyproject.toml first, for both branches.",
)
@click.option(
    "--lint",
    "linted",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Lint this file, not the changed ones.",
)
@click.option(
    "--lint-exclude",
    "not_linted",
    metavar="PATTERN",
    multiple=True,
    help="Leave out changed files like tests/*.",
)
@click.option(
    "--for",
    "sizes",
    metavar="SIZE",
    multiple=True,
    help="What the linted files are for; known by itself where the stack file or the preview names it.",
)
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write the full report there."
)
@click.option(
    "--sarif", type=click.Path(dir_okay=False, path_type=Path), help="Write the lint's findings there."
)
@click.option("--full-report", default="", help="Address of the full report, for the comment.")
@click.option(
    "--pull-request",
    type=int,
    help="Number: put the comment there. Needs GITHUB_TOKEN and GITHUB_REPOSITORY.",
)
def main(
    base: str,
    stack: str,
    project: Path,
    cloud: str,
    policy: Path,
    policy_config: Path | None,
    no_policy: bool,
    install: bool,
    linted: tuple[Path, ...],
    not_linted: tuple[str, ...],
    sizes: tuple[str, ...],
    output: Path | None,
    sarif: Path | None,
    full_report: str,
    pull_request: int | None,
) -> None:
    """Say what this branch does to a fabric: changes, policies, lint, and predicted cost and step time against BASE.

    Prints the comment. Against simulated clouds, the default, it needs no account.
    """
    # Like Ctrl-C: what the run has made is removed.
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, _end)
    try:
        target = None if pull_request is None else _target(pull_request)
        repository = Path(git(project, "rev-parse", "--show-toplevel").strip())
        request = Request(
            repository,
            project.resolve(),
            stack,
            base,
            cloud,
            None if no_policy else policy.resolve(),
            None if policy_config is None else policy_config.resolve(),
            linted or None,
            sizes,
            not_linted,
            install,
        )
        for option, path in (("--output", output), ("--sarif", sarif)):
            _check_target(option, path)
        _known_sizes(sizes)
        outcome = run(request)
        text = comment(request, outcome, full_report=full_report, limit=LIMIT)
        click.echo(text, nl=False)
        if output is not None:
            output.write_text(comment(request, outcome, limit=sys.maxsize), encoding="utf-8")
        if sarif is not None and outcome.sarif:
            sarif.write_text(outcome.sarif, encoding="utf-8")
        if target is not None:
            click.echo(target.put(marker(request.title), text), err=True)
    except (InputError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    sys.exit(int(outcome.failed))


def _end(number: int, frame: object) -> NoReturn:
    del frame
    sys.exit(128 + number)


def _check_target(option: str, path: Path | None) -> None:
    """Raise InputError where a file cannot be written: before the run, not after its minutes."""
    if path is None:
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{option} {path}: it cannot be written; name another place")


def _known_sizes(sizes: tuple[str, ...]) -> None:
    unknown = [name for name in sizes if name not in load_sizes()]
    if unknown:
        raise InputError(f"--for {', '.join(unknown)}: no such size; `gpu-fabric sizes` lists them")


def _target(number: int) -> PullRequest:
    missing = [name for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY") if not os.environ.get(name)]
    if missing:
        raise InputError(f"--pull-request needs {' and '.join(missing)} in the environment")
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    # Taken out of the environment: the branch's program and what it installs need not write to GitHub.
    return PullRequest(api, os.environ["GITHUB_REPOSITORY"], number, os.environ.pop("GITHUB_TOKEN"))


if __name__ == "__main__":
    main(prog_name="pr-report")
