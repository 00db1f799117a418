"""Values: per rule one that passes, one that fails with the exact message, one at the border."""

from __future__ import annotations

import pytest

from gpu_fabric.nccl.lint.grammar import read_integer
from tests.nccl.lint.helpers import NDV4, NDV5, P4D, P5, findings, variable


def about(name: str, value: str, size: str | None = None, **situation: str) -> list[tuple[str, str]]:
    """(code, what) of the findings about the value's grammar."""
    codes = [
        "env-not-integer",
        "env-out-of-range",
        "env-default",
        "env-empty",
        "env-level",
        "env-level-number",
        "env-unknown-value",
        "env-debug-unknown",
        "env-debug-file",
        "env-path-tilde",
        "env-subsystem",
        "env-algorithm-grammar",
        "env-algorithm-too-new",
        "env-devices",
        "env-device-prefix",
        "env-device-ethernet",
        "env-device-none",
        "env-device-some",
        "env-interfaces",
        "env-interfaces-miss",
        "env-interface-prefix",
        "env-interface-exclusions",
    ]
    return [
        (entry.code, entry.what) for entry in variable(name, value, size, **situation) if entry.code in codes
    ]


@pytest.mark.parametrize(
    ("text", "number", "rest"),
    [
        ("16", 16, ""),
        ("0x10", 16, ""),
        ("010", 8, ""),
        ("-1", -1, ""),
        (" 7", 7, ""),
        ("1e5", 1, "e5"),
        ("8M", 8, "M"),
        ("true", 0, "true"),
        ("", 0, ""),
        ("-", 0, "-"),
        ("0x", 0, "x"),
        ("09", 0, "9"),
    ],
)
def test_integers_are_read_as_strtoll_reads_them(text: str, number: int, rest: str) -> None:
    assert read_integer(text) == (number, rest)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("true", "NCCL_IB_DISABLE=true: NCCL reads 0, because it stops at 'true' and reports nothing."),
        (
            "1 # off",
            "NCCL_IB_DISABLE=1 # off: NCCL reads 1, because it stops at '# off' and reports nothing.",
        ),
    ],
)
def test_text_where_a_number_belongs_says_what_nccl_reads(value: str, what: str) -> None:
    assert about("NCCL_IB_DISABLE", value) == [("env-not-integer", what)]


def test_a_size_with_a_unit_is_read_without_it() -> None:
    assert about("NCCL_BUFFSIZE", "8M") == [
        ("env-not-integer", "NCCL_BUFFSIZE=8M: NCCL reads 8, because it stops at 'M' and reports nothing.")
    ]


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("NCCL_IB_TIMEOUT", "31", None),
        (
            "NCCL_IB_TIMEOUT",
            "32",
            "NCCL_IB_TIMEOUT=32 is outside what NCCL documents from 1 to 31 (0 and 32 or more wait for ever).",
        ),
        ("NCCL_IB_RETRY_CNT", "8", "NCCL_IB_RETRY_CNT=8 is outside what NCCL documents from 0 to 7."),
        ("NCCL_SOCKET_NTHREADS", "16", None),
        (
            "NCCL_SOCKET_NTHREADS",
            "17",
            "NCCL_SOCKET_NTHREADS=17 is outside what NCCL documents from 1 to 16.",
        ),
        ("NCCL_NTHREADS", "256", None),
        ("NCCL_NTHREADS", "300", "NCCL_NTHREADS=300 is outside what NCCL documents among 64, 128, 256, 512."),
        ("NCCL_MIN_CTAS", "64", None),
        ("NCCL_MIN_CTAS", "0x40", None),
        ("NCCL_MIN_CTAS", "65", "NCCL_MIN_CTAS=65 is outside what NCCL documents from 1 to 64."),
        ("NCCL_IB_PKEY", "-1", "NCCL_IB_PKEY=-1 is outside what NCCL documents of 0 or more."),
        (
            "NCCL_BUFFSIZE",
            str(2**63),
            f"NCCL_BUFFSIZE={2**63} does not fit in 64 bits; NCCL falls back to the default.",
        ),
    ],
)
def test_a_number_outside_the_documented_range_is_an_error(name: str, value: str, what: str | None) -> None:
    assert about(name, value) == ([] if what is None else [("env-out-of-range", what)])


