"""The steps of a node's setup, in order, as the runner on the node reads them (`paths.SETUP_PLAN`).

A step is a name, the function that does it (`do`), and that function's arguments. A step that a node does not need
stays in the list and says why, so that an operator sees the same steps on every node.
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap.checks import (
    command_problem,
    mount_point_problem,
    positive_problem,
    prefix_problem,
    texts_problems,
)
from gpu_fabric.nccl.bootstrap.files import BootstrapInputError, NodeFile
from gpu_fabric.nccl.environment import Environment
from gpu_fabric.nccl.hardware import Cloud, Fabric, NodeSize
from gpu_fabric.nccl.hardware.nvlink import nvlink
from gpu_fabric.nccl.preflight.versions import COMPONENTS, version_problem

COMMAND_SECONDS: Final = 3_600
"""The longest that one of the user's commands may take."""


@dataclass(frozen=True)
class CrossCloudRoutes:
    """The way to the other cloud.

    The defaults are ExpressRoute's: it carries 1500 bytes and fragments above 1400 (Microsoft, azure docs,
    expressroute-about-virtual-network-gateways.md); 1360 is 1400 less the IP and TCP headers.
    """

    prefixes: tuple[str, ...]
    """IPv4 networks of the other cloud."""
    bandwidth_mbps: float
    """10^6 bit/s of the link; with `rtt_ms` it sets how far a socket's buffers may grow."""
    rtt_ms: float
    gateway: str | None = None
    """None: the default route's."""
    device: str | None = None
    """Network interface; None: the default route's."""
    mtu: int = 1400
    mss: int = 1360

    def __post_init__(self) -> None:
        problems = [*self._problems()]
        if problems:
            raise BootstrapInputError("; ".join(problems))

    def _problems(self) -> Iterator[str]:
        if not self.prefixes:
            yield "prefixes: name the networks of the other cloud"
        elif wrong := [*texts_problems("prefixes", self.prefixes)]:
            yield from wrong
        else:
            yield from (f"prefixes: {said}" for said in map(prefix_problem, self.prefixes) if said)
        numbers = {
            name: positive_problem(getattr(self, name)) for name in ("bandwidth_mbps", "rtt_ms", "mtu", "mss")
        }
        yield from (f"{name}: {said}" for name, said in numbers.items() if said)
        if not numbers["mtu"] and not 576 <= self.mtu <= 9001:
            yield f"mtu: {self.mtu} is not between 576 and 9001"
        if not (numbers["mtu"] or numbers["mss"]) and self.mss > self.mtu - 40:
            yield f"mss: {self.mss} does not fit into {self.mtu} bytes with 40 bytes of headers: use {self.mtu - 40}"
        if self.gateway is not None and not _is_address(self.gateway):
            yield f"gateway: {self.gateway!r} is no IPv4 address"


@dataclass(frozen=True)
class Setup:
    """What a node does at its start besides writing its files; each part can be left out."""

    commands_before: tuple[str, ...] = ()
    """bash, each a step of its own, before everything else."""
    commands_after: tuple[str, ...] = ()
    scratch: str | None = "/scratch"
    """Where the local NVMe disks are mounted; None leaves them alone."""
    hold_packages: bool = True
    limits: bool = True
    containers: bool = False
    """Whether container runtimes get our files and no limit on locked memory."""
    routes: CrossCloudRoutes | None = None
    tag: bool = False
    """Whether the node writes its state to a tag of its own instance, which its role must allow."""
    image: str | None = None
    """A row of images.toml; None takes the environment's image."""
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Component → version that the node must have, or its beginning; `gpu-fabric-preflight node` reads it there."""
    patience_seconds: int = 900
    """The longest that the image's services and the devices may take."""
    entrypoint: bool = True
    """Whether the node gets the program that starts a job; a pod starts in an image of its own."""

    def __post_init__(self) -> None:
        problems = [*self._problems()]
        if problems:
            raise BootstrapInputError("; ".join(problems))

    def _problems(self) -> Iterator[str]:
        for name in ("commands_before", "commands_after"):
            commands = getattr(self, name)
            if wrong := [*texts_problems(name, commands)]:
                yield from wrong
                continue
            for number, said in enumerate(map(command_problem, commands)):
                if said:
                    yield f"{name}[{number}]: {said}"
        if self.scratch is not None and (said := mount_point_problem(self.scratch)):
            yield f"scratch: {said}, or None to leave the disks alone"
        if self.image is not None and self.image not in _table()["images"]:
            yield f"image: {self.image!r} has no row in images.toml; give one of {', '.join(_table()['images'])}"
        for name, version in self.versions.items():
            if name not in COMPONENTS:
                yield f"versions: {name!r} is not one of {', '.join(COMPONENTS)}"
            elif (said := version_problem(str(version))) or not isinstance(version, str):
                yield f"versions.{name}: {said or f'{version!r} is no text'}; give a version, or its beginning"
        if self.patience_seconds < 0:
            yield f"patience_seconds: must not be below 0, and is {self.patience_seconds}"


@dataclass(frozen=True)
class Plan:
    """What the runner reads, and the modules of ours that it loads."""

    document: dict[str, Any]
    modules: tuple[str, ...] = field(default=())
    before: tuple[str, ...] = field(default=())
    """Units of the image that start only where the setup ended ready."""


