"""The cloud-config text: deterministic to the byte, small enough for EC2, and run by cloud-init alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from gpu_fabric import __version__
from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap.checks import texts_problems
from gpu_fabric.nccl.bootstrap.files import BootstrapInputError, NodeFile, node_files, node_text
from gpu_fabric.nccl.bootstrap.plan import Setup, plan, traits
from gpu_fabric.nccl.bootstrap.shipped import bare
from gpu_fabric.nccl.environment import Environment
from gpu_fabric.nccl.hardware import NodeSize, get_size

if TYPE_CHECKING:
    import jinja2


def cloud_config(
    size: str | NodeSize,
    *,
    environment: Environment,
    topology_xml: str | None = None,
    packages: Sequence[str] = (),
    extra_commands: Sequence[str] = (),
    setup: Setup | None = None,
    packed: bool = False,
) -> str:
    """`#cloud-config` text that writes the node's files and sets the node up.

    `packages` are installed before anything runs; `extra_commands` are bash and come after `setup.commands_after`,
    each a step of its own. The setup stops at the first step that fails, and cloud-init then reports an error.
    `packed` compresses each file, for text that nobody compresses as a whole.
    Comments are left out; `node_files` has them. Raises what `node_files` raises.
    """
    row = size if isinstance(size, NodeSize) else get_size(size)
    setup = Setup() if setup is None else setup
    texts = {"packages": packages, "extra_commands": extra_commands}
    if wrong := [said for name, value in texts.items() for said in texts_problems(name, value)]:
        raise BootstrapInputError("; ".join(wrong))
    setup = replace(setup, commands_after=(*setup.commands_after, *extra_commands))
    kept = traits(row, environment, setup)
    written = [
        file if file.path == paths.TOPOLOGY else replace(file, content=bare(file.content, kept))
        for file in node_files(row, environment=environment, topology_xml=topology_xml)
        if setup.entrypoint or file.path != paths.ENTRYPOINT
    ]
    steps = plan(row, environment, written, setup)
    programs = [
        NodeFile(f"{paths.LIBRARY}/{name}.py", bare(node_text(f"setup/{name}.py"), kept))
        for name in ("setup", *steps.modules)
    ]
    waits = _templates().get_template("before.conf.j2").render(runner=paths.SETUP)
    unit = _templates().get_template("gpu-fabric-ready.service.j2").render(runner=paths.SETUP)
    wants = _templates().get_template("multi-user.target.j2").render()
    return (
        _templates()
        .get_template("cloud-config.yaml.j2")
        .render(
            version=__version__,
            size=row.name,
            packages=list(packages),
            # The last file makes systemd want the unit at every boot, so it comes when the rest is there. The others
            # are in the order that compresses best.
            files=[
                # The user's commands may hold secrets.
                NodeFile(
                    paths.SETUP_PLAN,
                    json.dumps(steps.document, separators=(",", ":")) + "\n",
                    mode="0600" if setup.commands_before or setup.commands_after else "0644",
                ),
                *programs,
                *written,
                *(NodeFile(paths.before(unit), waits) for unit in steps.before),
                *_demanded(setup),
                NodeFile(paths.READY_UNIT, unit),
                NodeFile(paths.READY_WANTED, wants),
            ],
            packed=packed,
            runner=paths.SETUP,
            unit=paths.READY_UNIT.rpartition("/")[2],
            wanted=paths.READY_WANTED,
        )
    )


def _demanded(setup: Setup) -> tuple[NodeFile, ...]:
    if not setup.versions:
        return ()
    return (NodeFile(paths.VERSIONS, json.dumps(dict(setup.versions), sort_keys=True) + "\n"),)


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("gpu_fabric.nccl", "templates"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # YAML, not HTML; `json` quotes where text comes from outside
    )
    templates.filters["json"] = json.dumps
    return templates
