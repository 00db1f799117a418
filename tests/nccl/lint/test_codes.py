"""The codes: each is described, can be found, and stands on the page that is written from the data."""

from __future__ import annotations

import pytest

from gpu_fabric.nccl.environment import Role
from gpu_fabric.nccl.lint import codes
from gpu_fabric.nccl.lint import lint as lint_texts
from gpu_fabric.nccl.lint.pages import page
from gpu_fabric.nccl.topology.rules import RULES
from tests.nccl.lint.helpers import NDV5, P4D, P5, target

# code → (path, text, size)
SAMPLES: dict[str, tuple[str, str, str | None]] = {
    "env-aborts": ("a.sh", "export FI_EFA_MTU_SIZE=1", P5),
    "env-algorithm-grammar": ("a.sh", "export NCCL_PROTO=Fast", None),
    "env-algorithm-list": ("a.sh", "export NCCL_ALGO=Ring", P4D),
    "env-algorithm-none": ("a.sh", "export NCCL_ALGO=Tree", None),
    "env-algorithm-too-new": ("a.sh", "export NCCL_ALGO=pat", None),
    "env-byte-order-mark": ("a.sh", "\ufeffexport NCCL_DEBUG=WARN", None),
    "env-branch-only": ("a.sh", "export NCCL_SCATTER_XDC=1", None),
    "env-buffer-size": ("a.sh", "export NCCL_BUFFSIZE=1", NDV5),
    "env-channels": ("a.sh", "export NCCL_MIN_CTAS=32", P5),
    "env-collnet": ("a.sh", "export NCCL_COLLNET_ENABLE=1", P5),
    "env-conf-comment": ("nccl.conf", "NCCL_DEBUG=WARN # x", None),
    "env-conf-export": ("nccl.conf", "export NCCL_DEBUG=WARN", None),
    "env-conf-line-end": ("nccl.conf", "NCCL_DEBUG=WARN\r", None),
    "env-conf-no-value": ("nccl.conf", "NCCL_DEBUG", None),
    "env-conf-quotes": ("nccl.conf", "NCCL_DEBUG='WARN'", None),
    "env-conf-spaces": ("nccl.conf", "NCCL_DEBUG =WARN", None),
    "env-conf-too-late": ("nccl.conf", "NCCL_CONF_FILE=/a", None),
    "env-conf-too-long": ("nccl.conf", "NCCL_HOSTID=" + "a" * 1024, None),
    "env-contradiction": ("a.sh", "export NCCL_MIN_CTAS=2 NCCL_MAX_CTAS=1", None),
    "env-cross-nic": ("a.sh", "export NCCL_CROSS_NIC=0", None),
    "env-debug-file": ("a.sh", "export NCCL_DEBUG_FILE=/a", None),
    "env-debug-loud": ("a.sh", "export NCCL_DEBUG=INFO", None),
    "env-debug-unknown": ("a.sh", "export NCCL_DEBUG=LOUD", None),
    "env-default": ("a.sh", "export NCCL_P2P_DISABLE=0", None),
    "env-deprecated": ("a.sh", "export NCCL_CHECK_POINTERS=1", None),
    "env-device-ethernet": ("a.sh", "export NCCL_IB_HCA=mlx5", NDV5),
    "env-device-none": ("a.sh", "export NCCL_IB_HCA=mlx5_0", NDV5),
    "env-device-prefix": ("a.sh", "export NCCL_IB_HCA=mlx5_1", None),
    "env-device-rdma": ("a.sh", "export FI_EFA_USE_DEVICE_RDMA=1", P5),
    "env-device-some": ("a.sh", "export NCCL_IB_HCA=mlx5_ib0", NDV5),
    "env-devices": ("a.sh", "export NCCL_IB_HCA='mlx5_*'", None),
    "env-duplicate": ("a.sh", "export NCCL_DEBUG=WARN\nexport NCCL_DEBUG=VERSION", None),
    "env-empty": ("a.sh", "export NCCL_DEBUG=", None),
    "env-forces-sockets": ("a.sh", "export NCCL_NET=Socket", P5),
    "env-fork-safe": ("a.sh", "export RDMAV_FORK_SAFE=1", None),
    "env-gdr-across-sockets": ("a.sh", "export NCCL_NET_GDR_LEVEL=SYS", None),
    "env-gdr-off": ("a.sh", "export NCCL_NET_GDR_LEVEL=LOC", P5),
    "env-gid-index-fixed": ("a.sh", "export NCCL_IB_GID_INDEX=3", None),
    "env-graph-file": ("a.sh", "export NCCL_GRAPH_FILE=/a", None),
    "env-huge-page": ("a.sh", "export FI_EFA_USE_HUGE_PAGE=1", None),
    "env-ignored-on-efa": ("a.sh", "export NCCL_IB_TIMEOUT=22", P5),
    "env-ignored-on-infiniband": ("a.sh", "export NCCL_IB_TC=1", NDV5),
    "env-infiniband-off": ("a.sh", "export NCCL_IB_DISABLE=1", NDV5),
    "env-interface-exclusions": ("a.sh", "export NCCL_SOCKET_IFNAME=^docker", P5),
    "env-interface-prefix": ("a.sh", "export NCCL_SOCKET_IFNAME=eth0", NDV5),
    "env-interfaces": ("a.sh", "export NCCL_SOCKET_IFNAME='eth*'", None),
    "env-interfaces-miss": ("a.sh", "export NCCL_SOCKET_IFNAME=ib0", NDV5),
    "env-level": ("a.sh", "export NCCL_P2P_LEVEL=phb", None),
    "env-level-number": ("a.sh", "export NCCL_P2P_LEVEL=3", None),
    "env-network-name": ("a.sh", "export NCCL_NET=IB", P5),
    "env-no-effect": ("a.sh", "export FI_EFA_ENABLE_SHM_TRANSFER=1", None),
    "env-no-nvls": ("a.sh", "export NCCL_ALGO=RING,TREE", P5),
    "env-not-exported": ("a.sh", "NCCL_DEBUG=WARN", None),
    "env-not-integer": ("a.sh", "export NCCL_BUFFSIZE=8M", None),
    "env-nvls-forced": ("a.sh", "export NCCL_NVLS_ENABLE=1", None),
    "env-nvls-off": ("a.sh", "export NCCL_NVLS_ENABLE=0", P5),
    "env-out-of-range": ("a.sh", "export NCCL_IB_RETRY_CNT=8", None),
    "env-p2p-off": ("a.sh", "export NCCL_P2P_DISABLE=1", None),
    "env-path-tilde": ("a.env", "NCCL_TOPO_FILE=~/a", None),
    "env-plugin-name": ("a.sh", "export NCCL_NET_PLUGIN=ofi", P5),
    "env-protocol-list": ("a.sh", "export NCCL_PROTO=Simple", None),
    "env-protocol-ll128": ("a.sh", "export NCCL_PROTO=LL128", None),
    "env-pxn-off": ("a.sh", "export NCCL_PXN_DISABLE=1", NDV5),
    "env-relaxed-ordering-off": ("a.sh", "export NCCL_IB_PCI_RELAXED_ORDERING=0", NDV5),
    "env-removed": ("a.sh", "export NCCL_IB_CUDA_SUPPORT=1", None),
    "env-renamed": ("a.sh", "export NCCL_BLOCKING_WAIT=1", None),
    "env-secret": ("a.sh", "export NCCL_PSK=0123456789", None),
    "env-service-level": ("a.sh", "export NCCL_IB_SL=5", NDV5),
    "env-set-by-platform": ("a.sh", "export NCCL_BUFFSIZE=8388608", P5),
    "env-shell-line-end": ("a.sh", "export NCCL_DEBUG=WARN\r", None),
    "env-shell-syntax": ("a.sh", "export NCCL_DEBUG = WARN", None),
    "env-shm-off": ("a.sh", "export NCCL_SHM_DISABLE=1", None),
    "env-socket-flows": ("a.sh", "export NCCL_SOCKET_NTHREADS=4", None),
    "env-subsystem": ("a.sh", "export NCCL_DEBUG_SUBSYS=NETS", None),
    "env-too-new": ("a.sh", "export NCCL_PSK=x", None),
    "env-topology-empty": ("a.sh", "export NCCL_TOPO_FILE=", NDV5),
    "env-topology-of-another-size": ("a.sh", "export NCCL_TOPO_FILE=/opt/microsoft/ndv4/topo.xml", NDV5),
    "env-topology-replaces-plugin": ("a.sh", "export NCCL_TOPO_FILE=/a", P5),
    "env-unknown-name": ("a.sh", "export NCCL_DEBGU=WARN", None),
    "env-unknown-value": ("a.sh", "export NCCL_SOCKET_FAMILY=IPv4", None),
    "env-unreadable": ("a.yaml", "a: [", None),
    "env-wrong-platform": ("a.sh", "export FI_PROVIDER=efa", NDV5),
}
# Codes about several files, which test_contradictions.py finds.
BETWEEN_FILES = {"env-different-files", "env-topology-devices", "env-topology-unused"}


def test_every_code_has_a_sample_and_every_sample_a_code() -> None:
    assert set(SAMPLES) | BETWEEN_FILES == set(codes())


@pytest.mark.parametrize("code", SAMPLES)
def test_each_code_can_be_found(code: str) -> None:
    path, text, size = SAMPLES[code]
    wanted = target(size) if code != "env-algorithm-too-new" else target(P5, nccl_version="2.22.3")
    found = lint_texts({path: f"{text}\n"}, situation=wanted.situation, size=wanted.size)
    assert code in [entry.code for entry in found]


@pytest.mark.parametrize("role", Role)
def test_a_clean_file_is_clean_for_every_role_but_the_one_that_needs_more(role: Role) -> None:
    wanted = target(P5, role=role)
    found = lint_texts({"a.sh": "export NCCL_DEBUG=WARN\n"}, situation=wanted.situation, size=wanted.size)
    assert [entry.code for entry in found] == (["env-socket-flows"] if role is Role.STAGE_BOUNDARY else [])


def test_the_page_lists_every_code_of_both_lints() -> None:
    text = page()
    for code in [*codes(), *RULES]:
        assert f"`{code}`" in text
