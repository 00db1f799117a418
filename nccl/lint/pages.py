"""The list of codes, from the data that the lint applies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_fabric.nccl.lint.names import NAMES_VERSION, known_names
from gpu_fabric.nccl.lint.rules import codes, rules
from gpu_fabric.nccl.markdown import table
from gpu_fabric.nccl.topology.rules import RULES

_INTRODUCTION = """\
# What `gpu-fabric lint` finds

<!-- Written by `python -m gpu_fabric.cli.pages` from nccl/lint/*.toml and nccl/topology/rules.py. Change those. -->

```console
$ gpu-fabric lint nccl.conf entrypoint.sh nccl-topo-p5.xml --for p5.48xlarge
```

It reads shell and Slurm scripts (`export`, prefixes of a command, `env`, `mpirun -x`, `docker -e`, `--export`,
here-documents, the scripts in `bash -c '…'`, `ssh host '…'` and `eval`), csh and Tcl module files (`setenv`),
`nccl.conf` in NCCL's own grammar, Dockerfiles (`ENV`, `CMD`, `ENTRYPOINT`), Kubernetes and compose YAML or JSON with
the commands in it, the output of `env`, and topology XML. The kind of a file is told by its name and content:

- `nccl.conf` and `.nccl.conf` are NCCL's own. Another `.conf` is one too, unless a line of it is only a shell's
  (`export`, quotes, `$`, `#!`): then it is read as a script that others source.
- A file of another language (`.py`, `.tf` and the like) is an error, because nothing of it is understood. Of a file
  above 4 MiB no more is read, and that is an error as well.
- In YAML with containers and without `hostNetwork: true` the interface is `eth0`, that of a pod.

What the findings mean, and how they are left out or mended:

- **error**: breaks, or is silently ignored on the path that matters. **warning**: slower, or fragile. **note**: does
  nothing, or is worth knowing.
- `--for SIZE` says what the files are for; without it only what holds on every platform is checked. Several sizes are
  for a script that serves both clouds: what holds for one of them names it.
- `--fix` writes the mended file where it is certain what was meant and the line holds nothing else. In a script a line
  becomes `:`, the command that does nothing, with a remark, so that no `then` is left empty.
- `--ignore CODE` leaves a code out, `--json` and `--sarif` print for programs.
- Exit codes: 0 no error (with `--strict` no warning either), 1 otherwise, 2 wrong input.
- A value that a script computes (`$OTHER`, `$(command)`) is not judged; `${NAME:-value}` is judged as `value`.
"""


def page() -> str:
    """Every code with what happens and what to write, as Markdown. The same to the byte each time."""
    lines = [
        _INTRODUCTION,
        "## Environments",
        "",
        f"All {len(known_names())} names that NCCL {NAMES_VERSION} reads are known; others are told what was meant.",
        "",
        *table(("code", "about"), ((f"`{code}`", text) for code, text in sorted(codes().items()))),
        "",
        "### What single variables cost",
        "",
        "`{name}` and `{value}` stand for what the file has. A condition is on the size, its fabric and the versions.",
        "",
        *table(
            ("code", "level", "variables", "condition", "what happens", "remedy", "source"),
            (
                (
                    f"`{rule['code']}`",
                    rule["level"],
                    _names(rule),
                    _condition(rule),
                    rule["what"],
                    rule["remedy"],
                    rule["source"],
                )
                for rule in rules()
            ),
        ),
        "",
        "## Topology files",
        "",
        *table(
            ("code", "level", "what happens", "remedy", "source"),
            (
                (f"`{code}`", rule.level.value, f"{rule.summary}.", rule.remedy, rule.source)
                for code, rule in RULES.items()
            ),
        ),
        "",
    ]
    return "\n".join(lines)


def _names(rule: Mapping[str, Any]) -> str:
    return " ".join(f"`{name}`" for name in rule.get("names", ())) or f"`{rule['pattern_names']}`"


def _condition(rule: Mapping[str, Any]) -> str:
    tables = rule.get("when", {})
    tables = tables if isinstance(tables, list) else [tables]
    parts = [" and ".join(f"{key} {_words(value)}" for key, value in table.items()) for table in tables]
    value = [
        f"value {word} {_words(rule[key])}"
        for key, word in (("equals", "is"), ("differs", "is not"), ("pattern", "fits"))
        if key in rule
    ]
    if "algorithms" in rule:
        value.append(f"the value: {rule['algorithms']}")
    return " and ".join(part for part in [" or ".join(filter(None, parts)), *value] if part)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no or not known"
    return ", ".join(f"`{entry}`" for entry in value) if isinstance(value, list) else f"`{value}`"
