"""The one file under the Pythons of the images: 3.8 (Ubuntu 20.04), 3.9 (Amazon Linux 2023), and later ones."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.preflight import older_python, zipapp
from tests.nccl.preflight.nodes import healthy
from tests.node_real.stand_in_perf import whole
from tests.not_run import not_run

PYTHONS = ("3.8", "3.9", "3.10", "3.12", "3.13")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"

#: Methods and operators of later Pythons, which no module can put there. `older_python` has the rest.
LATER_METHODS = frozenset(
    {
        "removeprefix",
        "removesuffix",
        "is_relative_to",
        "readlink",
        "with_stem",
        "bit_count",
        "randbytes",
        "unparse",
    }
)


def interpreter(version: str) -> str:
    """An interpreter of that version; the test is not run where there is none."""
    at_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for place in (shutil.which(f"python{version}"), *map(str, at_pyenv)):
        if place and subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
            return place
    return not_run(f"no Python {version} is here")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zipapp") / "gpu-fabric-preflight"
    zipapp.write(path)
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy node and a broken one, logs of a good and a bad run, and a script with mistakes."""
    place = tmp_path_factory.mktemp("place")
    healthy(place / "good", "p5.48xlarge")
    broken = healthy(place / "broken", "Standard_ND96isr_H100_v5")
    broken.change("/sys/class/infiniband/mlx5_ib3/ports/1/state", "4: ACTIVE", "1: DOWN")
    broken.change(paths.NCCL_CONF, "NCCL_", "NCCL_ALGO=RING,TREE\nNCCL_", 1)
    nodes = [f"n{number}" for number in range(4)]
    (place / "good.log").write_text(whole(nodes, 8, {}))
    (place / "bad.log").write_text(whole(nodes, 8, {"socket": ["n1"]}))
    (place / "job.sh").write_text("#!/bin/bash\nexport NCCL_ALGO=RING,TREE NCCL_DEBG=INFO\ntorchrun x.py\n")
    return place


