"""The file that `--report` names, beside what is printed."""

from __future__ import annotations

import sys
from pathlib import Path

from gpu_fabric.nccl.preflight.arguments import UsageError


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
            Path(self.path).write_text(
                document if self.path.endswith(".json") else markdown, encoding="utf-8"
            )
        except OSError as error:
            print(f"--report: {self.path}: {error.strerror}", file=sys.stderr)
