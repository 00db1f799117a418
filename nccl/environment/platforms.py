"""What else sets NCCL's variables on a node: the EFA plugin and the images' boot services (`platforms.toml`)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from gpu_fabric.nccl.environment.situation import PluginTopology, Situation, matches
from gpu_fabric.nccl.hardware.models import Cloud, Fabric
from gpu_fabric.nccl.versions import parse_version

OTHER_IMAGE: Final = "other"
"""Image key for an image that no row describes: nothing is assumed about its device names."""


@dataclass(frozen=True)
class SetElsewhere:
    """A value that somebody other than us gives to a variable which is unset."""

    name: str
    value: str
    by: str
    source: str

    def __str__(self) -> str:
        return f"{self.by}: {self.value}"


@cache
def platforms() -> Mapping[str, Any]:
    """The rows of `platforms.toml`."""
    return tomllib.loads(files(__package__).joinpath("platforms.toml").read_text(encoding="utf-8"))


def default_plugin_version(fabric: Fabric | None) -> str | None:
    """The EFA plugin's version that is assumed where none is given; None without EFA."""
    return platforms()["plugin"]["default_version"] if fabric is Fabric.EFA else None


def image_key(image: str | None, cloud: Cloud) -> str:
    """Key of the row that describes an image name, URN or path; the cloud's GPU image if `image` is None."""
    rows = [row for row in platforms()["images"] if row["cloud"] == cloud.value]
    if image is None:
        return next(row["key"] for row in rows if row.get("default"))
    return next((row["key"] for row in rows if re.search(row["match"], image, re.IGNORECASE)), OTHER_IMAGE)


def _plugin_platform(size: str) -> Mapping[str, Any] | None:
    rows = platforms()["plugin"]["platforms"]
    return next((row for row in rows if re.search(row["match"], size)), None)


def plugin_topology(size: str, fabric: Fabric) -> PluginTopology:
    """What the EFA plugin does about the topology on an instance type."""
    row = _plugin_platform(size) if fabric is Fabric.EFA else None
    return PluginTopology(row["topology"]) if row else PluginTopology.NONE


def set_elsewhere(situation: Situation) -> list[SetElsewhere]:
    """Everything the plugin and the image set on this node where nothing set it before, in file order."""
    return [*_set_by_plugin(situation), *_set_by_image(situation)]


def _set_by_plugin(situation: Situation) -> list[SetElsewhere]:
    if situation.fabric is not Fabric.EFA or situation.size is None:
        return []
    plugin = platforms()["plugin"]
    row = _plugin_platform(situation.size) or {}
    values: dict[str, str] = dict(row.get("sets", {}))
    for since, more in row.get("sets_since", {}).items():
        if situation.plugin is not None and situation.plugin >= parse_version(since):
            values.update(more)
    always = (entry for entry in plugin["always"] if matches(entry.get("when", {}), situation))
    values.update((entry["name"], entry["value"]) for entry in always)
    topology = {
        "static": "the file it installs",
        "generated": "a file it writes at run time (/proc/self/fd/N)",
    }.get(row.get("topology", "none"))
    if topology:
        values["NCCL_TOPO_FILE"] = topology
    return [SetElsewhere(name, value, plugin["name"], plugin["source"]) for name, value in values.items()]


def _set_by_image(situation: Situation) -> list[SetElsewhere]:
    row = next((row for row in platforms()["images"] if row["key"] == situation.image), None)
    if row is None or situation.size is None:
        return []
    series = next(
        (entry for entry in row.get("series", []) if re.search(entry["match"], situation.size)), None
    )
    if series is None:
        return []
    return [SetElsewhere(name, value, row["setter"], row["source"]) for name, value in series["sets"].items()]
