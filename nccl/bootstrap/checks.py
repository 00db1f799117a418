"""What of a user's wishes can be seen to fail on the node: each check returns what is wrong, or None."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

#: A file system over one of these hides what the system keeps there (Filesystem Hierarchy Standard 3.0, chapter 3).
_SYSTEM_FOLDERS: Final = (
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib64",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "tmp",
    "usr",
)
_SYSTEM_PLACES: Final = ("/", "/home", "/mnt", "/opt", "/srv", "/var", "/var/lib", "/var/log")
#: And over or inside one of these what the node's setup, cloud-init, the package manager or the image has there.
_TAKEN: Final = (
    "/opt/amazon",
    "/opt/aws",
    "/opt/nvidia",
    "/opt/hpcx",
    "/var/lib/cloud",
    "/var/lib/dpkg",
    "/var/lib/gpu-fabric",
    "/var/lib/rpm",
    "/var/lib/systemd",
    "/var/lib/waagent",
    "/var/log/gpu-fabric",
    "/var/log/journal",
    "/var/run",
)
_PATH: Final = re.compile(r"/[A-Za-z0-9/._+-]*")


def mount_point_problem(value: object) -> str | None:
    """Why no file system can be mounted there."""
    if not isinstance(value, str):
        return f"{value!r} is no text; give an absolute path such as /scratch"
    place = PurePosixPath(value)
    if not _PATH.fullmatch(value) or ".." in place.parts:
        return (
            f"{value!r} is not an absolute path of letters, digits and `._+-` without `..`; "
            "give a folder of its own such as /scratch"
        )
    a_home = place.parts[1:2] == ("home",) and len(place.parts) == 3
    taken = any(place.is_relative_to(one) for one in _TAKEN)
    if str(place) in _SYSTEM_PLACES or place.parts[1] in _SYSTEM_FOLDERS or a_home or taken:
        return (
            f"{value} holds files of the system, which a mounted disk would hide; "
            "give a folder of its own such as /scratch"
        )
    return None


def command_problem(value: object) -> str | None:
    """Why bash cannot run it."""
    if not isinstance(value, str):
        return f"{value!r} is no text; give a command of bash"
    if not value.strip():
        return "is empty; give a command, or drop the item"
    if "\0" in value:
        return "has a NUL character, at which bash would end; take it out"
    return None


def texts_problems(name: str, value: object) -> Iterator[str]:
    """A text where a tuple of texts belongs is a tuple of letters to Python."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        yield f"{name}: {value!r} is not a sequence of texts; write ({value!r},)"


def prefix_problem(value: object) -> str | None:
    """Why it is no network that routes can lead to."""
    try:
        network = ipaddress.IPv4Network(value) if isinstance(value, str) else None
    except ValueError as error:
        return f"{error}; write an IPv4 network such as 10.20.0.0/16"
    if network is None:
        return f"{value!r} is no text; write an IPv4 network such as 10.20.0.0/16"
    if network.prefixlen == 0:
        return "0.0.0.0/0 is not the other cloud's network"
    if network.is_loopback or network.is_multicast or network.is_link_local:
        return f"{value} is no network of another cloud's; write one such as 10.20.0.0/16"
    return None


def positive_problem(value: object) -> str | None:
    """Why it is no amount above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{value!r} is no number"
    if not (math.isfinite(value) and value > 0):
        return f"must be above 0, not {value}"
    return None