def test_the_most_ctas_were_32_before_2_25() -> None:
    assert about("NCCL_MIN_CTAS", "33", P5, nccl_version="2.25.0") == []
    assert about("NCCL_MIN_CTAS", "32", P5, nccl_version="2.24.3") == []
    assert about("NCCL_MIN_CTAS", "33", P5, nccl_version="2.24.3") == [
        ("env-out-of-range", "NCCL_MIN_CTAS=33 is outside what NCCL documents from 1 to 32.")
    ]


def test_a_default_is_a_note_in_the_releases_that_have_it() -> None:
    assert about("NCCL_IB_TIMEOUT", "20") == [
        ("env-default", "NCCL_IB_TIMEOUT=20 is the default and does nothing.")
    ]
    assert about("NCCL_IB_TIMEOUT", "20", NDV5, nccl_version="2.22.3") == []


def test_an_empty_value_means_the_default() -> None:
    assert about("NCCL_DEBUG", "") == [("env-empty", "NCCL_DEBUG is empty, which means the default.")]


@pytest.mark.parametrize("value", ["SYS", "PIX", "PHB", "P2C"])
def test_path_levels_in_capitals_are_read(value: str) -> None:
    assert about("NCCL_P2P_LEVEL", value) == []


def test_a_path_level_in_small_letters_is_ignored_by_nccl() -> None:
    assert about("NCCL_P2P_LEVEL", "phb") == [
        (
            "env-level",
            "NCCL_P2P_LEVEL=phb is ignored: levels are LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, in capitals.",
        )
    ]


@pytest.mark.parametrize(
    ("number", "word"), [("0", "LOC"), ("1", "PIX"), ("3", "PHB"), ("4", "SYS"), ("5", "SYS")]
)
def test_a_path_level_as_a_number_is_told_as_a_word(number: str, word: str) -> None:
    assert about("NCCL_P2P_LEVEL", number) == [
        (
            "env-level-number",
            f"NCCL_P2P_LEVEL={number} means {word}; what a number means changes between releases.",
        )
    ]


def test_port_is_a_level_for_merging_alone() -> None:
    assert about("NCCL_NET_MERGE_LEVEL", "PORT") == []
    assert [code for code, _ in about("NCCL_P2P_LEVEL", "PORT")] == ["env-level"]


@pytest.mark.parametrize(
    ("value", "version", "problem"),
    [
        ("Ring", "2.30.7", None),
        ("^tree", "2.30.7", None),
        ("ring,collnetdirect;allreduce:tree;broadcast:^pat", "2.30.7", None),
        (
            "Ring;Tree",
            "2.30.7",
            "'Tree' has no function before it; only the first list may stand without one",
        ),
        (
            "Rings",
            "2.30.7",
            "'rings' is none of ring, tree, collnetdirect, collnetchain, nvls, nvlstree, pat",
        ),
        ("everything:ring", "2.30.7", "'everything' is no collective"),
        (
            "Ring, Tree",
            "2.30.7",
            "' tree' is none of ring, tree, collnetdirect, collnetchain, nvls, nvlstree, pat",
        ),
    ],
)
def test_a_list_of_algorithms_that_nccl_refuses_says_why(
    value: str, version: str, problem: str | None
) -> None:
    expected = (
        []
        if problem is None
        else [
            (
                "env-algorithm-grammar",
                f"NCCL_ALGO={value}: {problem}; initialisation fails with ncclInvalidUsage.",
            )
        ]
    )
    assert about("NCCL_ALGO", value, NDV5, nccl_version=version) == expected


