"""The copy of a stack file that a simulated run uses.

Pulumi writes an encryption salt into the stack file it is given. A simulated run has a passphrase of its own, so
it works on a copy: the user's file keeps the user's salt, key and secrets, and is never written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PLACEHOLDER = "placeholder-for-a-secret-in-a-simulated-run"
_KEYS_OF_A_REAL_BACKEND = ("secretsprovider", "encryptedkey", "encryptionsalt")


class StackFileError(ValueError):
    """A stack file that cannot be read; the text gives the place and the remedy."""


@dataclass(frozen=True)
class Copy:
    path: Path
    replaced_secrets: int
    """How many encrypted values were replaced by `PLACEHOLDER`: only the real backend can decrypt them."""
    secrets: tuple[str, ...] = ()
    """Keys of `config` whose whole value is one of them; a program may ask whether such a key is a secret."""


def read_stack_file(path: Path) -> dict[str, Any]:
    """The stack file as a mapping. Raises StackFileError with line and column where it is not YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        stacks = sorted(found.name for found in path.parent.glob("Pulumi.*.yaml"))
        raise StackFileError(
            f"{path.name}: there is no such stack file in {path.parent}; found: {', '.join(stacks) or 'none'}"
        ) from error
    try:
        document = yaml.safe_load(text) or {}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path.name}:{mark.line + 1}:{mark.column + 1}" if mark else path.name
        raise StackFileError(
            f"{place}: this is not YAML: {error.problem}. Mend the line (or the one before it); nothing was planned"
        ) from error
    except yaml.YAMLError as error:
        raise StackFileError(f"{path.name}: this is not YAML: {error}. Nothing was planned") from error
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise StackFileError(
            f"{path.name}: a stack file is a map with the key `config`, this one is a {kind}"
        )
    return document


def copy_for_simulation(source: Path, target: Path) -> Copy:
    """Write `source` to `target` with the salt that `target` had and without the real backend's keys."""
    document = read_stack_file(source)
    for key in _KEYS_OF_A_REAL_BACKEND:
        document.pop(key, None)
    replaced = 0

    def without_secrets(value: Any) -> Any:
        nonlocal replaced
        if isinstance(value, dict):
            if set(value) == {"secure"}:
                replaced += 1
                return PLACEHOLDER
            return {key: without_secrets(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [without_secrets(inner) for inner in value]
        return value

    config = document.get("config")
    secrets = tuple(
        str(key)
        for key, value in (config.items() if isinstance(config, dict) else ())
        if isinstance(value, dict) and set(value) == {"secure"}
    )
    document = without_secrets(document)
    if target.exists():
        salt = (yaml.safe_load(target.read_text(encoding="utf-8")) or {}).get("encryptionsalt")
        if salt:
            document["encryptionsalt"] = salt
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return Copy(target, replaced, secrets)
