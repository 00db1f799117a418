"""The catalog of sizes: what a row says, how a user's own row is checked, and what the message tells."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pytest

from gpu_fabric.nccl.hardware import (
    Cloud,
    Fabric,
    NodeSize,
    SizeRowError,
    UnknownSizeError,
    get_size,
    load_sizes,
    size_from_row,
)

SIZES = load_sizes()

OWN_SIZE: Mapping[str, Any] = {
    "vcpus": 64,
    "memory_gib": 512,
    "gpu": {"model": "H100", "count": 2, "memory_gb": 80, "compute_capability": 90},
    "fabric": "efa",
    "fabric_ports": 2,
    "fabric_port_gbps": 100,
    "network_cards": 2,
    "interfaces_per_card": 4,
    "efa_cards": [0, 1],
    "source": "our own measurement",
    "date": "2026-11-29",
}


def test_every_size_of_the_two_clouds_has_a_row() -> None:
    assert [*SIZES] == [
        "p4d.24xlarge",
        "p4de.24xlarge",
        "p5.4xlarge",
        "p5.48xlarge",
        "p5e.48xlarge",
        "p5en.48xlarge",
        "p6-b200.48xlarge",
        "p6-b300.48xlarge",
        "p6e-gb200.36xlarge",
        "g6e.48xlarge",
        "g5.48xlarge",
        "Standard_ND96asr_v4",
        "Standard_ND96amsr_A100_v4",
        "Standard_ND96isr_H100_v5",
        "Standard_ND96isr_H200_v5",
        "Standard_ND96is_H100_v5",
        "Standard_ND96is_H200_v5",
        "Standard_ND128isr_NDR_GB200_v6",
        "Standard_ND128isr_GB300_v6",
    ]


@pytest.mark.parametrize(
    ("name", "gpus", "ports", "fabric_gbps"),
    [
        ("p4d.24xlarge", 8, 4, 400),
        ("p4de.24xlarge", 8, 4, 400),
        ("p5.4xlarge", 1, 1, 100),
        ("p5.48xlarge", 8, 32, 3200),
        ("p5e.48xlarge", 8, 32, 3200),
        ("p5en.48xlarge", 8, 16, 3200),
        ("p6-b200.48xlarge", 8, 8, 3200),
        ("p6-b300.48xlarge", 8, 16, 6400),
        ("p6e-gb200.36xlarge", 4, 4, 1600),
        ("g6e.48xlarge", 8, 4, 400),
        ("g5.48xlarge", 8, 1, 100),
        ("Standard_ND96asr_v4", 8, 8, 1600),
        ("Standard_ND96amsr_A100_v4", 8, 8, 1600),
        ("Standard_ND96isr_H100_v5", 8, 8, 3200),
        ("Standard_ND96isr_H200_v5", 8, 8, 3200),
        ("Standard_ND96is_H100_v5", 8, 0, 0),
        ("Standard_ND96is_H200_v5", 8, 0, 0),
        ("Standard_ND128isr_NDR_GB200_v6", 4, 4, 1600),
        ("Standard_ND128isr_GB300_v6", 4, 4, 3200),
    ],
)
def test_gpus_ports_and_line_rate_of_each_size(name: str, gpus: int, ports: int, fabric_gbps: float) -> None:
    size = get_size(name)
    assert (size.gpu.count, size.fabric_ports, size.fabric_gbps) == (gpus, ports, fabric_gbps)


def test_the_sizes_that_are_not_laid_out_say_why_and_name_another() -> None:
    refused = {name: size for name, size in SIZES.items() if not size.supported}
    assert set(refused) == {
        "p6e-gb200.36xlarge",
        "Standard_ND96is_H100_v5",
        "Standard_ND96is_H200_v5",
        "Standard_ND128isr_NDR_GB200_v6",
        "Standard_ND128isr_GB300_v6",
    }
    for size in refused.values():
        others = [other for other, row in SIZES.items() if row.supported and other in size.unsupported_reason]
        assert others, f"{size.name} names no supported size to use instead"


def test_azure_sizes_without_r_in_the_name_have_no_infiniband() -> None:
    for name in ("Standard_ND96is_H100_v5", "Standard_ND96is_H200_v5"):
        assert get_size(name).fabric is Fabric.SOCKETS
        assert get_size(name).pci is None


def test_every_row_has_a_source_and_a_date() -> None:
    for size in SIZES.values():
        assert size.source, size.name
        assert len(size.date) == len("2026-11-29"), size.name
        if size.pci is not None:
            assert size.pci.source, size.name


@pytest.mark.parametrize(
    "name", ["p4d.24xlarge", "p4de.24xlarge", "p5.4xlarge", "p5en.48xlarge", "g6e.48xlarge"]
)
def test_a_size_that_the_layout_table_of_aws_lacks_says_that_its_layout_is_unverified(name: str) -> None:
    assert any("interface layout follows the" in statement for statement in get_size(name).unverified)


@pytest.mark.parametrize("name", ["p5.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge"])
def test_a_size_of_the_layout_table_of_aws_makes_no_such_reservation(name: str) -> None:
    assert get_size(name).unverified == ()


@pytest.mark.parametrize(
    ("name", "numa_nodes", "switches", "gpus", "nics"),
    [
        ("p4d.24xlarge", 2, 4, 8, 4),
        ("p5.48xlarge", 2, 8, 8, 32),
        ("p5e.48xlarge", 2, 8, 8, 32),
        ("Standard_ND96asr_v4", 4, 4, 8, 8),
        ("Standard_ND96isr_H100_v5", 2, 8, 8, 8),
        ("Standard_ND96isr_H200_v5", 2, 8, 8, 8),
    ],
)
def test_the_pci_layout_has_every_gpu_and_nic_of_the_size(
    name: str, numa_nodes: int, switches: int, gpus: int, nics: int
) -> None:
    layout = get_size(name).pci
    assert layout is not None
    below = [switch for node in layout.numa_nodes for switch in node.switches]
    assert len(layout.numa_nodes) == numa_nodes
    assert len(below) == switches
    assert sum(len(switch.gpus) for switch in below) == gpus
    assert sum(len(switch.nics) for switch in below) == nics


def test_a_layout_that_was_taken_from_another_size_says_so() -> None:
    for name in ("p5e.48xlarge", "Standard_ND96isr_H200_v5"):
        layout = get_size(name).pci
        assert layout is not None
        assert layout.assumed[0].startswith("the whole layout"), name


def test_p4de_differs_from_p4d_in_the_ids_of_its_gpus_alone() -> None:
    p4d, p4de = get_size("p4d.24xlarge").pci, get_size("p4de.24xlarge").pci
    assert p4d is not None
    assert p4de is not None
    assert p4d.gpu_ids is not None
    assert p4de.gpu_ids is not None
    assert (p4d.gpu_ids.device, p4de.gpu_ids.device) == ("0x20b0", "0x20b2")
    assert p4d.numa_nodes == p4de.numa_nodes


def test_an_unknown_size_gets_the_nearest_name() -> None:
    with pytest.raises(
        UnknownSizeError, match=r"unknown size 'p5\.48xlrge': did you mean p5\.48xlarge\? known"
    ):
        get_size("p5.48xlrge")


def test_an_unknown_size_far_from_all_gets_the_list_alone() -> None:
    with pytest.raises(UnknownSizeError) as refused:
        get_size("zzz")
    assert "did you mean" not in str(refused.value)
    assert "Standard_ND96isr_H100_v5" in str(refused.value)


def test_a_size_of_the_users_own_is_a_row_with_the_same_fields() -> None:
    size = size_from_row("our.2xgpu", Cloud.AWS, OWN_SIZE)
    assert isinstance(size, NodeSize)
    assert size.fabric_gbps == 200
    assert size.efa_cards == (0, 1)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"vcpu": 3}, ("vcpu", "no field has that name; did you mean vcpus?")),
        ({"vcpus": "64"}, ("vcpus", "input should be a valid integer, not '64'")),
        ({"vcpus": 0}, ("vcpus", "must be above 0, not 0")),
        ({"fabric": "roce"}, ("fabric", "input should be 'efa', 'infiniband' or 'sockets', not 'roce'")),
        ({"efa_cards": [0]}, ("efa_cards", "names 1 cards, and fabric_ports is 2")),
        ({"efa_cards": [1, 1]}, ("efa_cards", "names a card twice; a card takes one EFA interface")),
        ({"efa_cards": [1, 2]}, ("efa_cards", "card 2 is not one of the 2 network cards")),
        ({"ip_cards": [0]}, ("ip_cards", "card 0 carries the primary interface already")),
        ({"fabric_ports": 0}, ("fabric_ports", "ports and Gb/s must be above 0 where the fabric is efa")),
        ({"fabric": "sockets"}, ("fabric_ports", "must be 0 where the fabric is sockets")),
        ({"supported": False}, ("unsupported_reason", "must say why the size is not supported")),
        ({"pci": "p5"}, ("pci", "no layout is named 'p5'; known are none")),
        ({"field_sources": {"vcpu": "x"}}, ("field_sources.vcpu", "no field has that name")),
    ],
)
def test_a_fault_in_a_row_is_named_with_its_place(
    change: Mapping[str, Any], problem: tuple[str, str]
) -> None:
    with pytest.raises(SizeRowError) as refused:
        size_from_row("our.2xgpu", Cloud.AWS, {**OWN_SIZE, **change})
    assert problem in refused.value.problems
    assert str(refused.value).startswith("size 'our.2xgpu': ")


def test_all_faults_of_a_row_come_at_once() -> None:
    with pytest.raises(SizeRowError) as refused:
        size_from_row("our.2xgpu", Cloud.AWS, {"vcpus": 1.5})
    assert {path for path, _ in refused.value.problems} == {
        "vcpus",
        "memory_gib",
        "gpu",
        "fabric",
        "fabric_ports",
        "fabric_port_gbps",
        "source",
        "date",
    }


def own_layout(**change: Any) -> dict[str, Any]:
    """A layout for `OWN_SIZE`: one NUMA node, one switch, two GPUs, two NICs."""
    switch = {
        "busid": "ffff:ff:01.0",
        "gpus": ["0000:10:00.0", "0000:11:00.0"],
        "nics": ["0000:12:00.0", "0000:13:00.0"],
        **change.pop("switch", {}),
    }
    return {
        "cpu": {"arch": "x86_64", "vendor": "AuthenticAMD", "family": 25, "model": 1},
        "numa_nodes": [{"numa": 0, "affinity": change.pop("affinity", "ffffffff"), "switches": [switch]}],
        "link_speed": "16 GT/s",
        "link_width": 16,
        "switch_class": "0x060400",
        "gpu_class": "0x030200",
        "nic_class": "0x020000",
        "source": "gpu-fabric topology --from-host",
        "date": "2026-11-29",
        **change,
    }


def test_a_row_may_carry_its_pci_layout_in_itself() -> None:
    size = size_from_row("our.2xgpu", Cloud.AWS, {**OWN_SIZE, "pci": own_layout()})
    assert size.pci is not None
    assert size.pci.numa_nodes[0].switches[0].invented


@pytest.mark.parametrize(
    ("layout", "problem"),
    [
        (own_layout(switch={"gpus": ["0000:10:00.0"]}), "places 1 GPUs, and the size has 2"),
        (own_layout(switch={"nics": []}), "places 0 NICs, and the size has 2"),
        (
            own_layout(switch={"gpus": ["0000:10:00.0", "0000:1F:00.0"]}),
            "bus id '0000:1F:00.0' is not 12 lower-case characters dddd:bb:dd.f",
        ),
        (
            own_layout(switch={"nics": ["0000:12:00.0", "0000:10:00.0"]}),
            "bus id '0000:10:00.0' stands 2 times; each device has its own",
        ),
        (
            own_layout(affinity="0-23"),
            "affinity '0-23' is not a comma-separated list of 8-digit hexadecimal words",
        ),
    ],
)
def test_a_layout_that_nccl_would_misread_is_refused(layout: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(SizeRowError) as refused:
        size_from_row("our.2xgpu", Cloud.AWS, {**OWN_SIZE, "pci": layout})
    assert ("pci", problem) in refused.value.problems


@pytest.mark.parametrize("cloud", list(Cloud))
def test_every_layout_of_the_file_is_used_by_a_row(cloud: Cloud) -> None:
    document = tomllib.loads(files("gpu_fabric.nccl.hardware").joinpath(f"{cloud.value}.toml").read_text())
    used = {row.get("pci") for row in document["sizes"].values()} - {None}
    assert used == set(document["pci_layouts"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("P5.48XLARGE", "p5.48xlarge"),
        ("standard_nd96isr_h100_v5", "Standard_ND96isr_H100_v5"),
        ("p5", "p5.4xlarge or p5.48xlarge"),
        ("p4d", "p4d.24xlarge"),
        ("p4", "p4d.24xlarge or p4de.24xlarge"),
        ("ND96isr_H100_v5", "Standard_ND96isr_H100_v5"),
        ("gb300", "Standard_ND128isr_GB300_v6"),
        ("p5.48xlrge", "p5.48xlarge"),
    ],
)
def test_a_size_that_is_begun_or_in_another_case_is_understood(name: str, meant: str) -> None:
    with pytest.raises(UnknownSizeError, match=rf"did you mean {re.escape(meant)}\? known"):
        get_size(name)


@pytest.mark.parametrize("name", ["p9", "", "x", "m7"])
def test_a_name_that_says_nothing_gets_no_guess(name: str) -> None:
    with pytest.raises(UnknownSizeError) as refused:
        get_size(name)
    assert "did you mean" not in str(refused.value)
