"""What is wrong with an input, said to the person who wrote it: all of it at once, each with place and remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pulumi

#: Secrets by their published forms, and what stands in a message for one that was pasted into the wrong place.
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)", re.DOTALL
        ),
        "(a private key)",
    ),
    # The secret half of an AWS access key: 40 characters of base 64 (IAM User Guide, id_credentials_access-keys.html).
    (
        re.compile(r"(?<![\w/+=-])(?=[\w/+]*[A-Z])(?=[\w/+]*\d)[A-Za-z0-9/+]{40}(?![\w/+=-])"),
        "(a secret key)",
    ),
    # A JSON web token: RFC 7519, three parts, of which the first begins with `{"`.
    (re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), "(a token)"),
    # A UUID that stands alone: the service key of a circuit is one. In an Azure id it is a subscription.
    (
        re.compile(r"(?<![\w/-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w/-])"),
        "(a UUID)",
    ),
)


def without_secrets(text: str) -> str:
    """`text` without what has the form of a secret."""
    for form, instead in _SECRETS:
        text = form.sub(instead, text)
    return text


Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    path: Path
    """Keys from the top of the input to the value, such as `("fabric", "aws", "nodes")`."""
    what: str
    remedy: str

    def __str__(self) -> str:
        place = f"{render_path(self.path)}: " if self.path else ""
        return without_secrets(f"{place}{self.what}; {self.remedy}")


def problem_of_text(text: str) -> Problem:
    """A sentence of another part, `place: what; remedy`, as a problem."""
    place, _, rest = text.partition(": ")
    what, _, remedy = rest.partition("; ")
    return Problem((place,) if place else (), what, remedy or "mend the value")


def render_path(path: Path) -> str:
    """`fabric.aws.bootstrap.before[1]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class InvalidInputError(pulumi.RunError, ValueError):
    """An input with problems. Nothing was declared.

    A RunError, so that a program that does not catch it ends with its message alone, without a traceback.
    """

    def __init__(self, subject: str, problems: Sequence[Problem]) -> None:
        self.subject = subject
        self.problems = tuple(problems)
        number = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        lines = [f"  {problem}" for problem in problems]
        super().__init__("\n".join([f"{subject} has {number}; nothing was planned:", *lines]))


def raise_if_any(subject: str, problems: Iterable[Problem]) -> None:
    """Raise one InvalidInputError for all `problems`, in the order of their paths."""
    found = sorted(set(problems), key=lambda problem: [str(part) for part in problem.path])
    if found:
        raise InvalidInputError(subject, found)
