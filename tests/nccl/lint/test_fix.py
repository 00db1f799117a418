"""--fix: only what is certain, only on lines that hold nothing else, and nothing left to find afterwards."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.lint import fix
from tests.nccl.lint.helpers import NDV5, P5, codes, findings, mended, target

GUIDE = Path(__file__).parents[2] / "data" / "guide" / "entrypoint.sh"


@pytest.mark.parametrize(
    ("path", "text", "size", "expected"),
    [
        ("nccl.conf", 'export NCCL_DEBUG = "WARN"  # loud\r\n', None, "NCCL_DEBUG=WARN\n"),
        (
            "nccl.conf",
            "  # a comment = here\nNCCL_DEBUG=WARN\n",
            None,
            "# a comment = here\nNCCL_DEBUG=WARN\n",
        ),
        ("nccl.conf", "NCCL_IB_CUDA_SUPPORT=1\nNCCL_DEBUG=WARN\n", None, "NCCL_DEBUG=WARN\n"),
        ("nccl.conf", "NCCL_IB_HCA=mlx5_ib*\n", NDV5, "NCCL_IB_HCA=mlx5_ib\n"),
        ("nccl.conf", "NCCL_SOCKET_IFNAME=eth0\n", NDV5, "NCCL_SOCKET_IFNAME==eth0\n"),
        ("a.sh", "export NCCL_DEBUG=INFO\n", None, "export NCCL_DEBUG=WARN\n"),
        ("a.sh", "export NCCL_DEBUG='INFO'  # for now\n", None, "export NCCL_DEBUG='WARN'  # for now\n"),
        ("a.sh", "  NCCL_DEBUG=WARN\n", None, "  export NCCL_DEBUG=WARN\n"),
        ("a.sh", "export NCCL_MIN_NCHANNELS=32\n", NDV5, "export NCCL_MIN_CTAS=32\n"),
        ("a.sh", "mpirun -x NCCL_DEBUG=INFO ./a\n", None, "mpirun -x NCCL_DEBUG=WARN ./a\n"),
        ("a.sh", "export NCCL_P2P_LEVEL=phb\n", None, "export NCCL_P2P_LEVEL=PHB\n"),
        ("a.sh", "export NCCL_SOCKET_IFNAME='ens, enp'\n", P5, "export NCCL_SOCKET_IFNAME='ens,enp'\n"),
        (
            "a.sh",
            "if true; then\n  export NCCL_IB_TC=1\nfi\n",
            NDV5,
            "if true; then\n  : # gpu-fabric lint took out NCCL_IB_TC=1 (env-ignored-on-infiniband)\nfi\n",
        ),
        ("Dockerfile", "ENV NCCL_IB_TC=1\nENV NCCL_DEBUG=INFO\n", NDV5, "ENV NCCL_DEBUG=WARN\n"),
        ("Dockerfile", "ENV NCCL_DEBUG INFO\n", None, "ENV NCCL_DEBUG WARN\n"),
        (
            "pod.yaml",
            "env:\n- name: NCCL_IB_TC\n  value: '1'\n- name: NCCL_DEBUG\n  value: INFO\n",
            NDV5,
            "env:\n- name: NCCL_DEBUG\n  value: WARN\n",
        ),
        ("map.yaml", 'data:\n  NCCL_DEBUG: "INFO"\n', None, 'data:\n  NCCL_DEBUG: "WARN"\n'),
        (
            "setup.sh",
            "cat > /etc/nccl.conf <<EOF\nexport NCCL_DEBUG=WARN\nNCCL_IB_TC=1\nEOF\n",
            NDV5,
            "cat > /etc/nccl.conf <<EOF\nNCCL_DEBUG=WARN\nEOF\n",
        ),
        ("printed", "NCCL_IB_TC=1\nNCCL_DEBUG=INFO\n", NDV5, "NCCL_DEBUG=WARN\n"),
    ],
)
def test_what_is_certain_is_mended(path: str, text: str, size: str | None, expected: str) -> None:
    assert mended(text, size, path) == expected


@pytest.mark.parametrize(
    ("path", "text", "size"),
    [
        ("a.sh", "export NCCL_IB_TC=1 NCCL_DEBUG=WARN\n", NDV5),
        ("a.sh", "NCCL_IB_TC=1 torchrun train.py\n", NDV5),
        ("a.sh", "export NCCL_IB_TIMEOUT=20s\n", NDV5),
        ("a.sh", "export NCCL_DEBGU=WARN\n", None),
        ("a.sh", "export NCCL_NET_GDR_LEVEL=far\n", None),
        ("Dockerfile", "ENV NCCL_IB_TC=1 \\\n    NCCL_DEBUG=WARN\n", NDV5),
        ("pod.yaml", "env: [{name: NCCL_IB_TC, value: '1'}]\n", NDV5),
        ("a.sh", "export NCCL_DEBUG=$LEVEL\n", None),
        ("map.yaml", "data:\n  nccl.conf: |\n    export NCCL_DEBUG=WARN\n", None),
    ],
)
def test_what_is_not_certain_stays(path: str, text: str, size: str | None) -> None:
    assert mended(text, size, path) == text


@pytest.mark.parametrize("size", [P5, NDV5])
def test_the_guides_script_is_mended_into_a_script_that_bash_reads(size: str) -> None:
    before = GUIDE.read_text()
    after = mended(before, size, "entrypoint.sh")
    read = subprocess.run(["bash", "-n"], input=after, text=True, capture_output=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")
    left = codes(after, size, "entrypoint.sh")
    assert left == []
    assert mended(after, size, "entrypoint.sh") == after, "mending again changes nothing"


def test_a_script_for_two_clouds_loses_only_what_is_wrong_on_both() -> None:
    text = "export NCCL_IB_CUDA_SUPPORT=1\nexport NCCL_IB_TC=160\nexport NCCL_BUFFSIZE=8388608\n"
    after = fix({"a.sh": text}, [target(P5), target(NDV5)])["a.sh"]
    assert "took out NCCL_IB_CUDA_SUPPORT=1" in after
    assert "took out NCCL_IB_TC=160" in after, "ignored on EFA and on InfiniBand"
    only_aws = "export NCCL_TOPO_FILE=/etc/topo.xml\n"
    assert fix({"a.sh": only_aws}, [target(P5), target(NDV5)]) == {}


def test_yaml_stays_yaml_when_entries_are_taken_out() -> None:
    text = (
        'spec:\n  containers:\n  - name: train\n    env:\n    - name: NCCL_IB_SL\n      value: "5"\n'
        '    - name: NCCL_DEBUG\n      value: "INFO"\n    image: x\n'
    )
    assert yaml.safe_load(mended(text, NDV5, "pod.yaml")) == {
        "spec": {
            "containers": [{"name": "train", "env": [{"name": "NCCL_DEBUG", "value": "WARN"}], "image": "x"}]
        }
    }


def test_files_that_need_nothing_are_not_in_the_answer() -> None:
    assert fix({"a.sh": "export NCCL_DEBUG=WARN\n", "b.sh": "export NCCL_DEBUG=INFO\n"}) == {
        "b.sh": "export NCCL_DEBUG=WARN\n"
    }


SOURCED = """\
# Values for eight H100 and eight InfiniBand ports. Source this before the test.

