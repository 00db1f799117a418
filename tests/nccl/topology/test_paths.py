"""The path NCCL sees between a GPU and a NIC, and the rate of each hop."""

from __future__ import annotations

from collections import Counter

import pytest

from gpu_fabric.nccl.hardware import get_size
from gpu_fabric.nccl.topology import Topology, TopologyError, from_catalog, parse
from gpu_fabric.nccl.topology.paths import Hop, PathType, all_paths, nearest_nics, path_between


def topology_of(name: str) -> Topology:
    topology = from_catalog(get_size(name))
    assert topology is not None
    return topology


@pytest.mark.parametrize(
    ("name", "types", "own_gigabytes", "far_gigabytes"),
    [
        ("p4d.24xlarge", {"PIX": 8, "PHB": 8, "SYS": 16}, 12, 10),
        ("p5.48xlarge", {"PIX": 32, "PHB": 96, "SYS": 128}, 48, 16),
        ("Standard_ND96asr_v4", {"PIX": 16, "SYS": 48}, 24, 16),
        ("Standard_ND96isr_H100_v5", {"PIX": 8, "PHB": 24, "SYS": 32}, 48, 22),
    ],
)
def test_the_paths_of_each_platform(
    name: str, types: dict[str, int], own_gigabytes: float, far_gigabytes: float
) -> None:
    paths = all_paths(topology_of(name))
    assert Counter(path.type.name for path in paths) == types
    assert {p.gigabytes_per_second for p in paths if p.type is PathType.PIX} == {own_gigabytes}
    assert {p.gigabytes_per_second for p in paths if p.type is PathType.SYS} == {far_gigabytes}


def test_the_nearest_nics_of_a_gpu_are_those_of_its_switch() -> None:
    nearest = nearest_nics(topology_of("p5.48xlarge"))
    assert nearest["0000:53:00.0"] == ("0000:4f:00.0", "0000:50:00.0", "0000:51:00.0", "0000:52:00.0")


def test_the_hops_across_the_sockets_of_a_p4d() -> None:
    path = path_between(topology_of("p4d.24xlarge"), "0000:10:1c.0", "0000:90:1b.0")
    assert path.type is PathType.SYS
    assert path.hops == (
        Hop("0000:10:1c.0", "ffff:ff:01.0", 12),
        Hop("ffff:ff:01.0", "CPU 0", 12),
        Hop("CPU 0", "CPU 1", 10),
        Hop("CPU 1", "ffff:ff:03.0", 12),
        Hop("ffff:ff:03.0", "0000:90:1b.0", 12),
    )
    assert path.gigabytes_per_second == 10


def nested(ids: str = "", lower_ids: str = "") -> Topology:
    """GPU below one switch, one NIC beside it, one below a second switch, one at the CPU, one on another CPU."""
    link = 'link_speed="16 GT/s" link_width="16"'
    nic = f'class="0x020700" {link}'
    return parse(
        f'<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">'
        f'<pci busid="0000:01:00.0" class="0x060400" {ids} {link}>'
        f'<pci busid="0000:02:00.0" class="0x030200" {link}/><pci busid="0000:03:00.0" {nic}/>'
        f'<pci busid="0000:04:00.0" class="0x060400" {lower_ids} {link}><pci busid="0000:05:00.0" {nic}/></pci></pci>'
        f'<pci busid="0000:06:00.0" {nic}/></cpu>'
        f'<cpu numaid="1" arch="x86_64"><pci busid="0000:07:00.0" {nic}/></cpu></system>'
    )


def test_each_path_type() -> None:
    types = {path.nic: path.type.name for path in all_paths(nested())}
    assert types == {
        "0000:03:00.0": "PIX",
        "0000:05:00.0": "PXB",
        "0000:06:00.0": "PHB",
        "0000:07:00.0": "SYS",
    }


@pytest.mark.parametrize(
    ("upper", "lower", "expected"),
    [
        # Generation 4 in base mode, and generation 5: one switch that shows itself as two levels.
        (("0xc010", "0xa064"), ("0xc010", "0xa064"), "PIX"),
        (("0xc030", "0x0001"), ("0xc030", "0x1001"), "PIX"),
        (("0xc030", "0x0001"), ("0xc030", "0x0001"), "PXB"),
        (("0xc010", "0xa064"), ("0xc030", "0x1001"), "PXB"),
        (("0xc010", "0x1234"), ("0xc010", "0x1234"), "PXB"),
    ],
)
def test_the_two_levels_of_one_broadcom_switch_count_as_one(
    upper: tuple[str, str], lower: tuple[str, str], expected: str
) -> None:
    def ids(pair: tuple[str, str]) -> str:
        device, subsystem = pair
        return f'vendor="0x1000" device="{device}" subsystem_vendor="0x1000" subsystem_device="{subsystem}"'

    topology = nested(ids(upper), ids(lower))
    assert path_between(topology, "0000:02:00.0", "0000:05:00.0").type.name == expected


def test_the_rate_is_unknown_where_the_file_leaves_the_cpu_out() -> None:
    text = (
        '<system version="1"><cpu numaid="0"><pci busid="0000:02:00.0" class="0x030200" link_speed="16 GT/s"/></cpu>'
        '<cpu numaid="1"><pci busid="0000:07:00.0" class="0x020700" link_speed="16 GT/s"/></cpu></system>'
    )
    (path,) = all_paths(parse(text))
    assert path.type is PathType.SYS
    assert path.gigabytes_per_second is None


def test_a_bus_id_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(TopologyError, match=r"no device has bus id 0000:99:00\.0\. Known are 0000:01:00\.0"):
        path_between(nested(), "0000:99:00.0", "0000:03:00.0")


def test_a_topology_without_a_nic_has_no_path() -> None:
    topology = parse(
        '<system version="1"><cpu numaid="0"><pci busid="0000:02:00.0" class="0x030200"/></cpu></system>'
    )
    assert all_paths(topology) == ()
    assert nearest_nics(topology) == {"0000:02:00.0": ()}
