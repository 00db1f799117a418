"""The arguments of `gpu-fabric-preflight`, and what each may be."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Final

from gpu_fabric import __version__
from gpu_fabric.nccl.preflight.expected import thresholds
from gpu_fabric.nccl.preflight.identify import METADATA
from gpu_fabric.nccl.preflight.judge import COLLECTIVES
from gpu_fabric.nccl.preflight.launchers import Kind
from gpu_fabric.nccl.preflight.link import LARGEST, LONGEST, PORT, SMALLEST, Demand
from gpu_fabric.nccl.preflight.versions import COMPONENTS

EPILOG: Final = "Exit codes: 0 pass or warn, 1 fail, 2 unknown and nothing failed, 64 wrong usage."

_REPORT: Final = "also write Markdown, or JSON where the name ends in .json"
_ABOUT: Final = "Prove a node, a cluster, or the link between two clouds, before the first training step."
_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class UsageError(Exception):
    """The arguments cannot be met; the message says what to give."""


# ---- what a value may be --------------------------------------------------------------------------------------------


def number(least: float = 0.0, most: float = math.inf, *, unit: str = "") -> Callable[[str], float]:
    """A reader of finite numbers above `least` and at most `most`."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least < value <= most or math.isinf(value):
            limit = f" and at most {most:g}" if math.isfinite(most) else ""
            raise argparse.ArgumentTypeError(f"{text!r} is no number above {least:g}{limit}{unit}")
        return value

    return read


def whole(least: int = 1, most: int = 10**6) -> Callable[[str], int]:
    """A reader of whole numbers from `least` to `most`."""

    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {most}")
        return value

    return read


_BYTES: Final = re.compile(r"([1-9][0-9]{0,11})([KMGT]?)")


def message_size(text: str) -> str:
    """A size as nccl-tests take it: `8G`. Source: nccl-tests src/common.cu, parsesize."""
    if not _BYTES.fullmatch(text.upper()):
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 512M or 8G")
    return text


def _bytes(size: str) -> int:
    match = _BYTES.fullmatch(size.upper())
    return int(match[1]) << _UNITS[match[2]] if match else 0


def partition_key(text: str) -> int:
    """`0x8023` → its number."""
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,4}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a key such as 0x8023")
    return int(text, 16)


