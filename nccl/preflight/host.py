"""What the checks see of a node: its commands and its files, never changed."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def said(self) -> str:
        """The last line of what it said, for a message."""
        return next(iter(reversed((self.err or self.out).strip().splitlines())), f"exit {self.code}")


@dataclass(frozen=True)
class Host:
    root: str = "/"
    """Where files are read from; a test points it at a folder."""
    seconds: float = 60
    """The longest that a command may take."""

    def path(self, path: str) -> Path:
        return Path(self.root) / path.lstrip("/")

    def read(self, path: str) -> str | None:
        """The text without surrounding blanks; None where it cannot be read."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        return self.path(path).exists()

    def glob(self, pattern: str) -> list[str]:
        """Paths as seen on the node, in order."""
        found = Path(self.root).glob(pattern.lstrip("/"))
        return sorted(f"/{path.relative_to(self.root)}" for path in found)

    def run(self, *argv: str) -> Ran | None:
        """None where the program is not there; exit 124 where it took too long."""
        program = shutil.which(argv[0])
        if program is None:
            return None
        try:
            done = subprocess.run(
                [program, *argv[1:]],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.seconds,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ran(124, "", f"took longer than {self.seconds:g} s")
        except OSError as error:
            return Ran(126, "", str(error))
        return Ran(done.returncode, done.stdout, done.stderr)
