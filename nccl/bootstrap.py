"""What a node is given at its first boot: our files, and the cloud-config text that writes and checks them.

The text is rendered from `templates/` and is the same to the byte for the same input. It is small: the files stay
readable in it, because one gzip over everything is smaller than gzip and base64 file by file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from gpu_fabric import __version__
from gpu_fabric.nccl import paths
from gpu_fabric.nccl.environment import Environment, to_conf, to_node_shell
from gpu_fabric.nccl.hardware import NodeSize, get_size

if TYPE_CHECKING:
    import jinja2

EC2_USER_DATA_LIMIT: Final = 16_384
"""Bytes before base64, after gzip. EC2 User Guide, instancedata-add-user-data.html."""

AZURE_CUSTOM_DATA_LIMIT: Final = 65_536
"""Bytes before base64. azure-compute-docs, virtual-machines/custom-data.md."""


class BootstrapInputError(ValueError):
    """The arguments contradict each other; the message says which and what to do."""


class UserDataTooLargeError(ValueError):
    """The compressed text exceeds what the cloud takes. `size` and `limit` are bytes before base64."""

    def __init__(self, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__(
            f"the node's start-up data is {size:,} bytes after gzip and the limit is {limit:,}: "
            f"shorten the extra commands by {size - limit:,} bytes, or fetch a script from storage in one of them"
        )


@dataclass(frozen=True)
class NodeFile:
    """One file on the node, owned by root."""

    path: str
    content: str
    mode: str = "0644"
    """Permissions in octal, as cloud-init wants them: text of four digits."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()

    @property
    def base64(self) -> str:
        return base64.b64encode(self.content.encode()).decode()

    @property
    def literal(self) -> bool:
        """Whether a YAML block scalar carries the content unchanged."""
        return (
            self.content.endswith("\n")
            and not self.content.endswith("\n\n")
            and not self.content.startswith((" ", "\n"))
            and all(character.isprintable() or character == "\n" for character in self.content)
        )


def node_files(
    size: str | NodeSize, *, environment: Environment, topology_xml: str | None = None
) -> tuple[NodeFile, ...]:
    """The files of a node, in the order in which they are written.

    NCCL's file, the shell file, the entrypoint, and the topology if there is one. `topology_xml` None takes the
    catalog's layout of the size, if it has one; `""` installs none. The topology is installed also where it is
    not active: the environment alone decides that, by naming `paths.TOPOLOGY` in NCCL_TOPO_FILE.
    Raises `BootstrapInputError` if the environment names the topology and there is none, or is for another size.
    """
    row = size if isinstance(size, NodeSize) else get_size(size)
    if environment.size != row.name:
        raise BootstrapInputError(
            f"the environment is for {environment.size}, the node is {row.name}: use one size"
        )
    xml = _catalog_topology(row) if topology_xml is None else topology_xml
    if environment.values.get("NCCL_TOPO_FILE") == paths.TOPOLOGY and not xml:
        raise BootstrapInputError(
            f"NCCL_TOPO_FILE is {paths.TOPOLOGY} and {row.name} has no topology to install: "
            "pass topology_xml, or make the environment with topology_file=False"
        )
    topology = (NodeFile(paths.TOPOLOGY, xml),) if xml else ()
    return (
        NodeFile(paths.NCCL_CONF, to_conf(environment)),
        NodeFile(paths.ENVIRONMENT, to_node_shell(environment, fabric_ports=row.fabric_ports)),
        *topology,
        NodeFile(paths.ENTRYPOINT, entrypoint(), mode="0755"),
    )


@cache
def entrypoint() -> str:
    """The text of `gpu-fabric-entrypoint`."""
    return files("gpu_fabric.nccl").joinpath("node", "gpu-fabric-entrypoint").read_text(encoding="utf-8")


def cloud_config(
    size: str | NodeSize,
    *,
    environment: Environment,
    topology_xml: str | None = None,
    packages: Sequence[str] = (),
    extra_commands: Sequence[str] = (),
) -> str:
    """`#cloud-config` text that writes the node's files, checks them, and runs the extra commands.

    `packages` are installed before; `extra_commands` are bash, each a step of its own in the one setup script,
    which stops at the first that fails, says so in `paths.SETUP_STATUS` and makes cloud-init report an error.
    Raises what `node_files` raises.
    """
    row = size if isinstance(size, NodeSize) else get_size(size)
    written = node_files(row, environment=environment, topology_xml=topology_xml)
    setup = NodeFile(
        paths.SETUP,
        _templates()
        .get_template("setup.sh.j2")
        .render(size=row.name, status=paths.SETUP_STATUS, files=written, commands=list(extra_commands)),
        mode="0755",
    )
    return (
        _templates()
        .get_template("cloud-config.yaml.j2")
        .render(
            version=__version__,
            size=row.name,
            fabric=row.fabric.value,
            packages=list(packages),
            files=[*written, setup],
            setup=paths.SETUP,
        )
    )


def user_data(text: str, *, limit: int | None = None) -> bytes:
    """The text as gzip, without a time in it; cloud-init unpacks it on both clouds. base64 is the caller's.

    With `limit`, raises `UserDataTooLargeError` beyond that many bytes. Source: cloud-init docs, format.rst.
    """
    raw = text.encode()
    # Written out, because Python's gzip module puts a different byte for the system in different releases.
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = compressor.compress(raw) + compressor.flush()
    data = header + body + struct.pack("<II", zlib.crc32(raw), len(raw) & 0xFFFFFFFF)
    if limit is not None and len(data) > limit:
        raise UserDataTooLargeError(len(data), limit)
    return data


def _catalog_topology(row: NodeSize) -> str:
    if row.pci is None:
        return ""
    from gpu_fabric.nccl.topology import from_catalog, to_xml

    topology = from_catalog(row)
    return "" if topology is None else to_xml(topology)


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("gpu_fabric.nccl", "templates"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # YAML and shell, not HTML; `json` and `shell` quote where text comes from outside
    )
    templates.filters["json"] = json.dumps
    templates.filters["shell"] = shlex.quote
    return templates