def test_before_2_24_there_are_no_functions_and_no_failure() -> None:
    ((code, what),) = about("NCCL_ALGO", "allreduce:tree", NDV5, nccl_version="2.23.4")
    assert code == "env-algorithm-grammar"
    assert what.endswith("functions are known since 2.24; NCCL ignores it.")


def test_an_algorithm_of_a_later_release_is_named() -> None:
    assert about("NCCL_ALGO", "ring,pat", NDV5, nccl_version="2.23.0") == []
    assert about("NCCL_ALGO", "ring,pat", NDV5, nccl_version="2.22.3") == [
        ("env-algorithm-too-new", "NCCL_ALGO=ring,pat: pat is known since 2.23, this NCCL is 2.22.3.")
    ]


def test_an_unknown_level_of_logging_logs_nothing() -> None:
    assert about("NCCL_DEBUG", "warn") == []
    assert about("NCCL_DEBUG", "WARNING") == [
        (
            "env-debug-unknown",
            "NCCL_DEBUG=WARNING is no level of this NCCL: it logs nothing, warnings included.",
        )
    ]
    assert [code for code, _ in about("NCCL_DEBUG", "ATTN", P5, nccl_version="2.31.2")] == [
        "env-debug-unknown"
    ]
    assert about("NCCL_DEBUG", "ATTN", P5, nccl_version="2.32.3") == []


def test_other_choices_get_the_nearest_one() -> None:
    (finding,) = variable("NCCL_SOCKET_FAMILY", "AF_INET4")
    assert (finding.code, finding.remedy) == ("env-unknown-value", "Write AF_INET.")
    assert [code for code, _ in about("NCCL_NETDEVS_POLICY", "MAX")] == ["env-unknown-value"]
    assert about("NCCL_NETDEVS_POLICY", "max:1") == []


def test_paths_are_not_expanded_and_logs_need_the_process_in_their_name() -> None:
    assert about("NCCL_TOPO_FILE", "~/topo.xml") == [
        ("env-path-tilde", "NCCL_TOPO_FILE=~/topo.xml: NCCL does not expand ~, so the file is not found.")
    ]
    assert [code for code, _ in about("NCCL_DEBUG_FILE", "/tmp/nccl.log")] == ["env-debug-file"]
    assert about("NCCL_DEBUG_FILE", "/tmp/nccl.%h.%p") == []
    assert about("NCCL_DEBUG_FILE", "/dev/stderr") == []


def test_an_unknown_subsystem_gets_the_nearest() -> None:
    assert ("env-subsystem", "NCCL_DEBUG_SUBSYS=INIT,NETS: 'NETS' is no subsystem.") in about(
        "NCCL_DEBUG_SUBSYS", "INIT,NETS"
    )


@pytest.mark.parametrize(
    ("value", "code", "says"),
    [
        ("mlx5_ib", None, ""),
        ("=" + ",".join(f"mlx5_ib{index}:1" for index in range(8)), None, ""),
        ("^mlx5_an", None, ""),
        ("=" + ",".join(f"mlx5_ib{index}:1:0:0" for index in range(8)), None, ""),
        (
            "mlx5_ib*",
            "env-devices",
            "there are no wildcards, `*` is a character of the name; no device matches",
        ),
        ("mlx5_ib0,^mlx5_an0", "env-devices", "'^mlx5_an0' matches nothing"),
        ("=mlx5_ib0, mlx5_ib1", "env-devices", "a space is part of the name in ' mlx5_ib1'"),
        ("=mlx5_ib0:a", "env-devices", "'mlx5_ib0:a' is not device[:port[:rail[:plane]]]"),
        ("mlx5_ib1", "env-device-prefix", "mlx5_ib1 is a prefix and also matches"),
        ("mlx5", "env-device-ethernet", "lets mlx5_an0 in, the Ethernet device of accelerated networking"),
        ("^mlx5_ib7", "env-device-ethernet", "lets mlx5_an0 in"),
        ("mlx5_0,mlx5_2", "env-device-none", "matches none of mlx5_ib0 to mlx5_ib7"),
        ("mlx5_ib0", "env-device-some", "keeps 1 of the 8 InfiniBand devices of Standard_ND96isr_H100_v5"),
        ("=mlx5_ib0:1,mlx5_ib1:1", "env-device-some", "keeps 2 of the 8"),
        ("^mlx5_an,mlx5_ib7", "env-device-some", "keeps 7 of the 8"),
    ],
)
def test_devices_on_azure(value: str, code: str | None, says: str) -> None:
    found = about("NCCL_IB_HCA", value, NDV5)
    if code is None:
        assert found == []
    else:
        assert code in [entry for entry, _ in found]
        assert any(says in what for _, what in found)


