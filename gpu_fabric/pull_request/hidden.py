"""Secrets are left out of a comment, which is public: by their published form, and by the name that they stand behind.

Rather too much than too little: behind a name that says secret the rest of the line is hidden, and what goes on from it
(a quoted text, an indented block, a here-document).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gpu_fabric.components.problems import without_secrets

SECRET = "[secret]"
"""As the engine writes a value that it knows to be one."""

#: Forms that services publish for their keys, and what is too random to be a word or a name.
_FORMS = re.compile(
    r"""
    \b(?:hf|ghp|gho|ghu|ghs|ghr|github_pat|pul|sk|pk|rk|nvapi|npm|pypi|dop_v1)[_-][\w-]{6,}
    | \b(?:glpat|xox[abprs]|shpat|sq0\w{3}|ya29)[-._][\w.-]{6,}
    | \b(?:AKIA|ASIA|AROA|AIDA|AIza)[A-Za-z0-9_-]{12,}
    | eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?
    | (?<![\w/])\$(?:1|2[aby]|5|6|y|argon2\w*)\$[\w./$,=+-]{8,}
    | (?<=Bearer[ ])[^\s"']+ | (?<=Basic[ ])[^\s"']+
    | (?<=://)[^\s/@"']*:[^\s@"']+(?=@) | (?<=://)[\w.~%-]{6,}(?=@)
    | (?<=hooks\.slack\.com/)\S+ | (?<=/api/webhooks/)\S+ | (?<=/webhook/)\S+
    | (?<![\w@:-])(?<!checkout[ ])(?<!reset[ ])[0-9a-fA-F]{32,}(?![\w-])
    | (?<![\w/.-])(?=[A-Za-z0-9]*[A-Z])(?=[A-Za-z0-9]*[a-z])(?=(?:[A-Za-z]*\d){3})[A-Za-z0-9]{24,}(?![\w/.-])
    """,
    re.VERBOSE,
)
#: A name that says what stands behind it, such as HF_TOKEN, apiKey or --password. Not what only leads to a secret
#: (a file, an id, an address), nor IMDSv2's `httpTokens` and NCCL's partition key.
# Bounded, so that a long line takes no longer than its length says.
_NAME = (
    r"""[\w.\-\[\]]{0,100}(?:(?<!http)(?<!max_)(?<!max-)(?<!max)token|secret|passw|passphrase|(?<![a-z])pass(?![a-z])|pwd|(?<![a-z])creds?(?![a-z])|credential|authorization"""
    r"""|(?<!nccl_ib_p)key|\bauth|_auth|sig\b|signature|sas\b)[\w.\-\[\]]{0,100}"""
    r"""(?<!id)(?<!ids)(?<!name)(?<!arn)(?<!file)(?<!path)(?<!vault)(?<!izer)(?<!url)"""
)
_NAMED = re.compile(_NAME, re.IGNORECASE)
_ASSIGNED = re.compile(rf"(?<![\w])(?P<name>{_NAME})(?P<between>[\"']?\s*(?:=|:(?!//))\s*)", re.IGNORECASE)
_VALUE = re.compile(rf"(?<![\w])({_NAME}=)(?!\[secret\])(?:\"[^\"]*\"|'[^']*'|[^\s`\"'|]+)", re.IGNORECASE)
_OPTION = re.compile(rf"(?<!\S)(?P<name>--?{_NAME})(?P<between>\s+)(?=\S)", re.IGNORECASE)
#: Commands that take a secret without a name before it.
_COMMANDS = re.compile(
    r"\b(?:sshpass|chpasswd|htpasswd)\b"
    r"|\b(?:docker|podman|az|ngc|wandb|oras|registry|hf|huggingface-cli|auth|vault)\s+login\b"
    r"|\bcurl\b.*?\s(?:-[a-zA-Z]{0,10}u|--user)(?=[\s=\w])"
    r"|\b(?:mysql\w{0,10}|mariadb)\b.*?\s-p(?=\S)|\bredis-cli\b.*?\s-a(?=\s)",
)
#: What reads a secret from the command before it.
_READS_A_SECRET = re.compile(r"\|[^|]{0,200}?(?:\bchpasswd\b|--(?:password-)?stdin\b|\bsudo\s+-S\b)")
#: Where a line's output goes.
_TO_A_FILE = re.compile(r"(?:>|\btee\s(?:\s*-a\s)?)\s*[\"']?(?P<file>[^\s\"';|&<>()]{1,300})")
#: `aws configure set aws_secret_access_key …`
_SET = re.compile(rf"\bset\s+(?P<name>{_NAME})(?P<between>\s+)(?=\S)", re.IGNORECASE)
#: A list of variables as Kubernetes and AWS Batch write it: the name, and beside it the value.
_ENTRY = re.compile(rf"""["']?\bname["']?\s*[:=]\s*["']?{_NAME}["']?\s*(?:,|}}|\#|$)""", re.IGNORECASE)
_ENTRY_VALUE = re.compile(r"""["']?\bvalue["']?\s*[:=]\s*""", re.IGNORECASE)
#: Files that hold keys and passwords whatever their name.
_FILE = re.compile(
    r"/(?:\.ssh|\.aws|\.docker|\.kube|\.azure|secrets?|private)/|(?:\.pem|\.p12|\.pfx|\.jks|netrc|shadow|id_\w+)$"
)
_HERE_DOCUMENT = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")
_BLOCK = re.compile(r"""["']?\s*:\s*(?:[|>][+-]?\d*|[\[{])?\s*$""")
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN ", "-----END "


def names_a_secret(name: str) -> bool:
    """Whether what `name` (a variable, a property's path, a file's path) holds is a secret by its name."""
    return _NAMED.fullmatch(name.rpartition("/")[2]) is not None or _FILE.search(name) is not None


def without_forms(text: str) -> str:
    """`text` without what has the form of a secret, and without the values of variables that are named as one."""
    shown = (_FORMS.sub(SECRET, without_secrets(line)) for line in without_secrets(text).split("\n"))
    return "\n".join(_VALUE.sub(rf"\1{SECRET}", line) for line in shown)


def shown_lines(text: str) -> list[str]:
    """The lines of a script or file, as many as it has, each without its secrets."""
    lines = text.splitlines()
    hidden = {*_fed(lines), *_beside_a_name(lines)}
    shown: list[str] = []
    goes_on: Callable[[str], bool] | None = None
    for number, line in enumerate(lines):
        if number in hidden and goes_on is None:
            start = _ENTRY_VALUE.search(line)
            shown.append(line[: start.end()] + SECRET if start else _indented(line, SECRET))
            continue
        if goes_on is not None and goes_on(line):
            shown.append(_indented(line, SECRET) if line.strip() else line)
            continue
        goes_on, said = _line(line)
        shown.append(said)
    return shown


def _fed(lines: list[str]) -> Iterator[int]:
    """Lines of commands that hand a secret on: to a command that reads one, or into a file that holds one."""
    begun = 0
    for number, line in enumerate(lines):
        if line.rstrip().endswith(("\\", "|")) and number + 1 < len(lines):
            continue
        command = " ".join(each.rstrip("\\ ") for each in lines[begun : number + 1])
        to_a_secret = any(names_a_secret(found["file"]) for found in _TO_A_FILE.finditer(command))
        # The lines of a here-document are hidden by its first one.
        if (_READS_A_SECRET.search(command) or to_a_secret) and not _HERE_DOCUMENT.search(command):
            yield from range(begun, number + 1)
        begun = number + 1


def _beside_a_name(lines: list[str]) -> Iterator[int]:
    """Lines with the value of an entry whose name, on a line beside it or on the same one, says secret."""
    for number, line in enumerate(lines):
        if _ENTRY.search(line):
            near = range(max(0, number - 1), min(len(lines), number + 3))
            yield from (at for at in near if _ENTRY_VALUE.search(lines[at]))


def _line(line: str) -> tuple[Callable[[str], bool] | None, str]:
    """Whether the next lines go on with a secret of this one, and this one without its own."""
    if _KEY_BEGINS in line and "PRIVATE KEY" in line:
        before = line.partition(_KEY_BEGINS)[0]
        return None if _KEY_ENDS in line else _until(lambda after: _KEY_ENDS in after), before + SECRET
    here = _HERE_DOCUMENT.search(line)
    if here is not None and (_NAMED.search(line) or _FILE.search(here.string) or _COMMANDS.search(line)):
        word = here[1]
        return _until(lambda after: after.strip() == word), _without(line)
    found = next(_begins(line), None)
    if found is None:
        return None, without_forms(line)
    rest = line[found:]
    quote = next((mark for mark in "\"'" if rest.count(mark) % 2 and rest.lstrip().startswith(mark)), None)
    if quote is not None:
        return _until(lambda after: quote in after), _without(line)
    if line.rstrip().endswith("\\"):
        return _until(lambda after: not after.rstrip().endswith("\\")), _without(line)
    if not rest.strip(" |>+-0123456789[{") and _BLOCK.search(line):
        depth = _depth(line)
        return (lambda after: not after.strip() or _depth(after) > depth), line
    return None, _without(line)


def _begins(line: str) -> Iterator[int]:
    """Where a secret begins in a line, by the names and commands before it; the first one first."""
    ends = [found.end() for form in (_ASSIGNED, _OPTION, _SET, _COMMANDS) for found in form.finditer(line)]
    yield from sorted(ends)


def _without(line: str) -> str:
    start = next(_begins(line), None)
    if start is None:
        return without_forms(line)
    space = "" if line[:start].endswith((" ", "=", ":", "\t")) else " "
    return f"{without_forms(line[:start])}{space}{SECRET}"


def _until(last: Callable[[str], bool]) -> Callable[[str], bool]:
    """Goes on up to and with the first line that is the `last` one."""
    ended = False

    def goes_on(line: str) -> bool:
        nonlocal ended
        if ended:
            return False
        ended = last(line)
        return True

    return goes_on


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indented(line: str, text: str) -> str:
    return line[: _depth(line)] + text
