"""Reading and writing topology files: the vendors' shape, NCCL's dumps, limits, and text from strangers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.nccl.topology import (
    C2c,
    Cpu,
    Gpu,
    Net,
    Nic,
    NvLink,
    Pci,
    PciLink,
    Topology,
    TopologyError,
    parse,
    parse_file,
    to_xml,
)
from tests.nccl.topology import nccl_reader
from tests.nccl.topology.cases import GOOD, changed, with_elements

DATA = Path(__file__).parents[2] / "data" / "topology"


def test_a_file_that_nccl_dumped_is_read_with_everything_in_it() -> None:
    topology = parse_file(DATA / "nccl-dump.xml")
    (cpu,) = topology.cpus
    (switch,) = cpu.pcis
    gpu, nic = switch.pcis
    assert cpu.host_hash == "0x9a5c3f1e77b20d41"
    assert gpu.gpus == (
        Gpu(
            dev=0,
            sm=90,
            rank=0,
            gdr=1,
            mlopart=-1,
            nvlinks=(NvLink(target="0000:c1:00.0", count=18, tclass="0x068000"),),
            c2cs=(C2c(bw=450000, count=1),),
        ),
    )
    (net,) = nic.nics[0].nets
    assert (net.name, net.speed, net.latency, net.guid, net.maxconn, net.gdr) == (
        "mlx5_0",
        400000,
        0.8,
        "0x2c2ee50003a1b2c4",
        131072,
        1,
    )
    assert switch.pcilinks == (PciLink(target="0000:81:00.0"),)
    assert cpu.nics == (Nic(nets=(Net(name="bond0", dev=1, speed=25000),)),)


def test_a_dumped_file_survives_the_way_to_the_model_and_back() -> None:
    topology = parse_file(DATA / "nccl-dump.xml")
    assert parse(to_xml(topology)) == topology
    assert nccl_reader.read(to_xml(topology)) is not None


def test_a_vendors_file_of_bus_ids_alone_is_read() -> None:
    text = '<system version="1">\n  <cpu numaid="0">\n    <pci busid="0000:00:1d.0"/>\n  </cpu>\n</system>\n'
    assert parse(text) == Topology(cpus=(Cpu(numaid=0, pcis=(Pci(busid="0000:00:1d.0"),)),))


def test_what_nccl_ignores_is_left_out() -> None:
    text = changed('class="0x060400"', 'class="0x060400" subsys="0x0000"').replace(
        "</cpu>", "<bridge><pci/></bridge></cpu>"
    )
    assert parse(text) == parse(GOOD)


def test_the_text_is_the_same_for_the_same_topology_and_ends_in_a_line_feed() -> None:
    assert to_xml(parse(GOOD)) == to_xml(parse(GOOD)) == GOOD


def test_attributes_keep_zero_and_leave_out_none() -> None:
    text = to_xml(Topology(cpus=(Cpu(numaid=0, nics=(Nic(nets=(Net(dev=0, gdr=0),)),)),)))
    assert '<net dev="0" gdr="0"/>' in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'<?xml version="1.0"?>\n{GOOD}',
            "line 1: NCCL rejects the file: it begins with an XML declaration. Delete the `<?xml ...?>` line.",
        ),
        (
            changed("  <cpu", "\t<cpu").replace("</cpu>", "</cpu >"),
            "line 2: NCCL rejects the file: it contains a tab: between elements. 1 more such faults follow. "
            "Write spaces.",
        ),
        (
            changed(' numaid="0"', ""),
            'line 2: NCCL rejects the file: a `cpu` has no numaid. Write `numaid="0"`.',
        ),
        (
            changed(' busid="0000:11:00.0"', ""),
            "line 5: NCCL rejects the file: a `pci` has no busid. Write its bus id.",
        ),
        (
            GOOD.replace("system", "topology"),
            "line 1: The root element is not `system`: NCCL silently takes nothing from the file. Put everything into "
            '`<system version="1">`.',
        ),
        (
            "",
            "line 1: The file holds no element: NCCL takes nothing from it and goes on with autodetection. Write "
            '`<system version="1">`, or leave NCCL_TOPO_FILE unset.',
        ),
        (
            with_elements(256),
            "line 1: NCCL rejects the file: it has 256 or more elements: 256. Leave out `gpu`, `nic`, `net` and "
            "`nvlink`, which NCCL adds itself; keep `cpu` and `pci`.",
        ),
    ],
)
def test_what_nccl_rejects_is_refused_with_its_line_and_a_remedy(text: str, message: str) -> None:
    with pytest.raises(TopologyError) as refused:
        parse(text)
    assert str(refused.value) == message


def test_255_elements_are_taken_and_written() -> None:
    topology = parse(with_elements(255))
    assert to_xml(topology).count("<pci") == 253
    assert nccl_reader.read(to_xml(topology)) is not None


def test_more_elements_than_nccl_takes_are_not_written() -> None:
    pcis = tuple(Pci(busid=f"0000:00:{n // 8:02x}.{n % 8}") for n in range(254))
    with pytest.raises(TopologyError, match="has 256 elements, and NCCL takes at most 255"):
        to_xml(Topology(cpus=(Cpu(numaid=0, pcis=pcis),)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ('a "b"', "the value of name contains a quotation mark"),
        ("a\0b", "or a zero byte"),
        ("x" * 254, "has 254 characters, and NCCL takes 253"),
    ],
)
def test_a_value_that_nccl_could_not_read_back_is_not_written(name: str, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        to_xml(Topology(name=name))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"absent\.xml: No such file or directory"):
        parse_file(tmp_path / "absent.xml")


def test_entities_are_not_decoded_and_none_is_fetched() -> None:
    text = changed('"good"', '"&xxe; &amp;"')
    assert parse(text).name == "&xxe; &amp;"
    bomb = (
        '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY xxe SYSTEM "file:///etc/passwd">]>\n'
    )
    with pytest.raises(TopologyError, match="document type"):
        parse(bomb + text)


@pytest.mark.parametrize(
    "text",
    [
        "<" * 400_000,
        "<a " * 200_000,
        '<a b="' * 150_000,
        "<!--" * 200_000,
        "<!>" * 300_000,
        "<a" + " b" * 100_000,
        "<pci>" * 180_000,
        "<system version='1'>" + "<cpu numaid='0'>" * 60_000,
        "x" * 5_000_000,
        '<system version="1"><cpu affinity="' + "0," * 400_000 + '"/></system>',
    ],
    ids=lambda text: text[:20],
)
def test_a_text_made_to_hurt_is_refused_in_little_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(TopologyError):
        parse(text)
    assert time.process_time() - started < 2, "seconds of this process"


_TEXT = st.text(st.characters(codec="ascii", exclude_characters='"<>&\0'), max_size=20)
_NETS = st.builds(
    Net,
    name=st.none() | _TEXT,
    dev=st.none() | st.integers(0, 99),
    speed=st.none() | st.integers(0, 800_000),
    latency=st.none() | st.floats(0, 1000, allow_nan=False).map(lambda number: round(number, 6)),
    guid=st.none() | st.integers(0, 2**64 - 1).map(hex),
    gdr=st.none() | st.integers(0, 1),
)
_GPUS = st.builds(
    Gpu,
    dev=st.none() | st.integers(0, 15),
    sm=st.none() | st.integers(60, 120),
    nvlinks=st.lists(st.builds(NvLink, target=st.none() | _TEXT, count=st.integers(1, 18)), max_size=2).map(
        tuple
    ),
    c2cs=st.lists(st.builds(C2c, bw=st.integers(1, 900_000), count=st.integers(1, 9)), max_size=1).map(tuple),
)
_PCIS = st.recursive(
    st.builds(Pci, busid=_TEXT, pci_class=st.none() | _TEXT, link_width=st.none() | st.integers(0, 32)),
    lambda inner: st.builds(
        Pci,
        busid=_TEXT,
        link_speed=st.none() | _TEXT,
        gpus=st.lists(_GPUS, max_size=1).map(tuple),
        nics=st.lists(st.builds(Nic, nets=st.lists(_NETS, max_size=2).map(tuple)), max_size=1).map(tuple),
        pcis=st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=8,
)
_TOPOLOGIES = st.builds(
    Topology,
    name=st.none() | _TEXT,
    cpus=st.lists(
        st.builds(
            Cpu,
            numaid=st.integers(-1, 7),
            affinity=st.none() | _TEXT,
            arch=st.none() | _TEXT,
            familyid=st.none() | st.integers(0, 255),
            pcis=st.lists(_PCIS, max_size=3).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
)


@settings(deadline=None)
@given(_TOPOLOGIES)
def test_any_topology_survives_the_way_to_the_text_and_back(topology: Topology) -> None:
    assert parse(to_xml(topology)) == topology
