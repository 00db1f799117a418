"""The file that `--report` names, beside what is printed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gpu_fabric.nccl.preflight.arguments import UsageError


def say(text: str) -> None:
    """Print what was found. A standard output that is closed, or on a full disk, does not change the verdict."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"standard output: {error.strerror}", file=sys.stderr)
        # Python would try once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Reports:
    """Markdown, or JSON where the name ends in .json. Whether it can be written is found out before anything runs."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        if path is not None:
            try:
                with Path(path).open("a", encoding="utf-8"):
                    pass
            except OSError as error:
                raise UsageError(f"--report: {path}: {error.strerror}") from None

    def write(self, markdown: str, document: str) -> None:
        """A disk that is full by now does not change the verdict."""
        if self.path is None:
            return
        try:
            text = document if self.path.endswith(".json") else markdown
            # The name of a file may hold bytes that are no UTF-8.
            Path(self.path).write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            print(f"--report: {self.path}: {error.strerror}", file=sys.stderr)
