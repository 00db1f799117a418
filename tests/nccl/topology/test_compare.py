"""What differs between two topologies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from gpu_fabric.nccl.hardware import NodeSize, get_size, load_sizes
from gpu_fabric.nccl.topology import (
    Gpu,
    Net,
    Nic,
    NvLink,
    Pci,
    Topology,
    from_catalog,
    parse,
    to_xml,
)
from gpu_fabric.nccl.topology.compare import Change, compare
from tests.nccl.topology.cases import GOOD, changed, with_net
from tests.nccl.topology.layouts import FEWER, invented_sizes


def topology_of(name: str) -> Topology:
    topology = from_catalog(get_size(name))
    assert topology is not None
    return replace(topology, name=None)


def differences(first: str, second: str) -> list[str]:
    return [str(difference) for difference in compare(parse(first), parse(second))]


@FEWER
@given(invented_sizes())
def test_a_topology_does_not_differ_from_itself(size: NodeSize) -> None:
    topology = from_catalog(size)
    assert topology is not None
    assert compare(topology, topology) == ()


def test_other_ids_for_invented_switches_are_no_difference() -> None:
    renamed = GOOD.replace("ffff:ff:01.0", "ffff:ff:1f.0")
    assert differences(GOOD, renamed) == []


def two_switches(first: str, second: str) -> str:
    """Two switches of these bus ids, a GPU below each."""
    link = 'link_speed="16 GT/s" link_width="16"'
    switches = "".join(
        f'<pci busid="{busid}" class="0x060400" {link}><pci busid="0000:0{n}:00.0" class="0x030200" {link}/></pci>'
        for n, busid in enumerate((first, second), 1)
    )
    return f'<system version="1"><cpu numaid="0">{switches}</cpu></system>'


def test_invented_switches_in_another_order_are_no_difference() -> None:
    ids = ("ffff:ff:01.0", "ffff:ff:02.0")
    assert differences(two_switches(*ids), two_switches(*reversed(ids))) == []


def test_a_switch_below_a_switch_is_told_from_the_one_above_it() -> None:
    inside = '<pci busid="ffff:ff:02.0" class="0x060400"><pci busid="0000:01:00.0" class="0x030200"/></pci>'
    outside = f'<pci busid="ffff:ff:01.0" class="0x060400">{inside}</pci>'
    nested = f'<system version="1"><cpu numaid="0">{outside}</cpu></system>'
    renamed = nested.replace("ffff:ff:02", "ffff:ff:03").replace("ffff:ff:01", "ffff:ff:02")
    assert differences(nested, nested) == []
    assert differences(nested, renamed) == []


def test_real_switches_that_exchange_their_devices_are_a_difference() -> None:
    ids = ("0000:45:00.0", "0000:56:00.0")
    assert differences(two_switches(*ids), two_switches(*reversed(ids))) == [
        "GPU 0000:01:00.0 moved from switch 0000:45:00.0 to switch 0000:56:00.0",
        "GPU 0000:02:00.0 moved from switch 0000:56:00.0 to switch 0000:45:00.0",
    ]


def test_a_changed_attribute_is_named_with_both_values() -> None:
    assert differences(GOOD, changed('"000000ff"', '"0000ff00"')) == [
        "CPU 0: affinity is 000000ff and 0000ff00"
    ]


def test_an_attribute_that_one_side_leaves_out_is_said_to_be_left_out() -> None:
    assert differences(GOOD, changed(' affinity="000000ff"', "")) == [
        "CPU 0: affinity is 000000ff and left out"
    ]


def test_a_missing_and_an_added_device() -> None:
    other = changed("0000:11:00.0", "0000:12:00.0")
    found = compare(parse(GOOD), parse(other))
    assert [difference.change for difference in found] == [Change.MISSING, Change.ADDED]
    assert [str(difference) for difference in found] == [
        "NIC 0000:11:00.0 is in the first topology alone",
        "NIC 0000:12:00.0 is in the second topology alone",
    ]


def test_a_device_that_hangs_elsewhere_has_moved() -> None:
    nic = '<pci busid="0000:11:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>'
    outside = changed(nic, "").replace("</cpu>", f"{nic}</cpu>")
    assert differences(GOOD, outside) == ["NIC 0000:11:00.0 moved from switch ffff:ff:01.0 to CPU 0"]


def test_swapped_numa_nodes_show_as_moved_devices() -> None:
    first = topology_of("Standard_ND96isr_H100_v5")
    swapped = replace(
        first,
        cpus=(
            replace(first.cpus[0], pcis=first.cpus[1].pcis),
            replace(first.cpus[1], pcis=first.cpus[0].pcis),
        ),
    )
    found = [str(difference) for difference in compare(first, swapped)]
    assert found[0] == "switch ffff:ff:01.0 moved from CPU 0 to CPU 1"
    assert len(found) == 8


def test_the_files_of_p4d_and_p4de_differ_in_the_ids_of_the_gpus() -> None:
    found = compare(topology_of("p4d.24xlarge"), topology_of("p4de.24xlarge"))
    assert {difference.attribute for difference in found} == {"device", "subsystem_device"}
    assert len(found) == 16


def as_dumped(topology: Topology) -> Topology:
    """What NCCL_TOPO_DUMP_FILE would write: ids, gpu, nic and net on every device, a host hash on every CPU."""

    def filled(pci: Pci) -> Pci:
        ids = {"vendor": pci.vendor or "0x10de", "device": pci.device or "0x2330"}
        inside: dict[str, tuple[Gpu, ...] | tuple[Nic, ...]] = {}
        if pci.kind == "gpu":
            inside["gpus"] = (Gpu(dev=0, sm=90, rank=0, gdr=1, nvlinks=(NvLink(target="x", count=18),)),)
        elif pci.kind == "nic":
            inside["nics"] = (Nic(nets=(Net(name=pci.busid, dev=0, speed=400000, gdr=1, guid="0x1"),)),)
        return replace(pci, **ids, **inside, pcis=tuple(filled(child) for child in pci.pcis))

    cpus = (
        replace(cpu, host_hash="0x1", vendor=cpu.vendor or "AuthenticAMD", pcis=tuple(map(filled, cpu.pcis)))
        for cpu in topology.cpus
    )
    return replace(topology, name=None, cpus=tuple(cpus))


@pytest.mark.parametrize("name", [name for name, size in load_sizes().items() if size.pci is not None])
def test_a_dump_of_the_same_layout_is_no_difference(name: str) -> None:
    topology = from_catalog(get_size(name))
    assert topology is not None
    dumped = as_dumped(topology)
    assert len(to_xml(dumped)) > len(to_xml(topology))
    assert compare(dumped, topology) == ()
    assert compare(topology, dumped) == ()


def test_in_a_dump_a_device_that_moved_is_the_only_difference() -> None:
    nic = '<pci busid="0000:11:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>'
    outside = as_dumped(parse(changed(nic, "").replace("</cpu>", f"{nic}</cpu>")))
    assert [str(entry) for entry in compare(parse(GOOD), outside)] == [
        "NIC 0000:11:00.0 moved from switch ffff:ff:01.0 to CPU 0"
    ]


def test_two_runs_on_two_machines_of_one_size_are_no_difference() -> None:
    first = as_dumped(topology_of("Standard_ND96isr_H100_v5"))
    text = to_xml(first)
    other = (
        text.replace('rank="0"', 'rank="9"')
        .replace('guid="0x1"', 'guid="0x2"')
        .replace('hash="0x1"', 'hash="0x2"')
    )
    assert other != text
    assert compare(first, parse(other)) == ()


def test_the_files_of_h100_and_h200_are_the_same_to_nccl_though_their_names_differ() -> None:
    first, second = (from_catalog(get_size(f"Standard_ND96isr_{gpu}_v5")) for gpu in ("H100", "H200"))
    assert first is not None
    assert second is not None
    assert first.name != second.name
    assert compare(first, second) == ()


def test_what_both_sides_list_inside_a_device_is_compared() -> None:
    first, second = with_net('name="mlx5_0" dev="0" gdr="1"'), with_net('name="mlx5_0" dev="0" gdr="0"')
    assert differences(first, second) == ["net mlx5_0 of nic 0 of NIC 0000:11:00.0: gdr is 1 and 0"]
    renamed = with_net('name="mlx5_9" dev="0" gdr="1"')
    assert differences(first, renamed) == [
        "net mlx5_0 of nic 0 of NIC 0000:11:00.0 is in the first topology alone",
        "net mlx5_9 of nic 0 of NIC 0000:11:00.0 is in the second topology alone",
    ]
    assert differences(GOOD, first) == [], "a net that one side alone has is NCCL's own finding"


def test_two_devices_of_the_same_bus_id_do_not_hide_each_other() -> None:
    twice = changed("0000:11:00.0", "0000:10:00.0")
    assert "NIC 0000:11:00.0 is in the first topology alone" in differences(GOOD, twice)
    assert "NIC 0000:10:00.0 is in the second topology alone" in differences(GOOD, twice)