def test_device_1_is_also_device_10() -> None:
    assert about("NCCL_IB_HCA", "mlx5_1,mlx5_2") == [
        (
            "env-device-prefix",
            "NCCL_IB_HCA=mlx5_1,mlx5_2: mlx5_1 is a prefix and also matches mlx5_10 to mlx5_19.",
        )
    ]
    assert about("NCCL_IB_HCA", "=mlx5_1,mlx5_2") == []
    assert about("NCCL_IB_HCA", "mlx5_0") == [], "no device is called mlx5_00"


@pytest.mark.parametrize("value", ["mlx5", "mlx4", "mlx5,mlx4", "^mlx4"])
def test_the_name_of_a_driver_is_a_prefix_that_is_meant(value: str) -> None:
    assert about("NCCL_IB_HCA", value) == []


def test_rails_are_read_since_2_30_7() -> None:
    value = "=" + ",".join(f"mlx5_ib{index}" for index in range(7)) + ",mlx5_ib7:1:0"
    assert about("NCCL_IB_HCA", value, NDV5, nccl_version="2.30.7") == []
    ((code, what),) = about("NCCL_IB_HCA", value, NDV5, nccl_version="2.30.4")
    assert (code, "rail and plane are read since 2.30.7" in what) == ("env-devices", True)


def test_nccl_uses_32_devices_at_most() -> None:
    names = [f"mlx5_{index}" for index in range(33)]
    assert about("NCCL_IB_HCA", "=" + ",".join(names[:32])) == []
    assert [code for code, _ in about("NCCL_IB_HCA", "=" + ",".join(names))] == ["env-devices"]


@pytest.mark.parametrize("size", [P4D, P5])
@pytest.mark.parametrize(
    "value", ["^docker,lo,veth", "en", "e", "=ens5", "ens,enp", "^docker,lo,veth,pod-id-link0"]
)
def test_interfaces_that_hold_on_every_ec2_size(value: str, size: str) -> None:
    assert about("NCCL_SOCKET_IFNAME", value, size) == []


def test_the_prefix_list_of_the_guide_misses_ens() -> None:
    (finding,) = variable("NCCL_SOCKET_IFNAME", "eth0,enp,bond0", P5)
    assert (finding.code, finding.level.value) == ("env-interfaces-miss", "warning")
    assert finding.what == (
        "NCCL_SOCKET_IFNAME=eth0,enp,bond0: entries are prefixes, and none matches interfaces named ens (p4d); "
        "a list that matches nothing ends the job."
    )
    assert finding.remedy == "Write ^docker,lo,veth, which holds on every EC2 size."


def test_a_list_that_matches_no_ec2_interface_is_an_error() -> None:
    (finding,) = variable("NCCL_SOCKET_IFNAME", "eth0", P4D)
    assert (finding.code, finding.level.value) == ("env-interfaces-miss", "error")