def shell_words(text: str) -> tuple[str, ...]:
    """A command as a shell takes it apart."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def pairs(entries: Sequence[str], option: str, known: Sequence[str] = ()) -> dict[str, str]:
    """`NAME=VALUE` entries; `UsageError` names the first that is none."""
    found = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not name or not equals or (known and not value):
            raise UsageError(f"{option}: {entry!r} is not NAME=VALUE")
        if known and name not in known:
            raise UsageError(f"{option}: {name!r} is not one of {', '.join(known)}")
        if "\0" in value or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(f"{option}: {name!r} is no name of a variable")
        found[name] = value
    return found


def checked(given: argparse.Namespace) -> argparse.Namespace:
    """Arguments that must fit each other. `UsageError` says which do not."""
    if given.command == "cluster":
        warn, fail = (
            default if value is None else value
            for value, default in zip((given.warn, given.fail), thresholds(), strict=True)
        )
        if fail > warn:
            raise UsageError(
                f"--fail {fail:g} is above --warn {warn:g}: what fails would not even be warned of"
            )
        pairs(given.env, "--env")
        if _bytes(given.begin) > _bytes(given.end):
            raise UsageError("--begin is larger than --end")
        if given.log and len(given.collective or ()) > 1:
            raise UsageError("--log holds one run: name its --collective alone")
    return given


# ---- parsers --------------------------------------------------------------------------------------------------------


def parser(program: str = "gpu-fabric-preflight") -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(program, description=_ABOUT, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"{program} {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="node|cluster|link|lint")
    _node(commands.add_parser("node", help="every check of this node", epilog=EPILOG))
    about = "nccl-tests on all nodes, and the nodes that make them fail"
    _cluster(commands.add_parser("cluster", help=about, epilog=EPILOG))
    _link(
        commands.add_parser("link", help="the way to the other cloud, measured from both ends", epilog=EPILOG)
    )
    about = "the lint of gpu-fabric, for nodes that have only this file"
    lint = commands.add_parser("lint", help=about, epilog=EPILOG)
    lint.add_argument("files", nargs="+", metavar="FILE")
    lint.add_argument("--size", metavar="SIZE", help="what the files are meant for")
    lint.add_argument("--json", action="store_true", help="print JSON")
    return top


def _output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--report", metavar="FILE", help=_REPORT)


def _node(node: argparse.ArgumentParser) -> None:
    node.add_argument(
        "--size", metavar="SIZE", help="instance type or VM size [the cloud's metadata service]"
    )
    about = f"a version that the node must have, as far as it is written out; of {', '.join(COMPONENTS)}"
    node.add_argument("--pin", action="append", default=[], metavar="NAME=VERSION", help=about)
    about = "InfiniBand partition key of the cluster's other nodes"
    node.add_argument("--partition", type=partition_key, metavar="0x8…", help=about)
    _output(node)
    node.add_argument("--metadata", default=METADATA, help=argparse.SUPPRESS)
    node.add_argument("--root", default="/", help=argparse.SUPPRESS)


def _cluster(cluster: argparse.ArgumentParser) -> None:
    add = cluster.add_argument
    add("--size", metavar="SIZE", help="size of the nodes [that of this one]")
    where = cluster.add_mutually_exclusive_group()
    about = "names, such as n[1-4,7],m1 [the Slurm job's]; with --manifest or --log a number will do"
    where.add_argument("--nodes", metavar="LIST", help=about)
    about = "one name a line, Open MPI's slots= allowed; - reads input"
    where.add_argument("--hostfile", metavar="FILE", help=about)
    add("--launcher", choices=("auto", *Kind), default="auto")
    add("--collective", choices=COLLECTIVES, action="append", help="repeat for several [all_reduce]")
    add("--binary", metavar="PATH", help="the nccl-tests program, or their folder [PATH, the images']")
    add("--begin", type=message_size, default="1G", metavar="BYTES", help="smallest message [%(default)s]")
    add("--end", type=message_size, default="8G", metavar="BYTES", help="largest message [%(default)s]")
    add("--iterations", type=whole(), default=20, metavar="N", help="of each size [%(default)s]")
    add("--gpus-per-node", type=whole(1, 1024), metavar="N", help="[the size's]")
    add("--expect", type=number(), metavar="GB/s", help="bus bandwidth of the largest message")
    add("--warn", type=number(0, 1), metavar="SHARE", help="of what is expected [0.9]")
    add("--fail", type=number(0, 1), metavar="SHARE", help="of what is expected [0.75]")
    about = "longest time of one run, from its start [%(default)g]"
    add("--seconds", type=number(0, 86_400), default=600.0, help=about)
    about = "longest wait in Slurm's queue, outside of an allocation [%(default)g]"
    add("--queue-seconds", type=number(0, 7 * 86_400), default=600.0, help=about)
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="for the ranks")
    add("--launcher-arg", action="append", default=[], metavar="WORD", help="for srun or mpirun")
    about = "put before the program [gpu-fabric-entrypoint if here]"
    add("--wrapper", type=shell_words, metavar="COMMAND", help=about)
    add("--keep", metavar="FOLDER", help="keep what every run printed")
    add("--no-search", action="store_true", help="do not look for the nodes that make it fail")
    add("--two-clouds", action="store_true", help="sockets between the two clouds are meant")
    about = "judge this output of a run instead of running; twice for the JSON of -J and the log"
    add("--log", action="append", metavar="FILE", help=about)
    add("--manifest", metavar="IMAGE", help="print an MPIJob with this image instead of running")
    add("--rdma-resource", metavar="NAME", help="of the manifest, where nodes have InfiniBand")
    _output(cluster)


def _link(link: argparse.ArgumentParser) -> None:
    add = link.add_argument
    role = link.add_mutually_exclusive_group(required=True)
    role.add_argument("--serve", metavar="ADDRESS", help="answer on this address of this node")
    role.add_argument("--peer", metavar="HOST", help="measure to the node that serves")
    add("--port", type=whole(1, 65_535), default=PORT, help="TCP and UDP [%(default)s]")
    add("--token", help="of the server, which prints one where none is given")
    about = "how long to serve [%(default)g]"
    add("--for", dest="lifetime", type=number(0, 86_400), default=600.0, metavar="SECONDS", help=about)
    about = "highest median round trip [%(default)g]"
    add("--rtt-ms", type=number(0, 10_000), default=Demand.rtt_ms, help=about)
    about = "what the routes promise [%(default)s]"
    add("--mtu", type=whole(SMALLEST, LARGEST), default=Demand.mtu, help=about)
    add("--bandwidth-mbps", type=number(), help="of the link, as ordered")
    about = "connections at a time [%(default)s]"
    add("--flows", type=whole(1, 1024), default=Demand.flows, help=about)
    about = "of each transfer [%(default)g]"
    add("--seconds", type=number(0, LONGEST), default=5.0, help=about)
    about = "for round trip and loss [%(default)s]"
    add("--packets", type=whole(1, 100_000), default=500, help=about)
    _output(link)
