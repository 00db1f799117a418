"""What NCCL makes of an attribute's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.topology import values
from tests.nccl.topology import nccl_reader


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("400 Gbps", 400),
        ("1e5", 1),
        ("0x10", 16),
        ("010", 8),
        ("08", 0),
        ("-1", -1),
        ("", 0),
        ("x16", 0),
        ("0x", 0),
    ],
)
def test_a_number_is_what_stands_at_the_beginning(text: str, number: int) -> None:
    assert values.read_integer(text) == number


@given(st.text(alphabet="0123456789abcdefxb-+ ", max_size=24))
def test_numbers_are_read_as_c_reads_them(text: str) -> None:
    assert values.read_integer(text) == nccl_reader.strtol(text)


@pytest.mark.parametrize(
    ("speed", "gigabytes"),
    [
        ("2.5 GT/s", 3),
        ("5 GT/s", 6),
        ("5.0 GT/s PCIe", 6),
        ("8 GT/s", 12),
        ("8.0 GT/s PCIe", 12),
        ("16 GT/s", 24),
        ("16.0 GT/s PCIe", 24),
        ("32 GT/s", 48),
        ("32 GT/s PCIe/s", 48),
        ("32.0 GT/s PCIe", 48),
        ("64.0 GT/s PCIe", 96),
        # None of these is known, so each counts as generation 3.
        ("16.0 GT/s", 12),
        ("32.0 GT/s", 12),
        ("64 GT/s", 12),
        ("64.0 GT/s", 12),
        ("16GT/s", 12),
        ("128.0 GT/s PCIe", 12),
        ("Gen5", 12),
        ("", 12),
    ],
)
def test_the_rate_of_a_link_of_16_lanes_by_its_spelling(speed: str, gigabytes: float) -> None:
    assert values.link_gigabytes_per_second(speed, 16) == gigabytes
    assert nccl_reader.bandwidth(speed, "16") == gigabytes


@pytest.mark.parametrize(("width", "lanes"), [("8", 8), ("0", 16), ("", 16), ("x8", 16), ("4 lanes", 4)])
def test_a_width_that_is_no_number_counts_as_16(width: str, lanes: int) -> None:
    assert values.link_width(width) == lanes


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("000000ff,ffff0000,00ffffff", "0-23,48-71"),
        ("ffffff00,0000ffff,ff000000", "24-47,72-95"),
        ("0-23,48-71", "3,6"),
        ("0-23", "none"),
        ("ffffffffffffffff", "0-31"),
        ("", "none"),
    ],
)
def test_the_cpus_that_nccl_takes_from_an_affinity(text: str, cpus: str) -> None:
    assert values.cpu_list(values.affinity_as_read(text)) == cpus
    assert values.affinity_as_read(text) == nccl_reader.cpuset(text)


@given(st.sets(st.integers(0, 511)))
def test_a_mask_reads_back_to_its_cpus(cpus: set[int]) -> None:
    mask = values.affinity_mask(cpus)
    assert values.is_affinity(mask)
    assert values.affinity_as_read(mask) == cpus
    assert nccl_reader.cpuset(mask) == cpus


@given(st.sets(st.integers(0, 511), min_size=1, max_size=40))
def test_a_list_of_cpus_reads_back_to_its_cpus(cpus: set[int]) -> None:
    text = values.cpu_list(cpus)
    if len(text) <= values.LONGEST:
        assert values.affinity_ranges(text) == cpus


@pytest.mark.parametrize(
    ("arch", "vendor", "family", "model", "gigabytes"),
    [
        ("x86_64", "GenuineIntel", 6, 0xCF, 40),
        ("x86_64", "GenuineIntel", 6, 0xCE, 22),
        ("x86_64", "GenuineIntel", 6, 0x8F, 22),
        ("x86_64", "GenuineIntel", 6, 0x55, 10),
        ("x86_64", "GenuineIntel", 6, 0x54, 6),
        ("x86_64", "GenuineIntel", 15, 0xCF, 6),
        ("x86_64", "AuthenticAMD", 25, 1, 16),
        ("arm64", None, None, None, 6),
        ("ppc64", None, None, None, 32),
        ("x86_64", None, None, None, None),
        ("x86_64", "GenuineIntel", None, None, None),
        (None, None, None, None, None),
    ],
)
def test_the_rate_between_two_sockets(
    arch: str | None, vendor: str | None, family: int | None, model: int | None, gigabytes: float | None
) -> None:
    assert values.socket_gigabytes_per_second(arch, vendor, family, model) == gigabytes


@pytest.mark.parametrize(
    ("pci_class", "kind"),
    [
        ("0x060400", "switch"),
        ("0x080100", "switch"),
        ("0x068000", "nvswitch"),
        ("0x030200", "gpu"),
        ("0x030000", "gpu"),
        ("0x020700", "nic"),
        ("0x020000", "nic"),
        ("0x060300", None),
        ("gpu", None),
        (None, None),
    ],
)
def test_the_kind_of_a_device_by_its_class(pci_class: str | None, kind: str | None) -> None:
    assert values.device_kind(pci_class) == kind


@given(st.text())
def test_no_text_makes_a_reading_fail(text: str) -> None:
    values.read_integer(text)
    values.read_decimal(text)
    values.read_hexadecimal(text)
    values.affinity_as_read(text)
    values.affinity_ranges(text)
    values.link_gigabytes_per_second(text, text)
