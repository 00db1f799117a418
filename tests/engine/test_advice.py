"""The engine's advice names commands that act on the folder of the simulated run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_fabric.engine.advice import MakeCommands

HERE = MakeCommands("dev", Path())


@pytest.mark.parametrize(
    ("engine", "person"),
    [
        (
            "Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`.",
            "Either wait for the other process(es) to end or delete the lock file with `make cancel`.",
        ),
        (
            "If you want to remove the stack completely, run `pulumi stack rm dev`.",
            "If you want to remove the stack completely, run `make stack ARGS='rm --yes'`.",
        ),
        (
            "- Run `pulumi stack rm --force` to override",
            "- Run `make stack ARGS='rm --yes --force'` to override",
        ),
        (
            "you can repair your stack using `pulumi refresh` which will",
            "you can repair your stack using `make refresh` which will",
        ),
        (
            "Note that `pulumi refresh` will need to be run interactively to clear pending CREATE operations.",
            "Note that pending CREATE operations are cleared with `make refresh ARGS=--clear-pending-creates`.",
        ),
        (
            "Set a value using the command `pulumi config set p:nodes <value>`.",
            "Set a value `p:nodes: <value>` under `config:` of Pulumi.dev.yaml.",
        ),
        (
            "Set it with `pulumi config set aws:region us-west-2` or",
            "Set it with `aws:region: us-west-2` under `config:` of Pulumi.dev.yaml or",
        ),
        (
            "with its service key (`pulumi stack output --show-secrets`)",
            "with its service key (`make outputs ARGS=--show-secrets`)",
        ),
        ("with `pulumi config set --secret p:bgpKey` and", "with `pulumi config set --secret p:bgpKey` and"),
        ("aws:ec2:Vpc {braces} `pulumi`", "aws:ec2:Vpc {braces} `pulumi`"),
    ],
)
def test_a_command_of_pulumi_becomes_the_make_command(engine: str, person: str) -> None:
    assert HERE.instead_of_pulumi(engine) == person


def test_the_command_names_the_stack_and_the_project_and_can_be_pasted() -> None:
    there = MakeCommands("prod", Path("examples/my cluster"))
    assert (
        there.instead_of_pulumi("run `pulumi cancel`.")
        == "run `make cancel STACK=prod 'PROJECT=examples/my cluster'`."
    )


def test_every_target_that_is_advised_is_in_the_makefile() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    assert {"cancel", "preview", "up", "destroy", "refresh", "stack", "outputs"} <= targets
