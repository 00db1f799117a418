"""What single variables cost on a platform: each rule of rules.toml, broken and kept."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gpu_fabric.nccl.lint import codes as all_codes
from gpu_fabric.nccl.lint import lint
from gpu_fabric.nccl.lint.rules import rules
from tests.nccl.lint.helpers import NDV4, NDV5, P4D, P5, P5EN, codes, found, mended, variable


@dataclass(frozen=True)
class Case:
    name: str
    value: str
    size: str | None
    level: str | None
    """None: the rule must be silent."""
    says: str = ""


CASES: dict[str, list[Case]] = {
    "env-no-nvls": [
        Case("NCCL_ALGO", "RING,TREE", P5, "error", "It overrides the plugin's tuner"),
        Case("NCCL_ALGO", "RING,TREE", NDV5, "error", "takes 5.43 ms without NVLSTree instead of 4.43 ms"),
        Case("NCCL_ALGO", "Ring", None, "warning", "Hopper and later GPUs are fastest with NVLS"),
        Case("NCCL_ALGO", "^nvls", P5, "warning", "takes NVLS from AllReduce, AllGather and ReduceScatter."),
        Case("NCCL_ALGO", "allreduce:ring", P5, "error"),
        Case("NCCL_ALGO", "^Tree", P5, None),
        Case("NCCL_ALGO", "broadcast:ring", P5, None),
        Case("NCCL_ALGO", "ring,tree,nvls", P5, "error"),
        Case("NCCL_ALGO", "RING,TREE", P4D, None),
    ],
    "env-algorithm-none": [
        Case(
            "NCCL_ALGO", "Tree", P5, "error", "leaves AllGather, ReduceScatter, Broadcast and Reduce without"
        ),
        Case("NCCL_ALGO", "RING,TREE", P5, None),
    ],
    "env-algorithm-list": [
        Case("NCCL_ALGO", "RING,TREE", P4D, "warning", "Left alone NCCL chooses by message size"),
        Case("NCCL_ALGO", "RING,TREE", NDV4, "warning"),
        Case("NCCL_ALGO", "RING,TREE", P5, None),
    ],
    "env-protocol-ll128": [
        Case("NCCL_PROTO", "LL,LL128,Simple", P5, "error", "data can be corrupted"),
        Case("NCCL_PROTO", "^LL128", P5, None),
        Case("NCCL_PROTO", "Simple", None, None),
    ],
    "env-protocol-list": [
        Case("NCCL_PROTO", "Simple", None, "warning", "takes a choice away that NCCL makes by message size"),
        Case("NCCL_PROTO", "LL128", None, None),
    ],
    "env-channels": [
        Case("NCCL_MIN_NCHANNELS", "32", P5, "error", "makes every message smaller and starves EFA"),
        Case("NCCL_MAX_CTAS", "16", P5, "error"),
        Case("NCCL_MAX_NCHANNELS", "32", NDV5, "warning", "caps the channels"),
        Case("NCCL_MIN_CTAS", "32", NDV5, None),
        Case("NCCL_MIN_CTAS", "32", None, None),
    ],
    "env-buffer-size": [
        Case("NCCL_BUFFSIZE", "8388608", NDV5, "warning", "the default of 4 MiB is right"),
        Case("NCCL_BUFFSIZE", "8388608", P5, None),
    ],
    "env-nvls-off": [
        Case("NCCL_NVLS_ENABLE", "0", P5, "error", "takes NVLink SHARP away"),
        Case("NCCL_NVLS_ENABLE", "0", P4D, None),
        Case("NCCL_NVLS_ENABLE", "2", P5, None),
    ],
    "env-nvls-forced": [
        Case("NCCL_NVLS_ENABLE", "1", None, "note", "makes initialisation fail"),
        Case("NCCL_NVLS_ENABLE", "0", None, None),
    ],
    "env-collnet": [
        Case("NCCL_COLLNET_ENABLE", "1", P5, "warning", "which this fabric does not have"),
        Case("NCCL_COLLNET_ENABLE", "1", NDV5, "note", "works only with the SHARP plugin"),
        Case("NCCL_COLLNET_ENABLE", "0", P5, None),
    ],
    "env-topology-replaces-plugin": [
        Case(
            "NCCL_TOPO_FILE",
            "/etc/topo.xml",
            P5,
            "error",
            "switches off the topology that the EFA plugin generates",
        ),
        Case("NCCL_TOPO_FILE", "/etc/topo.xml", P5EN, "error"),
        Case("NCCL_TOPO_FILE", "/etc/topo.xml", "p6-b300.48xlarge", "error"),
        Case("NCCL_TOPO_FILE", "/proc/self/fd/9", P5, None),
        Case("NCCL_TOPO_FILE", "/etc/topo.xml", P4D, None),
        Case("NCCL_TOPO_FILE", "/etc/topo.xml", NDV5, None),
    ],
    "env-topology-empty": [
        Case("NCCL_TOPO_FILE", "", NDV5, "warning", "wins over the file that the image names"),
        Case("NCCL_TOPO_FILE", "", P4D, None),
    ],
    "env-graph-file": [Case("NCCL_GRAPH_FILE", "/a.xml", None, "error", "fits one job shape")],
    "env-gdr-off": [
        Case("NCCL_NET_GDR_LEVEL", "LOC", P5, "error", "every byte goes through host memory"),
        Case("NCCL_NET_GDR_LEVEL", "0", NDV5, "error"),
        Case("NCCL_NET_GDR_LEVEL", "LOC", "p5.4xlarge", None),
        Case("NCCL_NET_GDR_LEVEL", "PIX", P5, None),
    ],
    "env-gdr-across-sockets": [
        Case("NCCL_NET_GDR_LEVEL", "SYS", P5, "warning", "across CPU sockets"),
        Case("NCCL_NET_GDR_LEVEL", "5", NDV5, "warning"),
        Case("NCCL_NET_GDR_LEVEL", "4", None, "warning"),
        Case("NCCL_NET_GDR_LEVEL", "3", None, None),
        Case("NCCL_NET_GDR_LEVEL", "PHB", None, None),
    ],
    "env-cross-nic": [
        Case("NCCL_CROSS_NIC", "0", None, "warning", "45 GB/s a ring instead of 48"),
        Case("NCCL_CROSS_NIC", "1", None, "note", "gains nothing over the default 2"),
        Case("NCCL_CROSS_NIC", "2", None, None),
    ],
    "env-p2p-off": [
        Case("NCCL_P2P_DISABLE", "1", None, "error", "takes NVLink"),
        Case("NCCL_P2P_DISABLE", "0", None, None),
    ],
    "env-shm-off": [
        Case("NCCL_SHM_DISABLE", "1", None, "warning", "through the network"),
        Case("NCCL_SHM_DISABLE", "0", None, None),
    ],
    "env-pxn-off": [
        Case("NCCL_PXN_DISABLE", "1", NDV5, "note", "Microsoft's ND v5 values have it"),
        Case("NCCL_PXN_DISABLE", "1", P5, None),
    ],
    "env-ignored-on-infiniband": [
        Case("NCCL_IB_GID_INDEX", "3", NDV5, "error", "is read on RoCE alone"),
        Case("NCCL_IB_TC", "160", NDV5, "error", "NCCL forces the traffic class to -1"),
        Case("NCCL_IB_TC", "160", P5, None),
    ],
    "env-service-level": [
        Case("NCCL_IB_SL", "5", NDV5, "error", "goes into every queue pair"),
        Case("NCCL_IB_SL", "0", NDV5, None),
        Case("NCCL_IB_SL", "5", None, None),
    ],
    "env-gid-index-fixed": [
        Case("NCCL_IB_GID_INDEX", "3", NDV5, None),
        Case("NCCL_IB_GID_INDEX", "3", P5, None),
    ],
    "env-infiniband-off": [
        Case("NCCL_IB_DISABLE", "1", NDV5, "error", "NCCL goes on over TCP"),
        Case("NCCL_IB_DISABLE", "0", NDV5, None),
    ],
    "env-relaxed-ordering-off": [
        Case(
            "NCCL_IB_PCI_RELAXED_ORDERING", "0", NDV5, "error", "greatly helps InfiniBand in virtual machines"
        ),
        Case("NCCL_IB_PCI_RELAXED_ORDERING", "1", NDV5, None),
    ],
    "env-ignored-on-efa": [
        Case("NCCL_IB_TIMEOUT", "22", P5, "warning", "EFA traffic goes through the plugin"),
        Case("NCCL_IB_CUDA_SUPPORT", "1", P5, None),
        Case("NCCL_IB_TIMEOUT", "22", NDV5, None),
    ],
    "env-forces-sockets": [
        Case("NCCL_NET", "socket", P5, "error", "overrides the field netName of each"),
        Case("NCCL_NET", "IB", NDV5, None),
        Case("NCCL_NET", "Socket", "Standard_ND96is_H100_v5", None),
        Case("NCCL_NET_PLUGIN", "none", P5, "error", "keeps the EFA plugin from loading"),
        Case("FI_PROVIDER", "tcp", P5, "error", "keeps libfabric from the efa provider"),
        Case("FI_PROVIDER", "efa;ofi_rxr", P5, None),
    ],
    "env-plugin-name": [
        Case("NCCL_NET_PLUGIN", "ofi", P5, "note", "does not forbid sockets"),
        Case("NCCL_NET_PLUGIN", "none", P5, None),
    ],
    "env-wrong-platform": [
        Case("FI_PROVIDER", "efa", NDV5, "warning", "which NCCL does not use on Azure"),
        Case("NCCL_NET_PLUGIN", "ofi", NDV5, "warning", "is the EFA plugin of AWS"),
        Case("FI_PROVIDER", "efa", P5, None),
    ],
    "env-aborts": [
        Case("FI_EFA_MTU_SIZE", "8000", None, "error", "makes the process abort"),
        Case("FI_EFA_TX_IOV_LIMIT", "2", P5, "error"),
        Case("FI_EFA_RX_IOV_LIMIT", "2", P5, "error"),
    ],
    "env-fork-safe": [Case("RDMAV_FORK_SAFE", "1", P5, "error")],
    "env-huge-page": [
        Case("FI_EFA_USE_HUGE_PAGE", "1", P5, "error", "aborts the process on old kernels"),
        Case("FI_EFA_USE_HUGE_PAGE", "0", P5, None),
    ],
    "env-device-rdma": [
        Case("FI_EFA_USE_DEVICE_RDMA", "1", P5, "warning", "aborts the process where it has not"),
        Case("FI_EFA_USE_DEVICE_RDMA", "0", P5, None),
    ],
    "env-no-effect": [
        Case("FI_PROVIDER", "efa", P5, "note", "since 1.6"),
        Case("FI_EFA_ENABLE_SHM_TRANSFER", "1", P5, "note", "no effect under the NCCL plugin"),
        Case("FI_EFA_SET_CUDA_SYNC_MEMOPS", "0", P5, "note", "deprecated and ignored"),
        Case("FI_EFA_FORK_SAFE", "1", NDV5, None),
    ],
    "env-secret": [
        Case("NCCL_PSK", "0123456789abcdef0123456789abcdef", None, "error", "stands in a file in clear"),
        Case("NCCL_PSK", "", None, None),
    ],
    "env-debug-loud": [
        Case("NCCL_DEBUG", "INFO", None, "warning", "hundreds of lines a rank"),
        Case("NCCL_DEBUG", "trace", None, "warning"),
        Case("NCCL_DEBUG", "WARN", None, None),
    ],
    "env-interface-prefix": [
        Case("NCCL_SOCKET_IFNAME", "eth0", NDV5, "note", "is a prefix"),
        Case("NCCL_SOCKET_IFNAME", "=eth0", NDV5, None),
    ],
    "env-network-name": [
        Case("NCCL_NET", "IB", P5, "error", "which does not use EFA devices"),
        Case("NCCL_NET", "ib", P4D, "error"),
        Case("NCCL_NET", "efa", P5, "error", "the name of no network on this node"),
        Case("NCCL_NET", "AWS Libfabric", P5, "note", "is the plugin's old name"),
        Case("NCCL_NET", "OFI", P5, "note"),
        Case("NCCL_NET", "Libfabric", P5, None),
        Case("NCCL_NET", "Libfabric", NDV5, "error", "the name of the EFA plugin"),
        Case("NCCL_NET", "AWS Libfabric", NDV5, "error"),
        Case("NCCL_NET", "IB", NDV5, None),
        Case("NCCL_NET", "IBext_v8", NDV5, None),
        Case("NCCL_NET", "IB", None, None),
        Case("NCCL_NET", "Socket", P5, None),
    ],
    "env-topology-of-another-size": [
        Case(
            "NCCL_TOPO_FILE", "/opt/microsoft/ndv4/topo.xml", NDV5, "error", "is the file of another series"
        ),
        Case("NCCL_TOPO_FILE", "/opt/microsoft/ndv4-topo.xml", NDV5, "error"),
        Case("NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml", NDV4, "error"),
        Case("NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml", P4D, "error"),
        Case("NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml", NDV5, None),
        Case("NCCL_TOPO_FILE", "/opt/microsoft/ndv5-topo.xml", NDV5, None),
        Case("NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml", None, None),
        Case("NCCL_TOPO_FILE", "/etc/topo.xml", NDV5, None),
    ],
    "env-set-by-platform": [
        Case("NCCL_BUFFSIZE", "8388608", P5, "note", "repeats what aws-ofi-nccl sets"),
        Case("NCCL_BUFFSIZE", "1048576", P5, "warning", "replaces 8388608, which aws-ofi-nccl sets"),
        Case("NCCL_NETDEVS_POLICY", "ALL", P5EN, "warning", "replaces max:1, which aws-ofi-nccl sets"),
        Case("NCCL_NETDEVS_POLICY", "ALL", P5, None),
        Case("NCCL_IGNORE_CPU_AFFINITY", "1", NDV5, "note", "repeats what boot service sku-customizations"),
        Case("NCCL_BUFFSIZE", "8388608", NDV5, None),
    ],
}


@pytest.mark.parametrize(
    ("code", "case"),
    [(code, case) for code, cases in CASES.items() for case in cases],
    ids=lambda value: str(value)[:60],
)
def test_each_rule_speaks_where_it_must_and_is_silent_where_it_must(code: str, case: Case) -> None:
    hits = [entry for entry in variable(case.name, case.value, case.size) if entry.code == code]
    if case.level is None:
        assert hits == []
        return
    (hit,) = hits
    assert hit.level.value == case.level
    assert case.says in hit.what
    assert case.name in hit.what
    assert hit.remedy
    assert hit.source


def test_every_rule_has_a_case_that_breaks_it() -> None:
    broken = {code for code, cases in CASES.items() if any(case.level for case in cases)}
    elsewhere = {
        "env-gid-index-fixed",  # below
        "env-interface-exclusions",  # below
    }
    assert {rule["code"] for rule in rules()} <= broken | elsewhere


def test_a_fixed_gid_index_is_only_a_matter_where_the_platform_is_not_known() -> None:
    (finding,) = variable("NCCL_IB_GID_INDEX", "3", None)
    assert finding.code == "env-gid-index-fixed"


def test_pod_identity_is_a_matter_on_kubernetes_alone() -> None:
    pod = "env:\n- name: NCCL_SOCKET_IFNAME\n  value: {}\n"
    assert codes(pod.format("^docker,lo,veth"), P5, "pod.yaml") == ["env-interface-exclusions"]
    assert codes(pod.format("^docker,lo,veth,pod-id-link0"), P5, "pod.yaml") == []
    assert codes("export NCCL_SOCKET_IFNAME=^docker,lo,veth\n", P5) == []


def test_a_key_is_never_printed_and_a_key_that_is_fetched_is_no_finding() -> None:
    key = "0123456789abcdef0123456789abcdef"
    files = {"nccl.conf": f"NCCL_PSK={key}\n", "a.sh": "export NCCL_PSK=another-key\n"}
    assert not any(key in entry.what for entry in lint(files))
    assert "env-secret" not in codes("export NCCL_PSK=$(cat /run/secrets/psk)\n", nccl_version="2.32.3")


def test_what_the_image_sets_is_still_needed_in_a_container() -> None:
    (finding,) = variable("NCCL_IGNORE_CPU_AFFINITY", "1", NDV5)
    assert finding.remedy == "Delete it on the host; a container without the image's file needs it."
    assert mended("NCCL_IGNORE_CPU_AFFINITY=1\n", NDV5, "nccl.conf") == "NCCL_IGNORE_CPU_AFFINITY=1\n"


def test_the_plugins_version_decides_what_it_sets() -> None:
    def sets(plugin: str) -> bool:
        found = variable("NCCL_NETDEVS_POLICY", "ALL", P5EN, plugin_version=plugin)
        return "env-set-by-platform" in [entry.code for entry in found]

    assert [sets("1.16.3"), sets("1.17.0")] == [False, True]


def test_before_2_18_5_the_plugin_itself_switches_nvls_off() -> None:
    (finding,) = variable("NCCL_NVLS_ENABLE", "0", P5, nccl_version="2.18.3")
    assert (finding.code, finding.level.value) == ("env-set-by-platform", "note")


def test_every_code_that_a_rule_has_is_described() -> None:
    assert {rule["code"] for rule in rules()} <= set(all_codes())


def test_a_value_that_the_script_computes_breaks_only_rules_on_any_value() -> None:
    assert found("export NCCL_IB_SL=$SL NCCL_GRAPH_FILE=$FILE NCCL_ALGO=$ALGO\n", NDV5) == [
        (1, "env-graph-file", "error")
    ]


def test_a_default_that_the_job_may_override_is_judged_as_a_value() -> None:
    assert found("export NCCL_ALGO=${NCCL_ALGO:-Ring}\n", P5) == [(1, "env-no-nvls", "error")]


def test_where_one_finding_says_delete_the_others_do_not_say_how_to_write_it() -> None:
    assert codes("export NCCL_NET_GDR_LEVEL=5\n", NDV5) == ["env-gdr-across-sockets"]
    assert codes("export NCCL_NET_GDR_LEVEL=3\n", NDV5) == ["env-level-number"]


def test_up_to_1_11_0_the_plugin_has_its_old_name_alone() -> None:
    def levels(value: str, plugin: str) -> list[str]:
        found = variable("NCCL_NET", value, P5, plugin_version=plugin)
        return [entry.level.value for entry in found if entry.code == "env-network-name"]

    assert [levels(value, "1.11.0") for value in ("AWS Libfabric", "Libfabric")] == [[], ["error"]]
    assert [levels(value, "1.12.0") for value in ("AWS Libfabric", "Libfabric")] == [["note"], []]


def test_the_file_of_another_series_is_replaced_by_that_of_this_one() -> None:
    text = "export NCCL_TOPO_FILE=/opt/microsoft/ndv4/topo.xml\n"
    assert mended(text, NDV5) == "export NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml\n"
