"""What an Azure node finds on its disk: our own files, active, beside those that the HPC image writes."""

from __future__ import annotations

import base64
import gzip
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from gpu_fabric.components.node_files import TopologyUse, node_files
from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap import Setup
from gpu_fabric.nccl.hardware import get_size

ND_V4 = ("Standard_ND96asr_v4", "Standard_ND96amsr_A100_v4")
ND_V5 = ("Standard_ND96isr_H100_v5", "Standard_ND96isr_H200_v5")
#: Written at every start, and emptied at a stop, by the image's service sku-customizations
#: (Azure/azhpc-images 8e9d055, components/customizations).
THE_IMAGES_OWN = ("/etc/nccl.conf", "/opt/microsoft/")


def written(size: str, **changes: Any) -> dict[str, str]:
    """Path → content of every file that the cloud-config writes."""
    wanted: dict[str, Any] = {"overrides": {}, "topology": TopologyUse.DEFAULT, "setup": Setup()}
    text = node_files(get_size(size), **{**wanted, **changes}).text
    return {entry["path"]: _content(entry) for entry in yaml.safe_load(text)["write_files"]}


def _content(entry: dict[str, str]) -> str:
    match entry.get("encoding", "text/plain"):
        case "b64" | "base64":
            return base64.b64decode(entry["content"]).decode()
        case "gz+b64" | "gzip+base64":
            return gzip.decompress(base64.b64decode(entry["content"])).decode()
    return entry["content"]


def settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("size", [*ND_V4, *ND_V5])
def test_the_environment_names_the_infiniband_devices_the_socket_interface_and_our_topology(
    size: str,
) -> None:
    conf = settings(written(size)[paths.NCCL_CONF])
    # A prefix, so all of mlx5_ib0 … mlx5_ib7 and not mlx5_an0, the Ethernet device of accelerated networking.
    assert conf["NCCL_IB_HCA"] == "mlx5_ib"
    assert not "mlx5_an0".startswith(conf["NCCL_IB_HCA"])
    # With `=` the name is exact: eth0 alone, not eth01 or a bridge whose name begins so.
    assert conf["NCCL_SOCKET_IFNAME"] == "=eth0"
    assert conf["NCCL_TOPO_FILE"] == "/etc/gpu-fabric/topology.xml"
    # It hides what went wrong in a file that the library itself would write.
    assert "NCCL_GRAPH_FILE" not in conf


@pytest.mark.parametrize("size", [*ND_V4, *ND_V5])
def test_nothing_of_ours_is_a_file_that_the_images_boot_service_rewrites(size: str) -> None:
    files = written(size)
    assert not [path for path in files if path.startswith(THE_IMAGES_OWN)]
    conf = files[paths.NCCL_CONF]
    assert "/opt/microsoft" not in "".join(settings(conf).values())
    # NCCL reads the file that this variable names before /etc/nccl.conf, so ours wins after any reboot.
    assert f"NCCL_CONF_FILE={paths.NCCL_CONF}" in files[paths.ENVIRONMENT].replace("'", "").replace('"', "")


def topology(size: str) -> ElementTree.Element:
    return ElementTree.fromstring(written(size)[paths.TOPOLOGY])


@pytest.mark.parametrize(
    ("sizes", "cpus", "switches_per_cpu", "gpus_per_switch"), [(ND_V4, 4, 1, 2), (ND_V5, 2, 4, 1)]
)
def test_the_topology_pairs_gpus_and_infiniband_adapters_on_their_numa_node(
    sizes: tuple[str, ...], cpus: int, switches_per_cpu: int, gpus_per_switch: int
) -> None:
    for size in sizes:
        found = topology(size).findall("cpu")
        assert len(found) == cpus
        for cpu in found:
            switches = cpu.findall("pci")
            assert len(switches) == switches_per_cpu
            for switch in switches:
                kinds = [device.get("class") for device in switch.findall("pci")]
                assert kinds.count("0x030200") == gpus_per_switch
                assert kinds.count("0x020700") == gpus_per_switch


def test_the_masks_of_nd_v5_are_those_of_azures_corrected_file() -> None:
    # azhpc-images pull request 391: older copies have the two swapped.
    masks = {cpu.get("numaid"): cpu.get("affinity") for cpu in topology(ND_V5[0]).findall("cpu")}
    assert masks == {"0": "00000000,0000ffff,ffffffff", "1": "ffffffff,ffff0000,00000000"}


def test_h200_gets_the_topology_of_h100_as_azures_image_gives_it() -> None:
    h100, h200 = (written(size)[paths.TOPOLOGY].replace(size, "SIZE") for size in ND_V5)
    assert h100 == h200


def test_the_topology_may_be_installed_without_being_active() -> None:
    files = written(ND_V5[0], topology=TopologyUse.INSTALLED)
    assert paths.TOPOLOGY in files
    assert "NCCL_TOPO_FILE" not in settings(files[paths.NCCL_CONF])


def test_with_an_image_of_which_nothing_is_known_no_device_name_is_assumed() -> None:
    own = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/mine"
    assert "NCCL_IB_HCA" not in settings(written(ND_V5[0], image=own)[paths.NCCL_CONF])
    derived = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/our-ubuntu-hpc"
    assert settings(written(ND_V5[0], image=derived)[paths.NCCL_CONF])["NCCL_IB_HCA"] == "mlx5_ib"


def test_the_users_own_variable_wins() -> None:
    conf = settings(written(ND_V5[0], overrides={"NCCL_IB_HCA": "=mlx5_0"})[paths.NCCL_CONF])
    assert conf["NCCL_IB_HCA"] == "=mlx5_0"
