"""The files of a node, each with its path, its mode and its text."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap.size import user_data
from gpu_fabric.nccl.environment import Environment, to_conf, to_node_shell
from gpu_fabric.nccl.hardware import NodeSize, get_size


class BootstrapInputError(ValueError):
    """The arguments contradict each other; the message says which and what to do."""


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
    def packed(self) -> str:
        """gzip and base64: cloud-init's encoding `gz+b64`."""
        return base64.b64encode(user_data(self.content)).decode()

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

    The entrypoint, the shell file, NCCL's file, and the topology if there is one. `topology_xml` None takes the
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
        NodeFile(paths.ENTRYPOINT, entrypoint(), mode="0755"),
        NodeFile(paths.ENVIRONMENT, to_node_shell(environment, fabric_ports=row.fabric_ports)),
        NodeFile(paths.NCCL_CONF, to_conf(environment)),
        *topology,
    )


@cache
def node_text(name: str) -> str:
    """The text of one of `nccl/node`'s files."""
    return files("gpu_fabric.nccl").joinpath("node", *name.split("/")).read_text(encoding="utf-8")


def entrypoint() -> str:
    """The text of `gpu-fabric-entrypoint`."""
    return node_text("gpu-fabric-entrypoint")


def _catalog_topology(row: NodeSize) -> str:
    if row.pci is None:
        return ""
    from gpu_fabric.nccl.topology import from_catalog, to_xml

    topology = from_catalog(row)
    return "" if topology is None else to_xml(topology)
