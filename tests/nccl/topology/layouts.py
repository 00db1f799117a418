"""Sizes that nobody sells, for property tests: any number of NUMA nodes, switches, GPUs and NICs."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import (
    Cloud,
    CpuModel,
    Fabric,
    Gpu,
    NodeSize,
    NumaNode,
    PciIds,
    PciLayout,
    PciSwitch,
)

#: For properties that build whole files: fewer examples, and no limit on the time of one on a busy machine.
FEWER = settings(deadline=None, max_examples=40)

LINK_SPEEDS = ("8 GT/s", "16 GT/s", "32 GT/s", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe")
CPUS = (
    CpuModel("x86_64", "GenuineIntel", 6, 143),
    CpuModel("x86_64", "GenuineIntel", 6, 207),
    CpuModel("x86_64", "AuthenticAMD", 25, 1),
)
IDS = PciIds("0x15b3", "0x1021", "0x15b3", "0x0041")


@st.composite
def invented_sizes(draw: st.DrawFn) -> NodeSize:
    """1 to 16 GPUs, 0 to 64 NICs, 1 to 8 NUMA nodes; each switch holds at least one GPU or NIC."""
    gpus = draw(st.integers(1, 16))
    nics = draw(st.integers(0, 64))
    numa_nodes = draw(st.integers(1, 8))
    switches = draw(st.integers(1, min(16, gpus + nics)))
    numbers = draw(st.permutations(range(gpus + nics)))
    bus_ids = [f"{number // 200:04x}:{number % 200 + 1:02x}:00.0" for number in numbers]
    # One device for each switch first, so that none is empty; the others anywhere.
    places = [
        place if place < switches else draw(st.integers(0, switches - 1)) for place in range(gpus + nics)
    ]
    homes = [draw(st.integers(0, numa_nodes - 1)) for _ in range(switches)]
    built = [
        PciSwitch(
            f"ffff:ff:{number + 1:02x}.0",
            tuple(busid for index, busid in enumerate(bus_ids) if index < gpus and places[index] == number),
            tuple(busid for index, busid in enumerate(bus_ids) if index >= gpus and places[index] == number),
        )
        for number in range(switches)
    ]
    layout = PciLayout(
        cpu=draw(st.sampled_from(CPUS)),
        numa_nodes=tuple(
            NumaNode(
                numa,
                f"{0xFF << 8 * (numa % 4):08x}{',00000000' * (numa // 4)}" if draw(st.booleans()) else None,
                tuple(switch for switch, home in zip(built, homes, strict=True) if home == numa),
            )
            for numa in range(numa_nodes)
        ),
        link_speed=draw(st.sampled_from(LINK_SPEEDS)),
        link_width=draw(st.sampled_from((4, 8, 16))),
        switch_class="0x060400",
        gpu_class="0x030200",
        nic_class=draw(st.sampled_from(("0x020000", "0x020700"))),
        source="invented",
        date="2026-11-29",
        switch_ids=draw(st.none() | st.just(IDS)),
        nic_ids=draw(st.none() | st.just(IDS)),
    )
    return NodeSize(
        name="invented",
        cloud=Cloud.AZURE,
        vcpus=96,
        memory_gib=1,
        gpu=Gpu("G", gpus, 80, 90),
        fabric=Fabric.INFINIBAND if nics else Fabric.SOCKETS,
        fabric_ports=nics,
        fabric_port_gbps=400 if nics else 0,
        source="invented",
        date="2026-11-29",
        pci=layout,
    )