def run(python: str, program: Path, place: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error; without user packages, installed ones and an environment."""
    path = ":".join(str(place / node / folder) for node in ("good", "broken") for folder in ("bin", "tools"))
    done = subprocess.run(
        [python, "-I", "-S", str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=place,
        env={"PATH": path, "LANG": "C.UTF-8", "HOME": os.environ.get("HOME", "/")},
    )
    return done.returncode, done.stdout, done.stderr


CALLS: tuple[tuple[str, ...], ...] = (
    ("node", "--size", "p5.48xlarge", "--root", "good", "--json", "--report", "node.md"),
    ("node", "--size", "Standard_ND96isr_H100_v5", "--root", "broken", "--pin", "driver=570"),
    ("cluster", "--size", "p5.48xlarge", "--log", "good.log", "--report", "cluster.json"),
    ("cluster", "--size", "p5.48xlarge", "--log", "bad.log"),
    ("cluster", "--size", "p5.48xlarge", "--nodes", "w[1-4]", "--manifest", "registry/nccl-tests:1"),
    ("lint", "job.sh", "--size", "p5.48xlarge", "--json"),
    ("link", "--peer", "127.0.0.1"),
    ("cluster", "--help"),
)


def said(python: str, program: Path, place: Path) -> list[tuple[int, str, str]]:
    """What every call says and writes, as far as argparse says the same in all Pythons."""
    found = [run(python, program, place, *call) for call in CALLS]
    code, help_, errors = found[-1]
    # Other Pythons break its lines elsewhere, and up to 3.9 the heading is another one.
    found[-1] = (code, " ".join(help_.replace("optional arguments:", "options:").split()), errors)
    found.append((0, (place / "node.md").read_text(), (place / "cluster.json").read_text()))
    return [(code, without_disk(out), without_disk(errors)) for code, out, errors in found]


def without_disk(text: str) -> str:
    """The root file system is this machine's, and other tests fill it between two calls."""
    return re.sub(r"\d+% of / is free", "… of / is free", text)


@pytest.fixture(scope="module")
def said_here(program: Path, place: Path) -> list[tuple[int, str, str]]:
    found = said(sys.executable, program, place)
    # The first judges this very process's memlock, too, so its code is the machine's.
    assert [code for code, _, _ in found[1:]] == [1, 0, 1, 0, 1, 64, 0, 0], found
    return found


@pytest.mark.parametrize("version", [version for version in PYTHONS if version != HERE])
def test_the_one_file_says_the_same_under_every_python_of_the_images(
    version: str, program: Path, place: Path, said_here: list[tuple[int, str, str]]
) -> None:
    assert said(interpreter(version), program, place) == said_here


@pytest.mark.parametrize("version", ["3.8", "3.9"])
def test_the_link_is_measured_between_an_older_python_and_this_one(version: str, program: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = ["--port", str(free.getsockname()[1])]
    serve = [interpreter(version), "-I", "-S", str(program), "link", "--serve", "127.0.0.1", "--for", "30"]
    with subprocess.Popen([*serve, *port], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            token = server.stdout.readline().split()[-1]
            options = [*port, "--token", token, "--packets", "20", "--seconds", "0.2", "--flows", "2"]
            asked = subprocess.run(
                [sys.executable, "-I", "-S", str(program), "link", "--peer", "127.0.0.1", *options, "--json"],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
        finally:
            server.kill()
    states = {result["check"]: result["state"] for result in json.loads(asked.stdout)["results"]}
    assert {states[check] for check in ("loss", "mtu-forward", "mtu-back")} == {"pass"}, states
    assert states["rtt"] in ("pass", "warn"), "a busy machine answers late"


@pytest.mark.parametrize("version", ["3.6", "3.7"])
def test_a_python_that_is_too_old_is_refused_in_words(version: str, program: Path, tmp_path: Path) -> None:
    code, _, errors = run(interpreter(version), program, tmp_path, "node")
    assert code == 1
    assert errors.startswith("gpu-fabric-preflight needs Python 3.8 or later, and this is 3.")
    assert errors.endswith(": run it with a newer one (python3.11 FILE ...)\n")


# ---- where no older Python is there ---------------------------------------------------------------------------------


def modules() -> dict[str, ast.Module]:
    """Every module of the file, read by the grammar of Python 3.8; SyntaxError names what that lacks."""
    archive = zipfile.ZipFile(io.BytesIO(zipapp.build()))
    texts = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")}
    return {name: ast.parse(text, name, feature_version=(3, 8)) for name, text in texts.items()}


def test_no_module_of_the_file_needs_a_later_grammar_method_or_operator() -> None:
    later = [
        f"{name}: {what}: {ast.unparse(node)[:80]}"
        for name, module in modules().items()
        for node in ast.walk(module)
        if (what := of_a_later_python(node))
    ]
    assert later == []


def of_a_later_python(node: ast.AST) -> str:
    """What of a node Python 3.8 cannot do; empty where it can. A set's `|=` counts, because it reads like a dict's."""
    if isinstance(node, ast.Attribute) and node.attr in LATER_METHODS:
        return node.attr
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr):
        return "|= of two dicts is of Python 3.9: use update"
    if isinstance(node, ast.With) and len(node.items) > 1 and node.items[0].context_expr.lineno > node.lineno:
        return "with (…) over several lines is of Python 3.9"
    return ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("'ab'.removeprefix('a')", "removeprefix"),
        ("a |= b", "|= of two dicts is of Python 3.9: use update"),
        ("with (\n  a,\n  b,\n):\n  pass", "with (…) over several lines is of Python 3.9"),
        ("with a, b:\n  pass", ""),
        ("a = a | b", ""),
    ],
)
def test_what_is_of_a_later_python_is_found(text: str, says: str) -> None:
    assert "".join(of_a_later_python(node) for node in ast.walk(ast.parse(text))) == says


def test_every_module_leaves_its_annotations_unread() -> None:
    """`int | None` and `tuple[str, ...]` are annotations everywhere, and Python 3.8 cannot evaluate them."""
    without = [
        name
        for name, module in modules().items()
        if name.startswith("gpu_fabric/")
        and any(isinstance(node, (ast.FunctionDef, ast.AnnAssign)) for node in ast.walk(module))
        and not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in module.body)
    ]
    assert without == []


