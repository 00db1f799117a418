"""The files, the lint and the strict reader against NCCL itself.

The first half calls the reader inside an NCCL library, which needs no GPU: `pip download nvidia-nccl-cu12==2.30.7`,
unpack it, and name `nvidia/nccl/lib/libnccl.so.2` in NCCL_LIBRARY_FOR_TESTS. The second half starts a communicator on
a GPU. Both say when they did not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.nccl.topology import from_catalog, to_xml
from gpu_fabric.nccl.topology.rules import RULES
from tests.nccl.topology import nccl_reader, real_nccl
from tests.nccl.topology.cases import AT_THE_BORDER, BROKEN, GOOD
from tests.nccl.topology.test_fuzz import mutated
from tests.not_run import not_run

#: The version whose source the reader and the rules follow.
FOLLOWED = "2.30.7"
FILES = {name: to_xml(t) for name, size in load_sizes().items() if (t := from_catalog(size)) is not None}


@cache
def library() -> Path:
    """The NCCL library of this machine, whose reader can be called."""
    found = real_nccl.find_library()
    if found is None:
        not_run(f"no NCCL library on this machine; name one in {real_nccl.VARIABLE}")
    if len(real_nccl.addresses(found, (real_nccl.FROM_FILE, real_nccl.TO_SYSTEM))) < 2:
        not_run(f"the symbol table of {found} does not have NCCL's reader")
    return found


def only_with_the_followed_version() -> None:
    """Versions differ in limits (children of an element) and in what building needs (`rail` of net in 2.32)."""
    found = real_nccl.version(library())
    if found != FOLLOWED:
        not_run(f"the library is NCCL {found}, and these tests follow {FOLLOWED}")


def test_nccl_reads_the_file_of_every_size_and_builds_its_graph(tmp_path: Path) -> None:
    found = real_nccl.verdicts(library(), list(FILES.values()), tmp_path)
    assert {name: (v.read, v.built) for name, v in zip(FILES, found, strict=True)} == dict.fromkeys(
        FILES, (0, 0)
    )
    assert [v.elements for v in found] == [text.count("<") - text.count("</") for text in FILES.values()]


def test_nccl_rejects_what_the_lint_says_it_rejects_and_takes_the_rest(tmp_path: Path) -> None:
    only_with_the_followed_version()
    cases = [*BROKEN, *AT_THE_BORDER]
    found = real_nccl.verdicts(library(), [case.text for case in cases], tmp_path)
    wrong = []
    for at, (case, verdict) in enumerate(zip(cases, found, strict=True)):
        broken = at < len(BROKEN)
        taken = verdict.read == 0 and verdict.built in (0, None)
        if not broken and verdict.read != 0:
            wrong.append(f"{case.code}: just kept, and NCCL does not read it: {verdict}")
        if broken and RULES[case.code].rejected and taken:
            wrong.append(f"{case.code}: said to be rejected, and NCCL takes it: {verdict}")
        if (
            broken
            and not RULES[case.code].rejected
            and verdict.read != 0
            and case.code != "topology-reading-stopped"
        ):
            wrong.append(f"{case.code}: not said to be rejected, and NCCL does not read it: {verdict}")
    assert wrong == []


def test_the_strict_reader_of_these_tests_is_as_strict_as_nccl(tmp_path: Path) -> None:
    only_with_the_followed_version()
    # NCCL takes the own host's mark from the communicator, which is not there when a file is read alone.
    texts = [text.replace("host_hash", "other_hash") for text in mutated(3_000)]
    differ = []
    for text, verdict in zip(texts, real_nccl.verdicts(library(), texts, tmp_path), strict=True):
        real = verdict.read == 0
        model = _reads(text)
        if real != model:
            differ.append(text)
    assert differ == []


def _reads(text: str) -> bool:
    """Whether the strict reader gets through the text; what building the graph needs is left aside."""
    try:
        nccl_reader.Parser(text).load(None, {"system"})
    except nccl_reader.RejectedError:
        return False
    return True


# --- on a GPU

_START = """
import ctypes, json, sys
nccl = ctypes.CDLL(sys.argv[1])
class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]
identity, communicator = UniqueId(), ctypes.c_void_p()
nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
results = [nccl.ncclGetUniqueId(ctypes.byref(identity))]
results.append(nccl.ncclCommInitRank(ctypes.byref(communicator), 1, identity, 0))
print(json.dumps(results))
"""


def start_communicator(text: str, folder: Path) -> tuple[list[int], str]:
    """(results of ncclGetUniqueId and ncclCommInitRank, the topology that NCCL dumped) with this topology file."""
    if not Path("/dev/nvidiactl").exists():
        not_run("no NVIDIA GPU on this machine: /dev/nvidiactl is absent")
    found = real_nccl.find_library()
    if found is None:
        not_run(f"no NCCL library on this machine; name one in {real_nccl.VARIABLE}")
    file, dump = folder / "topo.xml", folder / "dump.xml"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", _START, str(found)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={
            **os.environ,
            "NCCL_TOPO_FILE": str(file),
            "NCCL_TOPO_DUMP_FILE": str(dump),
            "NCCL_DEBUG": "WARN",
            "NCCL_NET_PLUGIN": "none",
            "NCCL_SOCKET_IFNAME": "lo",
        },
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert lines, f"NCCL ended with {done.returncode}: {done.stdout[-1000:]} {done.stderr[-1000:]}"
    return json.loads(lines[-1]), dump.read_text() if dump.exists() else ""


@pytest.mark.gpu
@pytest.mark.parametrize("name", FILES)
def test_nccl_starts_a_communicator_with_the_file_of_each_size(name: str, tmp_path: Path) -> None:
    results, dumped = start_communicator(FILES[name], tmp_path)
    assert results == [0, 0]
    assert nccl_reader.read(dumped) is not None


@pytest.mark.gpu
def test_nccl_starts_none_with_a_file_that_it_rejects(tmp_path: Path) -> None:
    results, _ = start_communicator(f'<?xml version="1.0"?>\n{GOOD}', tmp_path)
    assert results[0] == 0
    assert results[1] != 0
