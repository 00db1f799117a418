"""Whatever the input: no exception, no hang, a place for every finding, and a fix that does not grow."""

from __future__ import annotations

import os
import random
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.nccl.environment import environment, to_conf, to_kubernetes, to_shell, to_slurm
from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.nccl.lint import fix, lint
from gpu_fabric.nccl.lint.names import known_names
from tests.nccl.lint.helpers import NDV5, P5, findings, target
from tests.not_run import not_run

PATHS = ("nccl.conf", "job.sh", "job.sbatch", "Dockerfile", "pod.yaml", "job.env", "printed", "topo.xml")
SEEDS = {
    "nccl.conf": "# ours\nNCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME==eth0\nNCCL_IB_HCA=mlx5_ib\n",
    "job.sh": '#!/bin/bash\nexport NCCL_ALGO="RING,TREE" # x\ncat > /etc/nccl.conf <<EOF\nNCCL_IB_SL=5\nEOF\n'
    "mpirun -x NCCL_DEBUG=${LEVEL:-INFO} \\\n  -x FI_PROVIDER='efa' ./a && NCCL_PROTO=LL128 ./b\n",
    "job.sbatch": "#!/bin/bash\n#SBATCH --export=\"ALL,'NCCL_IB_HCA=a,b'\"\nsrun --export=ALL,NCCL_IB_TC=3 ./a\n",
    "Dockerfile": 'FROM x\nENV NCCL_DEBUG=INFO \\\n  # c\n  NCCL_IB_HCA="mlx5_*"\nENV NCCL_CROSS_NIC 1\n',
    "pod.yaml": "env:\n- name: NCCL_DEBUG\n  value: INFO\n- {name: NCCL_IB_SL, value: '5'}\nd: &a\n  x: |\n"
    "    export NCCL_ALGO=Ring\n  y: *a\n",
    "job.env": "NCCL_BUFFSIZE=8M\nNCCL_NET_GDR_LEVEL=5\n",
    "printed": "HOME=/root\nNCCL_IB_TIMEOUT=99999999999999999999\n",
    "topo.xml": '<system version="1">\n  <cpu numaid="0" affinity="0-3"/>\n</system>\n',
}
PIECES = (
    *(
        "=",
        "^",
        "*",
        ",",
        ";",
        ":",
        "'",
        '"',
        "`",
        "$(",
        "${",
        "}",
        "\\\n",
        "\n",
        "\r\n",
        "#",
        "\t",
        " ",
        "<<EOF\n",
    ),
    *(
        "export ",
        "ENV ",
        "- name: ",
        "value: ",
        "&a",
        "*a",
        "{{",
        "]",
        "\x00",
        "\ufeff",
        "\u2028",
        "é",
        "0x",
        "1e5",
    ),
    *("--export=", "#SBATCH ", "NCCL_", "FI_", "-x ", "|", "<system", "-->", "/>", "a" * 2000),
)


def mutated(random_: random.Random) -> tuple[str, str]:
    path = random_.choice(PATHS)
    text = SEEDS[random_.choice(PATHS)] if random_.random() < 0.3 else SEEDS[path]
    for _ in range(random_.randint(1, 12)):
        at = random_.randint(0, len(text))
        match random_.randrange(5):
            case 0:
                text = text[:at] + random_.choice(PIECES) + text[at:]
            case 1:
                text = text[:at] + text[at + random_.randint(0, 20) :]
            case 2:
                text = text[:at] + random_.choice(sorted(known_names())) + text[at:]
            case 3:
                text = text[:at] + text[at : at + 30] * random_.randint(0, 5) + text[at:]
            case _:
                text = text[:at] + chr(random_.randint(0, 0x2FFF)) + text[at + 1 :]
    return path, text


def assert_survives(path: str, text: str, size: str) -> None:
    wanted = target(size)
    for finding in lint({path: text}, situation=wanted.situation, size=wanted.size):
        assert finding.path == path
        assert finding.line is None or 1 <= finding.line <= text.count("\n") + 2
        assert finding.what
        assert finding.remedy
    for new in fix({path: text}, [wanted]).values():
        assert len(new) <= len(text) + 100 * (text.count("\n") + 1), (
            "a fix writes no more than a remark a line"
        )


def test_mutated_files_never_break_the_lint() -> None:
    random_ = random.Random(20261129)
    for _ in range(400):
        path, text = mutated(random_)
        assert_survives(path, text, random_.choice((P5, NDV5)))


def test_ten_thousand_mutated_files_never_break_the_lint() -> None:
    """The long form: GPU_FABRIC_FUZZ=10000 (any number). Time and memory are bounded too."""
    count = int(os.environ.get("GPU_FABRIC_FUZZ", "0"))
    if count == 0:
        not_run("set GPU_FABRIC_FUZZ=10000 for the long fuzz of the lint (half a minute)")
    random_ = random.Random(os.environ.get("GPU_FABRIC_FUZZ_SEED", "1"))
    tracemalloc.start()
    for _ in range(count):
        path, text = mutated(random_)
        begun = time.perf_counter()
        assert_survives(path, text, random_.choice((P5, NDV5)))
        assert time.perf_counter() - begun < 5, (path, text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * 1024 * 1024


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PATHS), st.text(max_size=300))
def test_any_text_is_survived(path: str, text: str) -> None:
    assert_survives(path, text, P5)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(known_names())), st.text(st.characters(exclude_characters="\n\r\0"), max_size=40)
)
def test_any_value_of_any_variable_is_survived(name: str, value: str) -> None:
    assert_survives("job.env", f"{name}={value}\n", NDV5)
    assert_survives("nccl.conf", f"{name}={value}\n", P5)


def test_a_line_without_end_a_binary_and_a_huge_file_are_findings() -> None:
    assert [entry.code for entry in findings("NCCL_DEBUG=" + "a" * 200_000, path="a.env")] == [
        "env-unreadable"
    ]
    assert [entry.code for entry in findings("\x7fELF\x00", path="a.sh")] == ["env-unreadable"]
    assert [entry.code for entry in findings("#\n" * 3_000_000, path="a.sh")] == ["env-unreadable"]


def test_yaml_that_stands_for_a_huge_document_is_read_in_no_time() -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    begun = time.process_time()
    assert findings("\n".join(layers) + "\n", path="bomb.yaml") == []
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("size", [name for name, row in load_sizes().items() if row.supported])
def test_our_own_environments_have_nothing_to_find_in_any_rendering(size: str) -> None:
    ours = environment(size)
    renderings = {
        "nccl.conf": to_conf(ours),
        "environment.sh": to_shell(ours),
        "pod.yaml": to_kubernetes(ours),
        "job.sbatch": f"#!/bin/bash\n#SBATCH {to_slurm(ours)}",
    }
    wanted = target(size)
    for path, text in renderings.items():
        found = lint({path: text}, situation=wanted.situation, size=wanted.size)
        worth = [entry for entry in found if entry.level is not Level.NOTE]
        assert worth == [], path
        values = ours.values
        assert len(values) >= 3
