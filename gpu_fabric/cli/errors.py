"""Errors for the person at the keyboard: every problem on a line of its own, exit code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click


class InputError(click.ClickException):
    """Input that can be understood and not be met."""

    exit_code = 2


@contextmanager
def explained() -> Generator[None]:
    """Turn the errors of bad input into messages. Anything else is a defect of ours and keeps its traceback."""
    try:
        yield
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted. Python would complain once more while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _leave([f"{where}{error.strerror or error}"])
    except UnicodeDecodeError as error:
        _leave([f"the text is not UTF-8 ({error.reason} at byte {error.start})"])
    except (ValueError, LookupError) as error:
        problems = _problems(error)
        if problems is None:
            raise
        _leave(problems)


def _problems(error: Exception) -> list[str] | None:
    """What an error of our own packages lists; None for others."""
    if not type(error).__module__.startswith("gpu_fabric."):
        return None
    problems = getattr(error, "problems", None)
    if problems:
        return [str(problem) for problem in problems]
    return [str(error.args[0] if isinstance(error, LookupError) and error.args else error)]


def _leave(problems: list[str]) -> None:
    for problem in problems:
        click.echo(f"{click.style('error', fg='red')}: {problem}", err=True)
    sys.exit(2)