def test_the_file_holds_what_its_program_can_reach_and_nothing_else() -> None:
    by_name = {
        name[:-3].replace("/", ".").removesuffix(".__init__"): module for name, module in modules().items()
    }
    reached, open_ = (
        set[str](),
        ["gpu_fabric.nccl.preflight.__main__", "gpu_fabric.nccl.preflight.older_python"],
    )
    while open_:
        name = open_.pop()
        packages = [name[: at.start()] for at in re.finditer(r"\.", name)]
        for found in {name, *packages} & by_name.keys() - reached:
            reached.add(found)
            open_ += imported(by_name[found])
    ours = {name for name in by_name if name.startswith("gpu_fabric")}
    assert ours - reached == set()


def imported(module: ast.Module) -> list[str]:
    """Names of what a module imports, at its top or later; of `from a import b` both `a` and `a.b`."""
    froms = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.module]
    plain = [alias.name for node in ast.walk(module) if isinstance(node, ast.Import) for alias in node.names]
    return [*plain, *(f"{node.module}.{alias.name}" for node in froms for alias in node.names)]


# ---- the stand-ins for what they lack, held to the real ones --------------------------------------------------------


def test_a_string_enumeration_reads_as_its_value_everywhere() -> None:
    import enum

    def made(base: Any) -> Any:
        return base("Colour", {"RED": "red", "BLUE": "blue"})

    ours, theirs = made(older_python.StrEnum), made(enum.StrEnum)
    for colours in (ours, theirs):
        assert (str(colours.RED), f"{colours.RED:>5}", json.dumps(colours.RED)) == ("red", "  red", '"red"')
        assert colours("blue") is colours.BLUE
        assert colours.BLUE == "blue"
        assert [*colours] == ["red", "blue"]
    assert older_python.StrEnum._generate_next_value_("RED", 1, 0, []) == "red"


def test_zip_is_strict_where_it_is_asked_to_be() -> None:
    zipped = older_python.strict_zip(zip)
    assert [*zipped("ab", "cd", strict=True)] == [("a", "c"), ("b", "d")]
    assert [*zipped("abc", "d")] == [*zipped("abc", "d", strict=False)] == [("a", "d")]
    assert [*zipped(strict=True)] == []
    with pytest.raises(ValueError, match="not of one length"):
        [*zipped("ab", "c", strict=True)]


def test_neighbours_and_what_is_kept() -> None:
    assert [*older_python.pairwise("abc")] == [("a", "b"), ("b", "c")]
    assert [*older_python.pairwise("a")] == []
    asked: list[int] = []
    kept = older_python.cache(asked.append)
    kept(1)
    kept(1)
    assert asked == [1]


def test_a_dataclass_by_keyword_takes_fields_without_default_after_others() -> None:
    import dataclasses

    dataclass = older_python.keyword_dataclass(dataclasses.dataclass)

    @dataclass(frozen=True, kw_only=True)
    class Row:
        unit: str = "GB/s"
        value: int
        notes: list[str] = dataclasses.field(default_factory=list)

        def __post_init__(self) -> None:
            assert self.value >= 0

    row: Any = Row
    assert repr(row(value=3)).endswith("Row(unit='GB/s', value=3, notes=[])")
    assert dataclasses.replace(row(value=3), value=4) == row(value=4)
    assert row(value=1).notes is not row(value=1).notes
    for given, says in (({}, "value is missing"), ({"value": 1, "size": 2}, "has no size")):
        with pytest.raises(TypeError, match=says):
            row(**given)
    with pytest.raises(AssertionError):
        row(value=-1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        row(value=1).value = 2

    @dataclass
    class Plain:
        value: int

    assert Plain(1) == Plain(value=1)


def test_a_file_beside_a_module_is_read_or_said_to_be_absent() -> None:
    folder = older_python.PackageFile("gpu_fabric.nccl.hardware")
    assert folder.joinpath("aws.toml").read_text().startswith("#")
    assert folder.joinpath("aws.toml").is_file()
    assert not folder.joinpath("nothing.toml").is_file()
    with pytest.raises(FileNotFoundError, match=r"nothing\.toml"):
        folder.joinpath("nothing.toml").read_text()
