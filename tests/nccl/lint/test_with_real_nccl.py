"""What the lint says of NCCL's files and values, asked of the real library. No GPU is needed: NCCL reads its
environment and finds its interfaces before it looks for one.

Runs where the library is: `pip install nvidia-nccl-cu12==2.30.7`, or GPU_FABRIC_LIBNCCL=/path/to/libnccl.so.2.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpu_fabric.nccl.environment import Role, environment, to_conf
from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.nccl.lint import fix, lint
from gpu_fabric.nccl.lint.grammar import variables
from gpu_fabric.nccl.lint.names import first_seen, known_names, lifecycle
from gpu_fabric.nccl.versions import Version, parse_version
from tests.nccl.lint.helpers import P5, codes, findings
from tests.not_run import not_run

# Asks for a unique id, which makes NCCL read its files and look for an interface; then prints what libc has.
ASK = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
version = ctypes.c_int()
library.ncclGetVersion(ctypes.byref(version))
result = library.ncclGetUniqueId(ctypes.byref(UniqueId()))
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
values = {name: libc.getenv(name.encode()) for name in sys.argv[2:]}
texts = {name: value and value.decode() for name, value in values.items()}
print(json.dumps([version.value, result, texts]), file=sys.stderr)
"""


NAME = re.compile(rb"(NCCL_[A-Z0-9_]+)\0")


@dataclass(frozen=True)
class Answer:
    version: Version
    result: int
    values: dict[str, str | None]
    log: str


def library() -> str:
    given = os.environ.get("GPU_FABRIC_LIBNCCL")
    if given:
        return given
    package = find_spec("nvidia.nccl") if find_spec("nvidia") else None
    folders = (package.submodule_search_locations or ()) if package else ()
    found = [path for folder in folders if (path := Path(folder) / "lib" / "libnccl.so.2").exists()]
    if found:
        return str(found[0])
    return not_run("no NCCL library: pip install nvidia-nccl-cu12==2.30.7, or set GPU_FABRIC_LIBNCCL")


