"""The pack under the real engine: every rule's programs, the levels and parameters of a configuration file, the time.

The programs run together, so that the engine starts a few times only; each names its resources after its rule.
"""

from __future__ import annotations

import json
import re
import time

import pytest

from gpu_fabric.policy.pack import RULES
from tests.policy.verdicts import PROGRAMS
from tests.simulated import ROOT, SimulatedStack

pytestmark = pytest.mark.engine

PACK = ("--policy-pack", str(ROOT / "policy"))
#: The rule that blames no resource but the whole stack.
OF_THE_STACK = "route-isolation"


def bundle(stack: SimulatedStack, kind: str, names: list[str]) -> None:
    files = [str(PROGRAMS / f"{name}.{kind}.py") for name in names]
    stack.program(f"import runpy\nfor path in {files!r}:\n    runpy.run_path(path)\n")
    stack.configure({}, **{"azure-native:location": "eastus"})


HEADING = re.compile(r"^ *- \[(\w+)\]  ([\w-]+)(?:  \((?:.*: )?(.*)\))?$", re.MULTILINE)


def blamed(output: str) -> set[tuple[str, str, str]]:
    """(level, rule, resource) of everything that the pack said; the resource is empty for the whole stack."""
    return {(level, rule, resource) for level, rule, resource in HEADING.findall(output)}


def test_every_program_that_fails_ends_the_preview_with_its_rules_message(simulated: SimulatedStack) -> None:
    bundle(simulated, "fails", [rule.name for rule in RULES])
    done = simulated.run("preview", *PACK)
    assert done.returncode != 0
    said = blamed(done.stdout)
    lines = [line.strip() for line in done.stdout.splitlines()]
    for rule in RULES:
        own = {
            resource
            for level, name, resource in said
            if name == rule.name
            and level == rule.level.value
            and (resource.startswith(rule.name) or rule.name == OF_THE_STACK)
        }
        assert own, f"{rule.name} is not among\n{done.stdout}"
        assert rule.summary in lines
        assert f"See docs/policy.md#{rule.name}" in lines


def test_no_program_that_passes_is_blamed_by_its_own_rule(simulated: SimulatedStack) -> None:
    names = [rule.name for rule in RULES]
    bundle(simulated, "passes", names)
    done = simulated.run("preview", *PACK)
    said = blamed(done.stdout)
    # The programs show one thing each, so that other rules blame them.
    assert said, done.stdout + done.stderr
    assert [one for one in said if one[2].startswith(one[1]) or one[1] == OF_THE_STACK] == []


def test_levels_and_parameters_come_from_a_configuration_file(simulated: SimulatedStack) -> None:
    bundle(simulated, "fails", ["preflight-gate"])
    others = [rule.name for rule in RULES if rule.name not in ("preflight-gate", "imdsv2")]
    config = {
        **dict.fromkeys(others, "disabled"),
        "imdsv2": {"enforcementLevel": "advisory"},
        "preflight-gate": {"markers": ["slurmd"]},
    }
    file = simulated.project / "policy.json"
    file.write_text(json.dumps(config))
    done = simulated.run("preview", *PACK, "--policy-pack-config", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert blamed(done.stdout) == {("advisory", "imdsv2", "preflight-gate-node")}


def test_a_parameter_of_the_wrong_kind_is_refused_by_the_schema(simulated: SimulatedStack) -> None:
    bundle(simulated, "fails", ["no-open-ingress"])
    file = simulated.project / "policy.json"
    file.write_text(json.dumps({"no-open-ingress": {"allowedPorts": "ssh"}}))
    done = simulated.run("preview", *PACK, "--policy-pack-config", str(file))
    assert done.returncode != 0
    assert "allowedPorts" in done.stdout + done.stderr


def test_the_dev_stack_passes_and_the_pack_adds_at_most_two_seconds(simulated: SimulatedStack) -> None:
    aws = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}
    simulated.configure({"aws": aws})
    simulated.ok("preview")

    def seconds(*arguments: str) -> float:
        start = time.monotonic()
        simulated.ok("preview", *arguments)
        return time.monotonic() - start

    pairs = [(seconds(), seconds(*PACK)) for _ in range(2)]
    plain, checked = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    assert checked - plain <= 2, f"{plain:.1f} s without the pack, {checked:.1f} s with it"
