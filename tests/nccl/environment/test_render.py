"""The five renderings, each read back by what will read it: NCCL's own grammar, bash, YAML, Slurm, JSON."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.environment import (
    Role,
    environment,
    explain,
    to_conf,
    to_json,
    to_kubernetes,
    to_node_shell,
    to_shell,
    to_slurm,
)
from gpu_fabric.nccl.hardware import load_sizes

P4D, P5, NDV5 = "p4d.24xlarge", "p5.48xlarge", "Standard_ND96isr_H100_v5"
AWKWARD = {
    "NCCL_DEBUG_FILE": "/tmp/a b/$HOME/'x'\"y\".%h",
    "NCCL_HOSTID": "#1,2",
    "NCCL_NET_FORCE_MERGE": "a,b;c,d",
}


def read_as_nccl(text: str) -> dict[str, str]:
    """What NCCL's setEnvFile reads: written from the description of src/misc/param.cc, not from our code."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        if line.startswith("#") or "=" not in line:
            continue
        name, value = line[: line.index("=")], line[line.index("=") + 1 :]
        values.setdefault(name[:1023], value[:1023])
    return values


def source(script: str, **given_before: str) -> dict[str, str]:
    """Source a file in a real shell, then let a child print what it sees."""
    ran = subprocess.run(
        ["bash", "-euc", 'eval "$1"; env -0', "bash", script],
        env={"PATH": "/usr/bin:/bin", **given_before},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(entry.split("=", 1) for entry in ran.stdout.split("\0") if entry)


def split_as_slurm(option: str) -> list[str]:
    """Slurm's find_quote_token: split at commas outside quotes, take off quotes around a whole entry."""
    entries, entry, quotes = [], "", {"'": False, '"': False}
    for character in option + ",":
        if character in quotes:
            quotes[character] = not quotes[character]
        if character == "," and not any(quotes.values()):
            whole = len(entry) > 1 and entry[0] == entry[-1] and entry[0] in quotes
            entries.append(entry[1:-1] if whole else entry)
            entry = ""
        else:
            entry += character
    return entries


def without_conf_file(values: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != "NCCL_CONF_FILE"}


@pytest.mark.parametrize("size", load_sizes())
def test_nccl_reads_its_file_as_it_is_meant(size: str) -> None:
    made = environment(size, role=Role.STAGE_BOUNDARY)
    in_file = {entry.name: entry.value for entry in made.variables if not entry.process_only}
    assert read_as_nccl(to_conf(made)) == in_file
    assert "NCCL_CONF_FILE" not in in_file
    assert "CUDA_DEVICE_ORDER" not in in_file


def test_awkward_values_reach_nccl_unchanged() -> None:
    values = read_as_nccl(to_conf(environment(P5, overrides=AWKWARD)))
    assert {name: values[name] for name in AWKWARD} == AWKWARD


@pytest.mark.parametrize("size", [P4D, P5, NDV5])
def test_a_shell_gets_every_variable_of_the_shell_file(size: str) -> None:
    made = environment(size, overrides=AWKWARD)
    seen = source(to_shell(made))
    assert {name: seen.get(name) for name in without_conf_file(made.values)} == without_conf_file(made.values)


def test_a_variable_that_the_job_has_set_stays_even_if_it_is_empty() -> None:
    script = to_shell(environment(NDV5))
    assert source(script, NCCL_DEBUG="INFO")["NCCL_DEBUG"] == "INFO"
    assert source(script, NCCL_TOPO_FILE="")["NCCL_TOPO_FILE"] == ""


def test_the_nodes_shell_file_holds_what_nccls_file_cannot_and_what_the_node_must_have() -> None:
    seen = source(to_node_shell(environment(NDV5), fabric_ports=8))
    assert {name: value for name, value in seen.items() if name.startswith(("NCCL", "CUDA", "GPU"))} == {
        "NCCL_CONF_FILE": "/etc/gpu-fabric/nccl.conf",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "GPU_FABRIC_SIZE": NDV5,
        "GPU_FABRIC_FABRIC": "infiniband",
        "GPU_FABRIC_PORTS": "8",
        "GPU_FABRIC_ROLE": "inside-cloud",
    }


def test_kubernetes_gets_a_list_of_texts() -> None:
    made = environment(NDV5, role=Role.STAGE_BOUNDARY, overrides=AWKWARD)
    entries: list[dict[str, Any]] = yaml.safe_load(to_kubernetes(made))
    assert {entry["name"]: entry["value"] for entry in entries} == without_conf_file(made.values)
    assert all(isinstance(entry["value"], str) for entry in entries), "4 must stay text in an env list"


@pytest.mark.parametrize("size", [P4D, P5, NDV5])
def test_slurm_gets_each_value_whole_although_it_splits_at_commas(size: str) -> None:
    made = environment(size, overrides={"NCCL_NET_FORCE_MERGE": "a,b;c,d"})
    (option,) = shlex.split(to_slurm(made))
    assert option.startswith("--export=ALL,")
    entries = split_as_slurm(option.removeprefix("--export="))
    assert dict(entry.split("=", 1) for entry in entries[1:]) == without_conf_file(made.values)


def test_slurm_cannot_carry_both_kinds_of_quote_and_we_say_so() -> None:
    with pytest.raises(ValueError, match="cannot carry a value with both kinds of quote"):
        to_slurm(environment(P5, overrides=AWKWARD))


def test_json_carries_everything() -> None:
    made = environment(P5, overrides={"NCCL_ALGO": "Ring"})
    document = json.loads(to_json(made))
    assert (document["size"], document["fabric"], document["role"]) == (P5, "efa", "inside-cloud")
    assert (document["nccl_version"], document["plugin_version"]) == ("2.30.7", "1.21.1")
    assert {entry["name"]: entry["value"] for entry in document["variables"]} == made.values
    assert all(entry["why"] and entry["source"] for entry in [*document["variables"], *document["left_out"]])
    assert document["findings"][0]["code"] == "env-no-nvls"


@pytest.mark.parametrize("render", [to_conf, to_shell, to_kubernetes, to_slurm, to_json, explain])
def test_a_rendering_is_the_same_to_the_byte_each_time(render: Any) -> None:
    assert len({render(environment(NDV5)) for _ in range(3)}) == 1


@pytest.mark.parametrize("size", [P4D, P5, NDV5])
@pytest.mark.parametrize("render", [to_conf, to_shell, to_kubernetes, to_slurm, explain])
def test_a_rendering_reads_as_intended(size: str, render: Any, snapshot: SnapshotAssertion) -> None:
    assert render(environment(size)) == snapshot


@given(
    st.text(
        st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_characters="\x7f\x85\u2028\u2029"),
        min_size=1,
        max_size=60,
    )
)
def test_any_value_survives_the_file_the_shell_and_the_yaml(value: str) -> None:
    made = environment(P5, overrides={"NCCL_HOSTID": value})
    assert read_as_nccl(to_conf(made))["NCCL_HOSTID"] == value
    line = next(line for line in to_shell(made).splitlines() if "NCCL_HOSTID" in line)
    assert shlex.split(line.split("export ", 1)[1]) == [f"NCCL_HOSTID={value}"]
    entries: list[dict[str, str]] = yaml.safe_load(to_kubernetes(made))
    assert entries[-1]["value"] == value
