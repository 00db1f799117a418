"""Build the sysfs and proc of a machine that does not exist, in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class FakeDevice:
    """One PCI device; `path` are the bus ids of the ports above it, root port first."""

    busid: str
    pci_class: str
    vendor: str
    device: str
    path: Sequence[str] = ()
    numa: int = 0
    speed: str = "32.0 GT/s PCIe"
    width: str = "16"
    rdma: str | None = None
    """Name of its RDMA device."""
    link_layer: str = "InfiniBand"
    rate: str = "400 Gb/sec (4X NDR)"


@dataclass
class FakeHost:
    devices: Sequence[FakeDevice]
    cpumaps: Mapping[int, str]
    cpuinfo: str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
    processors: int = 96
    memory_kb: int = 1_981_808_640
    ports: Mapping[str, FakeDevice] = field(default_factory=dict)

    def write(self, root: Path) -> Path:
        """The folder, with `sys` and `proc` in it."""
        known = {device.busid: device for device in self.devices}
        for device in self.devices:
            above = root / "sys/devices" / f"pci{(*device.path, device.busid)[0][:7]}"
            for port in device.path:
                above = above / port
                if port not in known:
                    self._device(
                        root, above, FakeDevice(port, "0x060400", "0x1000", "0xc030", numa=device.numa)
                    )
            self._device(root, above / device.busid, device)
        for numa, cpumap in self.cpumaps.items():
            _put(root / f"sys/devices/system/node/node{numa}/cpumap", cpumap)
        first, _, rest = self.cpuinfo.partition("\n")
        more = "".join(f"\nprocessor\t: {number}\n" for number in range(1, self.processors))
        _put(root / "proc/cpuinfo", f"{first}\n{rest}{more}")
        _put(root / "proc/meminfo", f"MemTotal:       {self.memory_kb} kB\nMemFree: 1 kB\n")
        return root

    def _device(self, root: Path, folder: Path, device: FakeDevice) -> None:
        texts = {
            "class": device.pci_class,
            "vendor": device.vendor,
            "device": device.device,
            "subsystem_vendor": device.vendor,
            "subsystem_device": "0x0001",
            "numa_node": str(device.numa),
            "max_link_speed": device.speed,
            "max_link_width": device.width,
        }
        for name, text in texts.items():
            _put(folder / name, text)
        link = root / "sys/bus/pci/devices" / device.busid
        _link(link, folder)
        if device.rdma is not None:
            rdma = root / "sys/class/infiniband" / device.rdma
            _put(rdma / "ports/1/link_layer", device.link_layer)
            _put(rdma / "ports/1/rate", device.rate)
            _link(rdma / "device", folder)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(target)


def gpu(busid: str, path: Sequence[str] = (), **more: object) -> FakeDevice:
    return FakeDevice(busid, "0x030200", "0x10de", "0x2330", path, **more)  # ty: ignore[invalid-argument-type]


def hca(busid: str, name: str, path: Sequence[str] = (), **more: object) -> FakeDevice:
    return FakeDevice(busid, "0x020700", "0x15b3", "0x101e", path, rdma=name, **more)  # ty: ignore[invalid-argument-type]


def efa(busid: str, name: str, path: Sequence[str] = (), **more: object) -> FakeDevice:
    return FakeDevice(
        busid,
        "0x020000",
        "0x1d0f",
        "0xefa1",
        path,
        rdma=name,
        link_layer="Unspecified",
        rate="100 Gb/sec (4X EDR)",
        **more,  # ty: ignore[invalid-argument-type]
    )