def _is_address(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(ipaddress.IPv4Address(value))
    except ValueError:
        return False


@cache
def _table() -> dict[str, Any]:
    text = files("gpu_fabric.nccl.bootstrap").joinpath("images.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def plan(row: NodeSize, environment: Environment, written: Sequence[NodeFile], setup: Setup) -> Plan:
    """The steps of this node. `written` are the files whose content the node checks."""
    steps = [*_steps(row, environment, written, setup)]
    if setup.patience_seconds != Setup.patience_seconds:
        for step in steps:
            if step["do"] in WAITING:
                step.update(seconds=setup.patience_seconds, within=setup.patience_seconds + 60)
    modules = tuple(dict.fromkeys(step["do"] for step in steps if step["do"] in MODULES))
    # The runner takes a step's name for what it does.
    named = [
        {key: value for key, value in step.items() if (key, value) != ("do", step["name"])} for step in steps
    ]
    document: dict[str, Any] = {"steps": named}
    if setup.tag:
        document["tag"] = row.cloud.value
        modules += ("tag",)
    return Plan(document, modules, tuple(_image(environment, setup).get("before", ())))


def traits(row: NodeSize, environment: Environment, setup: Setup) -> frozenset[str]:
    """Names of the marked regions of our programs that this node needs; see `shipped`."""
    counts_by = "libfabric" if _image(environment, setup).get("libfabric", True) else "kernel"
    return frozenset((row.cloud.value, row.fabric.value, counts_by))


WAITING: Final = ("services", "gpus", "efa", "infiniband", "hold")
"""Steps that wait for somebody else."""

MODULES: Final = ("efa", "infiniband", "scratch", "containers", "routes")
"""Steps that are a file of their own, so that a node gets only those that it needs."""


def _commands(kind: str, commands: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, run in enumerate(commands, 1):
        yield {"name": f"{kind}-{number}", "do": "command", "run": run, "within": COMMAND_SECONDS}


def _skipped(name: str, reason: str) -> dict[str, Any]:
    return {"name": name, "do": "skip", "reason": reason}


def _image(environment: Environment, setup: Setup) -> dict[str, Any]:
    images = _table()["images"]
    return images.get(setup.image or environment.situation.image, images["other"])


def _steps(
    row: NodeSize, environment: Environment, written: Sequence[NodeFile], setup: Setup
) -> Iterator[dict[str, Any]]:
    table = _table()
    image = _image(environment, setup)

    yield from _commands("before", setup.commands_before)
    joined = nvlink(row.gpu.model, row.gpu.count)
    manager = "nvidia-fabricmanager.service" if joined is not None and joined.switched else ""
    units = [unit.replace("{fabricmanager}", manager) for unit in image["units"]]
    yield {"name": "services", "do": "services", "units": [u for u in units if u not in ("", "?")]}
    yield (
        _skipped("gpus", "this image loads their drivers later")
        if image.get("drivers_later")
        else {"name": "gpus", "do": "gpus", "count": row.gpu.count}
    )
    yield _fabric(row, image)
    if setup.hold_packages:
        yield {"name": "packages", "do": "hold", "patterns": image["hold"]}
    else:
        yield _skipped("packages", "not asked for")
    yield (
        {"name": "limits", "do": "limits", **table["limits"]}
        if setup.limits
        else _skipped("limits", "not asked for")
    )
    yield _scratch(row, table, image, setup)
    yield {"name": "files", "do": "files", "sums": {file.path: file.sha256[:8] for file in written}}
    if any(file.path == paths.TOPOLOGY for file in written):
        active = environment.values.get("NCCL_TOPO_FILE") == paths.TOPOLOGY
        yield {"name": "topology", "do": "topology", "path": paths.TOPOLOGY, "active": active}
    else:
        yield _skipped("topology", f"no layout of {row.name} is published")
    yield (
        {"name": "containers", "do": "containers"}
        if setup.containers
        else _skipped("containers", "not asked for")
    )
    yield _routes(setup.routes)
    yield from _commands("after", setup.commands_after)


def _fabric(row: NodeSize, image: dict[str, Any]) -> dict[str, Any]:
    table = _table()
    if row.fabric is Fabric.EFA:
        pages = table["efa"]["hugepages"]
        step = {"name": "fabric", "do": "efa", "count": row.fabric_ports, "pages": pages}
        return step if image.get("libfabric", True) else {**step, "libfabric": False}
    if row.fabric is Fabric.INFINIBAND:
        return {
            "name": "fabric",
            "do": "infiniband",
            "count": row.fabric_ports,
            "gbps": int(row.fabric_port_gbps),
            "module": table["infiniband"]["module"],
        }
    return _skipped("fabric", f"{row.name} has no fast fabric")


def _scratch(row: NodeSize, table: dict[str, Any], image: dict[str, Any], setup: Setup) -> dict[str, Any]:
    if setup.scratch is None:
        return _skipped("scratch", "not asked for")
    if not row.local_nvme_gb:
        return _skipped("scratch", f"{row.name} has no local NVMe disks")
    return {
        "name": "scratch",
        "do": "scratch",
        "mount": setup.scratch,
        "models": table["clouds"][row.cloud.value]["disks"],
        "bytes": int(row.local_nvme_gb * 10**9),
        **(
            {"image_mount": image["image_mount"]} if row.cloud is Cloud.AWS and "image_mount" in image else {}
        ),
    }


def _routes(routes: CrossCloudRoutes | None) -> dict[str, Any]:
    if routes is None:
        return _skipped("routes", "no other cloud")
    given = {name: value for name, value in vars(routes).items() if value is not None}
    return {"name": "routes", "do": "routes", **given, "prefixes": list(routes.prefixes)}
