"""docs/policy.md, written from the rules and their programs: `python -m gpu_fabric.policy.pages > docs/policy.md`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import fill
from typing import Any

import yaml

from gpu_fabric.nccl.markdown import table
from gpu_fabric.policy.kinds import KINDS, Kind
from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.rule import Rule

PROGRAMS = Path(__file__).parent / "programs"

_HEAD = """\
# Policies

A [Pulumi policy pack](https://www.pulumi.com/docs/iac/crossguard/) of {count} rules: what a GPU fabric must have.
They are tried against the resources of any program, not only those of this library.

```console
$ make preview ARGS='--policy-pack policy'                     # against simulated clouds
$ pulumi preview --policy-pack policy                          # with your account
$ pulumi preview --policy-pack policy --policy-pack-config policy.json
```

A mandatory violation ends `pulumi preview` and `pulumi up` with a non-zero exit code. A rule that meets a value which
the preview does not know yet, or something that is not in the stack, says `can't run policy … unknown, so not passed`
with what it could not look at; that is advice at every level, and never a pass.

What a machine is may stand in several resources: its size in a fleet or node group, its interfaces in a launch
template, their kind in network interfaces of their own. Rules marked *each node* look at a machine that one resource
tells all about by itself, and so also guard `pulumi up`, before the resource is made. Machines that several resources
describe, and rules marked *whole stack*, are looked at when the program has ended: in `up` they speak in the preview
that comes first.

## What is looked at

{looked_at}

References between resources are followed where the ids, or where they come from, are known. User data is unpacked as
cloud-init does it; what the node fetches, fills in, or runs in another language than a shell's is said to be undecided.
A unit of systemd is read for its `Environment=` lines. A variable of NCCL's that a script gives a value in a way that
the lint does not follow, such as a line that `sed` adds to a file, is said to be undecided.

Not seen: CloudFormation stacks (AWS ParallelCluster), networks and rules of `aws-native` and classic `azure`, network
interfaces that are attached after the launch, what virtual machine extensions and Systems Manager run on a node,
EC2's attributes in place of a size unless they ask for accelerators, the default of a subnet for public addresses,
narrow blocks that together are the internet, rules of network access lists and firewalls, and sizes that the catalog
lacks or that have no fast fabric.

From a wheel, with the extra `policy`, the pack is the folder `gpu_fabric/policy` of the installation, and `python -m
gpu_fabric.policy.pages` prints this page, or the section of a rule that follows. With `make … PROJECT=` give the pack's
whole path (`--policy-pack $PWD/policy`), for the engine looks for it below the project.

## Configuration

Levels are `mandatory`, `advisory` and `disabled`. The file sets a level, or a level and parameters. A parameter that a
rule does not have is a violation; the engine says nothing of a rule that the pack does not have.

```json
{{
  "image-pinned": "mandatory",
  "gpudirect": {{ "failOn": "warning" }},
  "drivers": {{ "enforcementLevel": "advisory", "images": ["ami-0123456789abcdef0"] }}
}}
```

`policy/separate-clouds.json` is such a file, for a stack with a cluster on each cloud that never train together: it
takes away the line that asks.

What the pack adds to a preview, beside no pack and a pack that checks nothing: `python -m benchmarks.policy`. On two
cores, on 2026-11-30, a preview of this repository's stack took 6.2 s of CPU time; a pack that checks nothing added 0.3,
this one 0.9.

"""

_LOOKED_AT = """\
Machines are found in {kinds}, of any API version. The machines of {services} are found and said to be undecided, for
the service sets them up in a way that no program says. So are those of {others}, whose properties the pack does
not read. Beside them: security groups and their rules, routes and route
tables, networks, gateways, circuits and addresses of `aws.ec2`, `aws.vpc`, `aws.directconnect` and
`azure_native.network`.
"""

_FOOT = """\
<!-- Written by `python -m gpu_fabric.policy.pages` from policy/; a test holds the two equal. -->
"""


def page() -> str:
    """The whole page."""
    rows = [
        [
            f"[{rule.name}](#{rule.name})",
            rule.summary,
            rule.level.value,
            _looks_at(rule),
        ]
        for rule in RULES
    ]
    overview = _table(["rule", "what must hold", "level", "looks at"], rows)
    looked_at = fill(
        _LOOKED_AT.format(kinds=_kinds(), services=_services(), others=_others()), 120, break_on_hyphens=False
    )
    head = _HEAD.format(count=len(RULES), looked_at=looked_at)
    return head + overview + "\n" + "\n".join(map(_section, RULES)) + "\n" + _FOOT


def _looks_at(rule: Rule) -> str:
    if rule.check is None:
        return "whole stack"
    return "each node" if rule.check_stack else "one resource"


def _kinds() -> str:
    """The types that describe machines, as a Python program names them."""
    return ", ".join(
        f"`{_python_name(type_)}`" for type_, kind in KINDS.items() if not kind.made_by and not kind.unread
    )


def _services() -> str:
    return _by(lambda kind: kind.made_by)


def _others() -> str:
    return _by(lambda kind: kind.unread)


def _by(who: Callable[[Kind], str]) -> str:
    """Who, each with its types."""
    found: dict[str, list[str]] = {}
    for type_, kind in KINDS.items():
        if who(kind):
            names = found.setdefault(who(kind), [])
            names += [name for name in (f"`{_python_name(type_)}`",) if name not in names]
    return ", ".join(f"{each} ({', '.join(types)})" for each, types in found.items())


def _python_name(type_: str) -> str:
    """`aws:ec2/instance:Instance` → `aws.ec2.Instance`."""
    package, module, name = type_.split(":")
    return f"{package.replace('-', '_')}.{module.partition('/')[0]}.{name}"


def _table(columns: list[str], rows: list[list[str]]) -> str:
    return "\n".join(table(columns, rows)) + "\n"


def _section(rule: Rule) -> str:
    text = f"## {rule.name}\n\n**{rule.summary}** {rule.why} Source: {rule.source}.\n\n"
    if rule.parameters:
        rows = [
            [f"`{name}`", _kind(schema), f"`{_spelled(schema['default'])}`", schema["description"]]
            for name, schema in rule.parameters.items()
        ]
        text += _table(["parameter", "kind", "default", "what it does"], rows) + "\n"
    for kind, words in (("fails", "Fails"), ("passes", "Passes")):
        program = (PROGRAMS / f"{rule.name}.{kind}.py").read_text(encoding="utf-8").rstrip()
        text += f"{words}:\n\n```python\n{program}\n```\n\n"
    return text


def _kind(schema: Any) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    return f"list of {schema['items']['type']}s" if schema["type"] == "array" else schema["type"]


def _spelled(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()


def main(names: list[str]) -> int:
    """Print the page, or the sections of the rules that are named."""
    sections = {rule.name: _section(rule) for rule in RULES}
    unknown = [name for name in names if name not in sections]
    if unknown:
        sys.stderr.write(f"no rule is called {', '.join(unknown)}; there are {', '.join(sections)}\n")
        return 2
    sys.stdout.write("\n".join(sections[name] for name in names) if names else page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