def ask(*names: str, **process: str) -> Answer:
    ran = subprocess.run(
        [sys.executable, "-c", ASK, library(), *names],
        env={"PATH": "/usr/bin:/bin", "NCCL_SOCKET_IFNAME": "lo", **process},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    code, result, values = json.loads(ran.stderr.splitlines()[-1])
    return Answer(Version(code // 10000, code // 100 % 100, code % 100), result, values, ran.stdout)


def names_in_library() -> set[str]:
    return {name.decode() for name in NAME.findall(Path(library()).read_bytes())}


def test_the_library_has_every_name_that_the_lint_takes_for_known_in_its_release() -> None:
    version, present = ask().version, names_in_library()
    for name in known_names():
        since = variables().get(name, {}).get("since") or first_seen().get(name, ("0.0", ""))[0]
        absent = first_seen().get(name, ("", "0.0"))[1]
        if name in present:
            assert version > parse_version(absent), f"{name} is said to be absent from {absent}"
            assert version >= parse_version(since) or absent != "0.0", (
                f"{name} is said to be read since {since}"
            )
        elif version > Version(2, 30, 7):
            assert version >= parse_version(lifecycle()["removed_later"][name])
        else:
            assert version < Version(2, 30, 7), f"{name} is said to be known"
            assert version < parse_version(since), f"{name} is said to be read since {since}"


def test_the_library_has_none_of_the_names_that_the_lint_calls_gone_or_mistaken() -> None:
    version, present, table = ask().version, names_in_library(), lifecycle()
    gone = [
        name for name, row in table["removed"].items() if version >= parse_version(row.get("removed", "2.5"))
    ]
    later = [name for name, since in table["later"].items() if version < parse_version(since)]
    assert not present & {*gone, *later, *table["mistaken"], *table["branch"]["names"]}


def from_file(folder: Path, text: str, *names: str, **process: str) -> Mapping[str, str | None]:
    file = folder / "nccl.conf"
    file.write_bytes(text.encode())
    return ask(*names, NCCL_CONF_FILE=str(file), **process).values


@pytest.mark.parametrize("size", [name for name, row in load_sizes().items() if row.supported])
def test_nccl_reads_our_file_as_it_is_meant(size: str, tmp_path: Path) -> None:
    made = environment(size, role=Role.STAGE_BOUNDARY)
    meant = {
        entry.name: entry.value
        for entry in made.variables
        if not entry.process_only and entry.name != "NCCL_SOCKET_IFNAME"
    }
    assert from_file(tmp_path, to_conf(made), *meant) == meant


@pytest.mark.parametrize(
    ("line", "code", "name", "value"),
    [
        ("export NCCL_PROTO=LL", "env-conf-export", "NCCL_PROTO", None),
        ("NCCL_PROTO='LL'", "env-conf-quotes", "NCCL_PROTO", "'LL'"),
        ("NCCL_PROTO =LL", "env-conf-spaces", "NCCL_PROTO", None),
        ("NCCL_PROTO= LL", "env-conf-spaces", "NCCL_PROTO", " LL"),
        ("NCCL_PROTO=LL # simple", "env-conf-comment", "NCCL_PROTO", "LL # simple"),
        ("  # NCCL_PROTO=LL", "env-conf-comment", "  # NCCL_PROTO", "LL"),
        ("NCCL_PROTO", "env-conf-no-value", "NCCL_PROTO", None),
        ("NCCL_HOSTID=" + "a" * 1024, "env-conf-too-long", "NCCL_HOSTID", "a" * 1023),
    ],
)
def test_nccl_misreads_what_the_lint_says_it_misreads(
    line: str, code: str, name: str, value: str | None, tmp_path: Path
) -> None:
    text = f"# ours\n{line}\n"
    assert from_file(tmp_path, text, name)[name] == value
    assert code in codes(text, path="nccl.conf")


def test_the_end_of_a_line_from_windows_stays_in_the_value_up_to_2_29_7(tmp_path: Path) -> None:
    text = "NCCL_PROTO=LL\r\n"
    version = ask().version
    kept = version < Version(2, 30, 4)
    assert from_file(tmp_path, text, "NCCL_PROTO")["NCCL_PROTO"] == ("LL\r" if kept else "LL")
    found = findings(text, P5, path="nccl.conf", nccl_version=str(version))
    levels = [entry.level.value for entry in found if entry.code == "env-conf-line-end"]
    assert levels == ["error" if kept else "note"]


def test_nccl_reads_what_the_fix_has_written(tmp_path: Path) -> None:
    wrong = "export NCCL_COMM_ID = 'n0:1' # for now\r\n  # a = remark\n NCCL_HOSTID=\"n1\"\n"
    right = fix({"nccl.conf": wrong})["nccl.conf"]
    assert right == "NCCL_COMM_ID=n0:1\n# a = remark\nNCCL_HOSTID=n1\n"
    assert from_file(tmp_path, right, "NCCL_HOSTID")["NCCL_HOSTID"] == "n1"
    assert not [entry for entry in lint({"nccl.conf": right}) if entry.code.startswith("env-conf")]


def test_of_two_lines_the_first_counts_and_the_process_before_both(tmp_path: Path) -> None:
    text = "NCCL_HOSTID=first\nNCCL_HOSTID=second\n"
    assert from_file(tmp_path, text, "NCCL_HOSTID")["NCCL_HOSTID"] == "first"
    assert from_file(tmp_path, text, "NCCL_HOSTID", NCCL_HOSTID="process")["NCCL_HOSTID"] == "process"
    (duplicate,) = [entry for entry in lint({"nccl.conf": text}) if entry.code == "env-duplicate"]
    assert "the first wins" in duplicate.what


@pytest.mark.parametrize(
    ("interfaces", "found_one", "code"),
    [
        ("lo", True, None),
        ("l", True, None),
        ("=lo", True, None),
        ("l*", False, "env-interfaces"),
        ("=l", False, None),
        ("none,=lo", False, "env-interfaces"),
        ("none, lo", False, "env-interfaces"),
        ("none", False, None),
    ],
)
def test_nccl_matches_interfaces_as_the_lint_says(interfaces: str, found_one: bool, code: str | None) -> None:
    assert (ask(NCCL_SOCKET_IFNAME=interfaces).result == 0) is found_one
    found = codes(f"NCCL_SOCKET_IFNAME={interfaces}\n", path="a.env")
    assert found == ([] if code is None else [code])


@pytest.mark.parametrize(("value", "read"), [("yes", 0), ("1", 1), ("0x1", 1), ("1 # on", 1)])
def test_nccl_reads_integers_as_the_lint_says(value: str, read: int) -> None:
    answer = ask(NCCL_GDRCOPY_ENABLE=value, NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="ENV")
    if answer.version >= Version(2, 32):
        not_run("NCCL 2.32 reads no integer before it looks for a GPU")
    log = answer.log
    assert f"NCCL_GDRCOPY_ENABLE set by environment to {read}." in log
    wrong = [
        entry.what
        for entry in lint({"a.env": f"NCCL_GDRCOPY_ENABLE={value}\n"})
        if entry.code == "env-not-integer"
    ]
    assert [f"NCCL reads {read}," in what for what in wrong] == ([] if value in ("1", "0x1") else [True])


@pytest.mark.parametrize("level", ["WARN", "warn", "INFO", "WARNING", "ATTN"])
def test_an_unknown_level_of_logging_loses_the_warnings(level: str) -> None:
    answer = ask(NCCL_DEBUG=level, NCCL_SOCKET_IFNAME="none")
    warns = level.upper() in ("WARN", "INFO") or (level == "ATTN" and answer.version >= Version(2, 32))
    assert ("NCCL WARN" in answer.log) is warns
    found = codes(f"NCCL_DEBUG={level}\n", P5, "a.env", nccl_version=str(answer.version))
    assert ("env-debug-unknown" in found) is not warns