RANKS_PER_NODE=8
BINDING="mask_cpu:ff,ff00"

export OMPI_MCA_coll_hcoll_enable=0
export NCCL_DEBUG=WARN
export NCCL_SOCKET_IFNAME=eth0
export CUDA_DEVICE_ORDER=PCI_BUS_ID
export NCCL_PXN_DISABLE=1
export NCCL_MIN_NCHANNELS=32
export NCCL_P2P_NET_CHUNKSIZE=$((2 * 1024 * 1024))
export UCX_TLS=rc
export UCX_NET_DEVICES=mlx5_ib0:1
export NCCL_IB_PCI_RELAXED_ORDERING=1
export NCCL_IB_QPS_PER_CONNECTION=4
export NCCL_COLLNET_ENABLE=1
export SHARP_SMX_UCX_INTERFACE=mlx5_ib0:1
export SHARP_COLL_ENABLE_SAT=1
export LD_LIBRARY_PATH=/opt/plugin/lib:$LD_LIBRARY_PATH
"""


@pytest.mark.parametrize("size", [None, NDV5])
def test_a_sourced_file_of_values_has_no_error_and_keeps_its_exports(size: str | None) -> None:
    found = findings(SOURCED, size, path="hopper.conf")
    assert [entry for entry in found if entry.level is Level.ERROR] == []
    after = mended(SOURCED, size, path="hopper.conf")
    assert after.count("export ") == SOURCED.count("export ")
    assert "NCCL_P2P_NET_CHUNKSIZE=$((2 * 1024 * 1024))" in after
    assert [
        entry.level for entry in findings(after, size, path="hopper.conf") if entry.level is Level.ERROR
    ] == []


def test_the_same_values_without_export_may_be_nccls_own_file_and_have_no_error_either() -> None:
    plain = "".join(
        line.removeprefix("export ") + "\n"
        for line in SOURCED.splitlines()
        if "$" not in line and '"' not in line
    )
    found = findings(plain, NDV5, path="hopper.conf")
    assert [entry for entry in found if entry.level is Level.ERROR] == []
    late = {entry.what.split(" ")[0] for entry in found if entry.code == "env-conf-too-late"}
    assert late == {"OMPI_MCA_coll_hcoll_enable", "CUDA_DEVICE_ORDER", "UCX_TLS", "UCX_NET_DEVICES"}
    assert mended(plain, NDV5, path="hopper.conf").count("UCX_TLS=rc\n") == 1


@pytest.mark.parametrize("path", ["job.sh", "nccl.conf"])
def test_a_byte_order_mark_and_cr_lf_are_taken_out_together_with_what_else_is_mended(path: str) -> None:
    export = "export " if path == "job.sh" else ""
    text = f"\ufeff{export}NCCL_DEBUG=INFO\r\n{export}NCCL_IB_TIMEOUT=22\r\n"
    assert mended(text, path=path) == f"{export}NCCL_DEBUG=WARN\n{export}NCCL_IB_TIMEOUT=22\n"


def test_spaces_around_the_equals_sign_are_taken_out_in_a_script() -> None:
    assert mended("  export NCCL_DEBUG = WARN\n") == "  export NCCL_DEBUG=WARN\n"
    assert mended("setenv NCCL_DEBUG WARN\n") == "export NCCL_DEBUG=WARN\n"


def test_a_script_in_an_argument_is_reported_and_not_taken_apart() -> None:
    text = "bash -c 'export NCCL_P2P_DISABLE=1; ./train'\n"
    assert codes(text) == ["env-p2p-off"]
    assert mended(text) == text