@pytest.mark.parametrize(
    ("value", "size", "code", "says"),
    [
        ("eth*", P5, "env-interfaces", "there are no wildcards"),
        ("en,^docker", P5, "env-interfaces", "'^docker' matches nothing"),
        ("ens, enp", P5, "env-interfaces", "a space is part of the name"),
        ("^docker,lo", P5, "env-interface-exclusions", "leaves veth in"),
        ("^docker0", P5, "env-interface-exclusions", "leaves docker, lo, veth in"),
        ("eth0", NDV5, "env-interface-prefix", "is a prefix"),
        ("eth0,enp,bond0", NDV4, "env-interface-prefix", "names interfaces that Azure's images do not have"),
        ("ib0", NDV5, "env-interfaces-miss", "does not match eth0"),
        ("=eth", NDV5, "env-interfaces-miss", "does not match eth0"),
        (
            "^docker,lo,veth,eth",
            NDV5,
            "env-interfaces-miss",
            "excludes eth0, the interface on Azure's images",
        ),
        ("^eth0,docker", NDV5, "env-interfaces-miss", "excludes eth0"),
        ("^=eth0", NDV5, "env-interfaces-miss", "excludes eth0"),
        ("^docker,lo,veth,en", P5, "env-interfaces-miss", "excludes every interface of the EC2 sizes"),
        ("ens", P5, "env-interfaces-miss", "none matches interfaces named enp (p5)"),
        ("enp71s0", P4D, "env-interfaces-miss", "none matches interfaces named ens (p4d)"),
        ("enp,eth0", P5, "env-interfaces-miss", "none matches interfaces named ens (p4d)"),
    ],
)
def test_interfaces_that_do_not_hold(value: str, size: str, code: str, says: str) -> None:
    found = about("NCCL_SOCKET_IFNAME", value, size)
    assert code in [entry for entry, _ in found]
    assert any(says in what for _, what in found)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("enp71s0", P5),
        ("enp", P5),
        ("enp71s0,enp72s0", "p5en.48xlarge"),
        ("ens", P4D),
        ("ens32", "p4de.24xlarge"),
        ("enp71s0", "p6-b200.48xlarge"),
        ("^docker,lo,veth,ens", P5),
    ],
)
def test_an_interface_of_the_size_at_hand_is_the_users_knowledge(value: str, size: str) -> None:
    assert about("NCCL_SOCKET_IFNAME", value, size) == []


@pytest.mark.parametrize("value", ["=eth0", "^docker,lo"])
def test_interfaces_that_hold_on_azure(value: str) -> None:
    assert about("NCCL_SOCKET_IFNAME", value, NDV5) == []


POD = "spec:\n{network}  containers:\n  - env:\n    - name: NCCL_SOCKET_IFNAME\n      value: {value}\n"
HOST = "  hostNetwork: true\n"


@pytest.mark.parametrize(
    ("network", "value", "size", "expected"),
    [
        ("", "eth0", P5, []),
        ("", "=eth0", P5, []),
        ("", "eth0", NDV5, ["env-interface-prefix"]),
        ("", "^lo", P4D, ["env-interface-exclusions"]),
        ("", "^lo", NDV5, []),
        ("", "en", P5, ["env-interfaces-miss"]),
        ("", "^eth", P5, ["env-interface-exclusions", "env-interface-exclusions", "env-interfaces-miss"]),
        (HOST, "eth0", P5, ["env-interfaces-miss"]),
        (HOST, "en", P5, []),
        (HOST, "^lo", P5, ["env-interface-exclusions", "env-interface-exclusions"]),
        ("  hostNetwork: false\n", "eth0", P5, []),
    ],
)
def test_a_pod_without_the_hosts_network_has_eth0(
    network: str, value: str, size: str, expected: list[str]
) -> None:
    found = findings(POD.format(network=network, value=value), size, path="pod.yaml")
    assert sorted(entry.code for entry in found) == expected


def test_an_interface_that_a_pod_seems_to_lack_may_be_one_of_its_network_plugin() -> None:
    (finding,) = findings(POD.format(network="", value="net1"), P5, path="pod.yaml")
    assert finding.level.value == "warning"
    assert "does not match eth0, the interface of a pod that has its own network" in finding.what
