"""Mandates 3, 5 and 6: what a node's user data says about NCCL, sockets and the gate before the first job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from gpu_fabric.nccl.environment import situation_of
from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.lint.check import diagnose
from gpu_fabric.nccl.lint.diagnosis import Diagnosis
from gpu_fabric.nccl.lint.sources import is_topology, read_source
from gpu_fabric.policy.nodes import Node, UnknownSize, node_of
from gpu_fabric.policy.rule import Parameters, Resource, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.user_data import Part, UnreadableError, parts
from gpu_fabric.policy.values import UNKNOWN

SOCKET_NAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES")
_CONCERNS_NCCL = re.compile(r"\b(?:NCCL|FI|UCX|OFI_NCCL|RDMAV|GLOO|TP|MELLANOX)_[A-Z]")
#: Source text that names variables without setting them for a job.
_PROGRAMS = (".py", ".json", ".service")

_BAKED: Any = {
    "type": "array",
    "items": {"type": "string"},
    "default": [],
    "description": "Images that bring this with them, so that user data need not; `*` matches anything.",
}


def _read(resource: Resource) -> tuple[Node, list[Part]] | Undecided | Violation | None:
    """The node that `resource` describes with the parts of its user data; else what is to be said instead."""
    node = node_of(resource)
    if isinstance(node, UnknownSize):
        return Undecided(f"the size of {resource.name}")
    if node is None:
        return None
    if node.user_data is UNKNOWN:
        return Undecided(f"the user data of {node.called}")
    try:
        return node, parts(node.user_data) if node.user_data else []
    except UnreadableError as error:
        return Violation(
            f"The user data of {node.called} cannot be read: {error}.", "give text that cloud-init reads."
        )


def _diagnoses(node: Node, found: list[Part]) -> Iterator[Diagnosis]:
    texts = {
        part.path: part.text
        for part in found
        if not part.path.endswith(_PROGRAMS)
        and (is_topology(part.path, part.text) or _CONCERNS_NCCL.search(part.text))
    }
    situation = None if node.size is None else situation_of(node.size)
    yield from diagnose(texts, situation=situation, size=node.size)


def _violations(node: Node, found: list[Part], wanted: Any) -> Verdicts:
    for diagnosis in _diagnoses(node, found):
        finding = diagnosis.finding
        if wanted(diagnosis):
            yield Violation(
                f"{node.called}, {finding.place}: {finding.what} [{finding.code}]", finding.remedy
            )


def _about_sockets(diagnosis: Diagnosis) -> bool:
    return bool(set(SOCKET_NAMES).intersection(diagnosis.names))


def _gpudirect(resource: Resource, parameters: Parameters) -> Verdicts:
    read = _read(resource)
    if isinstance(read, Undecided | Violation):
        yield read
    elif read is not None:
        worst = {"error": (Level.ERROR,), "warning": (Level.ERROR, Level.WARNING)}[parameters["failOn"]]
        ignored = parameters["ignore"]
        yield from _violations(
            *read,
            lambda one: (
                one.finding.level in worst and one.finding.code not in ignored and not _about_sockets(one)
            ),
        )


def _sockets(resource: Resource, parameters: Parameters) -> Verdicts:
    read = _read(resource)
    if isinstance(read, Undecided):
        yield read
    if read is None or isinstance(read, Undecided | Violation):
        return  # gpudirect says what cannot be read
    node, found = read
    yield from _violations(node, found, lambda one: _about_sockets(one) and one.finding.level is Level.ERROR)
    set_here = {
        assignment.name
        for part in found
        if not part.path.endswith(_PROGRAMS) and _CONCERNS_NCCL.search(part.text)
        for assignment in read_source(part.path, part.text).assignments
    }
    missing = [name for name in parameters["variables"] if name not in set_here]
    if missing and not _in_image(node, parameters["images"]):
        yield Violation(
            f"{node.called} has several network interfaces, and its user data does not set {', '.join(missing)}: ranks "
            "may meet on an interface that the others cannot reach.",
            f"set {missing[0]} in the file that NCCL reads (`gpu-fabric environment` writes it), or list the image "
            "that brings it in the rule's parameter `images`.",
        )


def _preflight(resource: Resource, parameters: Parameters) -> Verdicts:
    read = _read(resource)
    if isinstance(read, Undecided):
        yield read
    if read is None or isinstance(read, Undecided | Violation):
        return
    node, found = read
    markers = parameters["markers"]
    if any(marker in part.path or marker in part.text for part in found for marker in markers):
        return
    if not _in_image(node, parameters["images"]):
        yield Violation(
            f"{node.called} installs no gate before the first job: its user data holds none of {', '.join(markers)}.",
            "install one (the node files of this library bring gpu-fabric-ready.service), or name yours in the rule's "
            "parameter `markers`.",
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
        check=_gpudirect,
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
        check=_sockets,
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
        check=_preflight,
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
