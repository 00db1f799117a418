"""Mandates 3, 5 and 6: what a node's user data says about NCCL, sockets and the gate before the first job."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from gpu_fabric.nccl.environment import situation_of
from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.lint.check import diagnose
from gpu_fabric.nccl.lint.diagnosis import Diagnosis
from gpu_fabric.nccl.lint.sources import is_topology, other_language, read_source
from gpu_fabric.nccl.paths import DIRECTORY, ENTRYPOINT, LIBRARY
from gpu_fabric.policy.nodes import Node, for_each_node
from gpu_fabric.policy.rule import Parameters, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.user_data import Part, UnreadableError, parts
from gpu_fabric.policy.values import UNKNOWN

SOCKET_NAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES")
_CONCERNS_NCCL = re.compile(r"\b(?:NCCL|FI|UCX|OFI_NCCL|RDMAV|GLOO|TP|MELLANOX)_[A-Z]")
_GIVES_A_VALUE = re.compile(r"(?<![\w$])((?:NCCL|FI|UCX|OFI_NCCL|RDMAV|GLOO)_[A-Z][A-Z0-9_]*)=")
#: Our own programs on a node: they name variables to look at them.
_OURS = (f"{LIBRARY}/", f"{DIRECTORY}/setup.json")
_UNIT = re.compile(r"\.service$|\.service\.d/[^/]+\.conf$")

_BAKED: Any = {
    "type": "array",
    "items": {"type": "string"},
    "default": [],
    "description": "Images that bring this with them, so that user data need not; `*` matches anything.",
}


@dataclass(frozen=True)
class Settings:
    """What a node's user data sets, as lint reads it."""

    parts: tuple[Part, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Path → text of the files that may set variables of NCCL."""
    unread: tuple[str, ...] = ()
    """What cannot be read, and why."""


def _read(node: Node) -> Settings | Violation:
    """The settings in the user data of a node; what is to be said instead where no node could read it."""
    if node.user_data is UNKNOWN:
        return Settings(unread=(f"the user data of {node.called}",))
    try:
        found = parts(node.user_data) if node.user_data else ()
    except UnreadableError as error:
        return Violation(
            f"The user data of {node.called} cannot be read: {error}.", "give text that cloud-init reads."
        )
    unread = [f"{part.path} of {node.called}: {part.unread}" for part in found if part.unread]
    texts: dict[str, str] = {}
    for part in found:
        if part.path.startswith(_OURS) or not (
            is_topology(part.path, part.text) or _CONCERNS_NCCL.search(part.text)
        ):
            continue
        language = None if is_topology(part.path, part.text) else other_language(part.path, part.text)
        if language is not None:
            unread.append(
                f"what {part.path} of {node.called} sets: it is `{language}`, which lint does not read"
            )
        else:
            path, text = _as_lint_reads(part)
            unread += [
                f"what {part.path} of {node.called} does with {name}" for name in _not_read(path, text)
            ]
            # Two parts may have one name, and both run.
            texts[path] = f"{texts[path]}\n{text}" if path in texts else text
    return Settings(found, texts, tuple(unread))


def _not_read(path: str, text: str) -> list[str]:
    """Variables that a text gives a value in a way that lint does not follow, such as a line sent to another file."""
    if is_topology(path, text) or path == ENTRYPOINT:
        return []
    read = {assignment.name for assignment in read_source(path, text).assignments}
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    named = dict.fromkeys(name for line in lines for name in _GIVES_A_VALUE.findall(line))
    return [name for name in named if name not in read]


def _as_lint_reads(part: Part) -> tuple[str, str]:
    """The name and text of a file for lint, which knows no units, and takes a drop-in `nccl.conf` for NCCL's own."""
    if not _UNIT.search(part.path):
        return part.path, part.text
    path = f"{part.path} (a unit)" if part.path.endswith(".conf") else part.path
    return path, _unit_as_shell(part.text)


def _unit_as_shell(text: str) -> str:
    """The `Environment=` lines of a systemd unit as assignments of a shell, line by line (systemd.exec(5))."""
    # A line that ends in a backslash goes on in the next one (systemd.syntax(7)).
    joined = re.sub(r"\\\n", " ", text)
    return "".join(f"{_unit_line(line)}\n" for line in joined.splitlines())


def _unit_line(line: str) -> str:
    key, _, value = line.strip().partition("=")
    if key.strip() != "Environment":
        return ""
    try:
        words = shlex.split(value)
    except ValueError:
        return ""
    return "; ".join(
        f"export {name}={shlex.quote(given)}" for name, _, given in (w.partition("=") for w in words)
    )


def _diagnoses(node: Node, found: Settings) -> list[Diagnosis]:
    situation = None if node.size is None else situation_of(node.size)
    return [*diagnose(found.texts, situation=situation, size=node.size)]


def _violations(node: Node, found: Settings, wanted: Any) -> Verdicts:
    for diagnosis in _diagnoses(node, found):
        finding = diagnosis.finding
        if wanted(diagnosis):
            yield Violation(
                f"{node.called}, {finding.place}: {finding.what} [{finding.code}]", finding.remedy
            )


def _about_sockets(diagnosis: Diagnosis) -> bool:
    return bool(set(SOCKET_NAMES).intersection(diagnosis.names))


def _gpudirect(node: Node, parameters: Parameters) -> Verdicts:
    found = _read(node)
    if isinstance(found, Violation):
        yield found
        return
    worst = {"error": (Level.ERROR,), "warning": (Level.ERROR, Level.WARNING)}[parameters["failOn"]]
    ignored = parameters["ignore"]
    yield from _violations(
        node,
        found,
        lambda one: (
            one.finding.level in worst and one.finding.code not in ignored and not _about_sockets(one)
        ),
    )
    yield from map(Undecided, found.unread)


def _sockets(node: Node, parameters: Parameters) -> Verdicts:
    found = _read(node)
    if isinstance(found, Violation):
        return  # gpudirect says what cannot be read
    yield from _violations(node, found, lambda one: _about_sockets(one) and one.finding.level is Level.ERROR)
    set_here = {
        assignment.name
        for path, text in found.texts.items()
        if not is_topology(path, text)
        for assignment in read_source(path, text).assignments
    }
    missing = [name for name in parameters["variables"] if name not in set_here]
    if missing and not _in_image(node, parameters["images"]):
        yield from _lacking(
            found,
            Violation(
                f"{node.called} has several network interfaces, and its user data does not set {', '.join(missing)}: "
                "ranks may meet on an interface that the others cannot reach.",
                f"set {missing[0]} in the file that NCCL reads (`gpu-fabric environment` writes it), or list the image "
                "that brings it in the rule's parameter `images`.",
            ),
        )


def _lacking(found: Settings, violation: Violation) -> Verdicts:
    """The violation; undecided where what is lacking may be in a part that cannot be read."""
    if found.unread:
        yield from map(Undecided, found.unread)
    else:
        yield violation


def _preflight(node: Node, parameters: Parameters) -> Verdicts:
    found = _read(node)
    if isinstance(found, Violation):
        return
    markers = parameters["markers"]
    if any(marker in part.path or marker in part.text for part in found.parts for marker in markers):
        return
    if not _in_image(node, parameters["images"]):
        yield from _lacking(
            found,
            Violation(
                f"{node.called} installs no gate before the first job: its user data holds none of "
                f"{', '.join(markers)}.",
                "install one (the node files of this library bring gpu-fabric-ready.service), or name yours in the "
                "rule's parameter `markers`.",
            ),
        )


def _in_image(node: Node, patterns: list[str]) -> bool:
    return isinstance(node.image, str) and any(
        fnmatchcase(node.image.lower(), pattern.lower()) for pattern in patterns
    )


RULES = (
    Rule(
        name="gpudirect",
        summary="No NCCL setting in a node's user data switches GPUDirect or the fast fabric off.",
        why="User data and custom data are unpacked (base64, gzip, MIME parts, cloud-config) and every environment and "
        "topology file in them goes through `gpu-fabric lint` for the node's size.",
        source="docs/lint.md",
        **for_each_node(_gpudirect),
        parameters={
            "failOn": {
                "type": "string",
                "enum": ["error", "warning"],
                "default": "error",
                "description": "The mildest finding that counts.",
            },
            "ignore": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": "Codes of findings to leave out; docs/lint.md lists them.",
            },
        },
    ),
    Rule(
        name="socket-names",
        summary="GPU nodes say which interface NCCL's sockets use.",
        why="A node with EFA, InfiniBand or containers has several interfaces, and NCCL's own choice may be one that "
        "other nodes cannot reach. A name that no interface of the size has ends the job.",
        source="NCCL user guide, env.html, NCCL_SOCKET_IFNAME",
        **for_each_node(_sockets),
        parameters={
            "variables": {
                "type": "array",
                "items": {"type": "string"},
                "default": ["NCCL_SOCKET_IFNAME"],
                "description": "Variables that must be set.",
            },
            "images": _BAKED,
        },
    ),
    Rule(
        name="preflight-gate",
        summary="GPU nodes install a gate that a job waits for.",
        why="One node with a missing driver slows or stops the whole job. A gate that runs at boot finds it before the "
        "job does.",
        source="docs/entrypoint.md",
        **for_each_node(_preflight),
        parameters={
            "markers": {
                "type": "array",
                "items": {"type": "string"},
                "default": [
                    "gpu-fabric-ready.service",
                    "gpu-fabric-preflight",
                    "gpu-fabric preflight",
                    "NCCL_TESTS_MIN_BW",
                ],
                "description": "Texts by which a gate is known, in the name or content of a file.",
            },
            "images": _BAKED,
        },
    ),
)
