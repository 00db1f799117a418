"""The command line as a person meets it: what it prints, its exit codes, and that bad input gets words."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.cli import COMMANDS, main
from gpu_fabric.cli.pages import pages
from gpu_fabric.nccl.hardware import load_sizes

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "tests" / "data" / "guide"
P5, NDV5 = "p5.48xlarge", "Standard_ND96isr_H100_v5"


@dataclass(frozen=True)
class Run:
    code: int
    output: str
    said: str


Cli = Callable[..., Run]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run the command line in this process, through the same door as the installed program."""

    def run(*arguments: str | Path) -> Run:
        monkeypatch.setattr(sys, "argv", ["gpu-fabric", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        code = left.value.code
        return Run(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run


# ---- the program


def test_help_lists_every_command_with_a_line(cli: Cli) -> None:
    shown = cli("--help")
    assert shown.code == 0
    for name in COMMANDS:
        assert f"  {name} " in shown.output


def test_help_imports_no_cloud_no_models_and_no_tables() -> None:
    """What makes the start slow stays away until a command needs it."""
    script = (
        "import sys; sys.argv = ['gpu-fabric', '--help']\n"
        "from gpu_fabric.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('gpu_fabric')), file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(ran.stderr.split())
    assert not loaded & {"pulumi", "pydantic", "rich", "yaml", "jinja2", "defusedxml"}
    assert {name for name in loaded if name.startswith("gpu_fabric.")} == {
        "gpu_fabric._lazy",
        "gpu_fabric.cli",
        "gpu_fabric.cli.errors",
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_needs_pulumi_or_pydantic_to_show_its_help(name: str) -> None:
    script = (
        f"import sys; sys.argv = ['gpu-fabric', {name!r}, '--help']\n"
        "for banned in ('pulumi', 'pydantic', 'boto3'): sys.modules[banned] = None\n"
        "from gpu_fabric.cli import main; main()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Usage: gpu-fabric" in ran.stdout


def test_the_nccl_half_runs_without_a_cloud_sdk() -> None:
    script = (
        "import sys\n"
        "for banned in ('pulumi', 'pulumi_aws', 'pulumi_azure_native', 'boto3'): sys.modules[banned] = None\n"
        "from gpu_fabric.nccl.bootstrap import cloud_config\n"
        "from gpu_fabric.nccl.environment import environment\n"
        "made = environment('p5.48xlarge', overrides={'NCCL_ALGO': 'Ring'})\n"
        "print(len(made.findings), len(cloud_config('p5.48xlarge', environment=made)) > 1000)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("1 True\n", "")


def test_version(cli: Cli) -> None:
    from gpu_fabric import __version__

    assert cli("--version").output == f"gpu-fabric, version {__version__}\n"


def test_a_mistyped_command_gets_the_nearest(cli: Cli) -> None:
    ran = cli("lnt")
    assert ran.code == 2
    assert "There is no command 'lnt'. Did you mean lint?" in ran.said
    assert "Commands are sizes, environment" in cli("xyz").said


def test_completion_offers_commands_and_sizes() -> None:
    def completed(words: str, count: int) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "gpu_fabric.cli"],
            cwd=ROOT,
            env={
                "PATH": "/usr/bin:/bin",
                "_GPU_FABRIC_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(count),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.stdout

    assert "plain,lint" in completed("gpu-fabric li", 1)
    assert f"plain,{NDV5}" in completed("gpu-fabric environment standard_nd96isr_h", 2)


# ---- sizes


def test_sizes_lists_the_whole_catalog(cli: Cli) -> None:
    shown = cli("sizes").output
    assert all(name in shown for name in load_sizes())
    assert "efa 32 × 100" in shown
    assert NDV5 not in cli("sizes", "--cloud", "aws").output


def test_a_size_shows_its_sources(cli: Cli) -> None:
    shown = cli("sizes", P5).output
    assert "efa-acc-inst-types.html" in shown
    assert "2026-" in shown


def test_sizes_as_json(cli: Cli) -> None:
    (size,) = json.loads(cli("sizes", P5, "--json").output)
    assert (size["name"], size["fabric_gbps"], size["gpu"]["count"]) == (P5, 3200.0, 8)
    assert len(json.loads(cli("sizes", "--json").output)) == len(load_sizes())


# ---- environment


@pytest.mark.parametrize(
    ("format_", "line"),
    [
        ("conf", "NCCL_SOCKET_IFNAME=^docker,lo,veth"),
        ("shell", "export NCCL_SOCKET_IFNAME='^docker,lo,veth'"),
        ("kubernetes", '  value: "^docker,lo,veth"'),
        ("slurm", "NCCL_SOCKET_IFNAME=^docker,lo,veth"),
        ("json", '"value": "^docker,lo,veth"'),
    ],
)
def test_environment_in_five_formats(cli: Cli, format_: str, line: str) -> None:
    ran = cli("environment", P5, "--format", format_)
    assert (ran.code, ran.said) == (0, "")
    assert line in ran.output


def test_explain_is_a_table_of_what_is_set_and_left_out(cli: Cli) -> None:
    shown = cli("environment", NDV5, "--explain").output
    for word in ("NCCL_IB_HCA", "mlx5_ib", "left out", "NCCL_IB_GID_INDEX", "also set by", "since"):
        assert word in shown


def test_ones_own_value_is_linted_on_standard_error(cli: Cli) -> None:
    ran = cli("environment", P5, "--set", "NCCL_ALGO=Ring", "--set", "NCCL_DEBUG=")
    assert ran.code == 0
    assert "NCCL_ALGO=Ring" in ran.output
    assert "NCCL_DEBUG" not in ran.output
    assert "[env-no-nvls]" in ran.said


def test_the_options_reach_the_environment(cli: Cli) -> None:
    assert "NCCL_SOCKET_NTHREADS=4" in cli("environment", P5, "--role", "stage-boundary").output
    assert "NCCL_IB_HCA" not in cli("environment", NDV5, "--image", "mine").output
    assert (
        "NCCL_TOPO_FILE=/etc/gpu-fabric/topology.xml"
        in cli("environment", P5, "--topology-file", "ours").output
    )
    assert "NCCL_TOPO_FILE" not in cli("environment", NDV5, "--topology-file", "none").output
    assert "NCCL_TOPO_FILE=/a" in cli("environment", P5, "--topology-file", "/a").output
    assert "NCCL 2.20.5" in cli("environment", P5, "--nccl-version", "2.20.5").output
    assert "RING,TREE" in cli("environment", P5, "--preset", "guide").output


def test_environment_writes_the_files_that_the_entrypoint_reads(cli: Cli, tmp_path: Path) -> None:
    ran = cli("environment", P5, "--directory", tmp_path / "new")
    assert (ran.code, ran.output) == (0, "")
    assert "NCCL_DEBUG=WARN\n" in (tmp_path / "new" / "nccl.conf").read_text()
    assert "GPU_FABRIC_PORTS=32\n" in (tmp_path / "new" / "environment.sh").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("p5.48xlrage",), "did you mean p5.48xlarge?"),
        ((P5, "--nccl-version", "new"), "nccl_version: 'new' is not a version such as 2.30.7"),
        ((P5, "--set", "NCCL_DEBUG"), "'NCCL_DEBUG': write NAME=VALUE"),
        ((P5, "--preset", "theirs"), "preset: 'theirs' is not one of guide"),
        (("p5en.48xlarge", "--topology-file", "ours"), "no PCI layout of p5en.48xlarge is published"),
        ((P5, "--directory", "/dev/null/a"), "Not a directory"),
    ],
)
def test_bad_input_of_environment_gets_a_line_and_exit_code_2(
    cli: Cli, arguments: tuple[str, ...], says: str
) -> None:
    ran = cli("environment", *arguments)
    assert (ran.code, ran.output) == (2, "")
    assert says in ran.said
    assert "Traceback" not in ran.said


# ---- topology


def test_topology_prints_the_file_of_a_size(cli: Cli) -> None:
    shown = cli("topology", NDV5).output
    assert shown.startswith('<system version="1"')
    assert shown == cli("topology", NDV5).output


def test_topology_reads_a_file_and_standard_input(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = cli("topology", NDV5).output
    file = tmp_path / "topo.xml"
    file.write_text(text)
    assert cli("topology", file).output == text
    from io import BytesIO, TextIOWrapper

    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))
    assert cli("topology", "-").output == text


def test_topology_draws_in_text_and_svg(cli: Cli) -> None:
    assert "CPU 0" in cli("topology", P5, "--draw", "text").output
    assert cli("topology", P5, "--draw", "svg").output.startswith("<svg")


def test_topology_compares(cli: Cli) -> None:
    same = cli("topology", NDV5, "--compare", NDV5)
    assert (same.code, same.output) == (0, "the same to NCCL\n")
    differs = cli("topology", NDV5, "--compare", P5)
    assert differs.code == 1
    assert "is in the first topology alone" in differs.output
    assert json.loads(cli("topology", NDV5, "--compare", P5, "--json").output)[0]["change"]


def test_topology_cuts_down_to_some_gpus(cli: Cli) -> None:
    two = cli("topology", NDV5, "--subset", "0,1").output
    assert two.count('class="0x030200"') == 2


def test_topology_tells_the_path_from_each_gpu_to_each_card(cli: Cli) -> None:
    shown = cli("topology", NDV5, "--paths").output
    assert "PIX 48" in shown
    assert "SYS 22" in shown
    assert "in GB/s" in shown
    paths = json.loads(cli("topology", NDV5, "--paths", "--json").output)
    assert len(paths) == 64
    assert {path["type"] for path in paths} == {"PIX", "PHB", "SYS"}
    assert all(path["hops"] for path in paths)


def test_topology_as_json(cli: Cli) -> None:
    assert len(json.loads(cli("topology", NDV5, "--json").output)["cpus"]) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Give a size, a file, or --from-host."),
        ((P5, "--from-host"), "Give a size, a file, or --from-host."),
        (("p5en.48xlarge",), "p5en.48xlarge has no published PCI layout"),
        ((P5, "--draw", "text", "--paths"), "exclude each other"),
        ((P5, "--subset", "0,99"), "99"),
        ((P5, "--row"), "add --from-host"),
        (("nothing.xml",), "nothing.xml: No such file or directory"),
        (("folder/p5.48xlarge",), "folder/p5.48xlarge: No such file or directory"),
        (("/",), "/: Is a directory"),
        ((P5, "--compare", "nothing.xml"), "nothing.xml: No such file or directory"),
        (("P5.48XLARGE",), "unknown size 'P5.48XLARGE': did you mean p5.48xlarge? "),
    ],
)
def test_bad_input_of_topology_gets_a_line_and_exit_code_2(
    cli: Cli, arguments: tuple[str, ...], says: str
) -> None:
    ran = cli("topology", *arguments)
    assert (ran.code, ran.output) == (2, "")
    assert says in ran.said


def test_a_file_that_is_no_topology_gets_its_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "topo.xml"
    file.write_text('<?xml version="1.0"?>\n<system version="1"/>\n')
    ran = cli("topology", file)
    assert (ran.code, ran.output) == (1, "")
    assert f"{file}:1: error: NCCL rejects the file: it begins with an XML declaration." in ran.said
    assert "line 1" in cli("topology", file, "--paths").said


def test_a_file_that_nccl_takes_otherwise_than_written_is_not_printed_as_if_nothing_were(cli: Cli) -> None:
    ran = cli("topology", GUIDE / "nccl-topo-p5.xml")
    assert (ran.code, ran.output) == (1, "")
    for code in ("topology-class-missing", "topology-element-misplaced", "topology-affinity-ranges"):
        assert f"[{code}]" in ran.said
    drawn = cli("topology", GUIDE / "nccl-topo-p5.xml", "--draw", "text")
    assert (drawn.code, "[topology-element-misplaced]" in drawn.said) == (0, True)


def test_no_more_of_a_topology_is_read_than_is_looked_at(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "topology.xml"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    for arguments in (("topology", file), ("cloud-init", P5, "--topology-xml", file)):
        ran = cli(*arguments)
        assert ran.code in (1, 2)
        assert "[topology-too-large]" in ran.said


def test_a_dump_of_the_same_layout_compares_as_the_same(cli: Cli, tmp_path: Path) -> None:
    text = cli("topology", NDV5).output.replace(f' name="{NDV5}"', "")
    gpu = 'class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"'
    dump = tmp_path / "dump.xml"
    dump.write_text(text.replace(f"{gpu}/>", f'{gpu}><gpu dev="0" sm="90" rank="0" gdr="1"/></pci>'))
    assert dump.read_text().count("<gpu ") == 8
    ran = cli("topology", dump, "--compare", NDV5)
    assert (ran.code, ran.output) == (0, "the same to NCCL\n")
    assert cli("topology", NDV5, "--compare", "Standard_ND96isr_H200_v5").code == 0


def test_a_machine_without_gpus_has_no_topology(cli: Cli, tmp_path: Path) -> None:
    ran = cli("topology", "--from-host", "--root", tmp_path)
    assert ran.code == 2
    assert "no NVIDIA GPU" in ran.said


# ---- lint


def test_lint_of_the_guides_script_and_topology_fails_and_counts(cli: Cli) -> None:
    ran = cli("lint", GUIDE / "entrypoint.sh", GUIDE / "nccl-topo-p5.xml", "--for", P5)
    assert ran.code == 1
    for code in ("env-removed", "env-no-nvls", "env-interfaces-miss", "env-topology-replaces-plugin"):
        assert f"[{code}]" in ran.output
    assert "NCCL rejects the file" in ran.output
    assert "entrypoint.sh:29: error: NCCL_ALGO=RING,TREE takes NVLS and NVLSTree from AllReduce" in ran.output
    assert ran.output.rstrip().endswith("notes")


def test_lint_for_two_clouds_names_the_one_that_a_finding_is_about(cli: Cli) -> None:
    shown = cli("lint", GUIDE / "entrypoint.sh", "--for", P5, "--for", NDV5).output
    assert f"unless the link is Ethernet. ({NDV5}) [env-ignored-on-infiniband]" in shown
    assert "it does nothing. [env-removed]" in shown


def test_a_clean_file_passes(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "nccl.conf"
    file.write_text(cli("environment", NDV5).output)
    ran = cli("lint", file, "--for", NDV5, "--strict")
    assert (ran.code, ran.output) == (0, "0 errors, 0 warnings, 0 notes\n")


def test_strict_counts_warnings_and_ignore_leaves_codes_out(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.sh"
    file.write_text("export NCCL_DEBUG=INFO\n")
    assert cli("lint", file).code == 0
    assert cli("lint", file, "--strict").code == 1
    assert cli("lint", file, "--strict", "--ignore", "env-debug-loud").code == 0
    wrong = cli("lint", file, "--ignore", "env-loud")
    assert wrong.code == 2
    assert "env-loud: no such code" in wrong.said


def test_without_a_size_lint_says_what_it_did_not_check(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.sh"
    file.write_text("export NCCL_IB_SL=5\n")
    assert "With --for SIZE" in cli("lint", file).said
    assert cli("lint", file, "--for", NDV5).said == ""


def test_lint_reads_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from io import BytesIO, TextIOWrapper

    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"NCCL_IB_CUDA_SUPPORT=1\n")))
    ran = cli("lint", "-")
    assert ran.code == 1
    assert ran.output.startswith("<stdin>:1: error: NCCL_IB_CUDA_SUPPORT is removed")


def test_lint_as_json_and_sarif(cli: Cli) -> None:
    document = json.loads(cli("lint", GUIDE / "entrypoint.sh", "--for", P5, "--json").output)
    assert document["counts"]["error"] == 5
    log = json.loads(cli("lint", GUIDE / "entrypoint.sh", "--for", P5, "--sarif").output)
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert {"id": "env-removed", "shortDescription": {"text": "A name that NCCL no longer reads"}} in rules
    assert cli("lint", GUIDE / "entrypoint.sh", "--json", "--sarif").code == 2


def test_fix_writes_the_mended_files_and_reports_what_is_left(cli: Cli, tmp_path: Path) -> None:
    script, topology = tmp_path / "entrypoint.sh", tmp_path / "nccl-topo-p5.xml"
    script.write_bytes((GUIDE / "entrypoint.sh").read_bytes())
    topology.write_bytes((GUIDE / "nccl-topo-p5.xml").read_bytes())
    ran = cli("lint", script, topology, "--for", P5, "--fix")
    assert f"mended {script}" in ran.said
    assert f"mended {topology}" in ran.said
    assert "entrypoint.sh" not in ran.output, "nothing is left to find in the script"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert cli("lint", script, "--for", P5).code == 0


def test_fix_keeps_bytes_that_are_no_text(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "a.sh"
    script.write_bytes(b"# caf\xe9\nexport NCCL_DEBUG=INFO\n")
    cli("lint", script, "--fix")
    assert script.read_bytes() == b"# caf\xe9\nexport NCCL_DEBUG=WARN\n"


def test_bytes_that_are_no_text_do_not_stop_the_report(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.sh"
    file.write_bytes(b"export NCCL_P2P_LEVEL=n\xe9ar\n")
    for option in ((), ("--json",), ("--sarif",)):
        ran = cli("lint", file, *option)
        assert (ran.code, "NCCL_P2P_LEVEL=n?ar" in ran.output) == (1, True)


@pytest.mark.parametrize("name", ["a.sh", "nccl.conf", "topology.xml"])
def test_of_a_file_that_is_too_large_for_memory_only_the_beginning_is_read(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    ran = cli("lint", file, "--fix")
    assert ran.code == 1
    assert "The file has more than 4,194,304 bytes and was not looked at." in ran.output
    assert file.stat().st_size == 1 << 40


def test_a_file_of_another_kind_is_not_called_clean(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("os.environ['NCCL_ALGO'] = 'Ring'\n")
    ran = cli("lint", file)
    assert ran.code == 1
    assert "This is no kind of file that lint reads (.py): nothing of it was checked." in ran.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tests/data/guide/entrypoint.sh", "--plugin-version", "x"), "plugin_version: 'x' is not a version"),
        (("missing.sh",), "missing.sh: No such file or directory"),
        (("tests",), "tests: Is a directory"),
        ((), "Missing argument"),
        (("tests/data/guide/entrypoint.sh", "--for", "p9"), "unknown size 'p9'"),
        (("tests/data/guide/entrypoint.sh", "--nccl-version", "x"), "nccl_version: 'x' is not a version"),
    ],
)
def test_bad_input_of_lint_gets_a_line_and_exit_code_2(
    cli: Cli, arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ran = cli("lint", *arguments)
    assert (ran.code, ran.output) == (2, "")
    assert says in ran.said


# ---- cloud-init


def test_cloud_init_prints_text_that_yaml_reads_and_says_how_large_it_is(cli: Cli) -> None:
    ran = cli("cloud-init", P5, "--command", "echo done", "--package", "jq")
    document = yaml.safe_load(ran.output)
    assert document["packages"] == ["jq"]
    assert any("echo done" in entry["content"] for entry in document["write_files"])
    assert ran.said.endswith("bytes after gzip, of 16,384\n")
    assert cli("cloud-init", NDV5).said.endswith("of 65,535\n")


def test_cloud_init_as_json(cli: Cli) -> None:
    document = json.loads(cli("cloud-init", NDV5, "--json").output)
    assert document["text"].startswith("#cloud-config\n")
    assert 0 < document["gzip_bytes"] < document["text_bytes"]
    assert document["limit_bytes"] == 65535


def test_cloud_init_as_the_bytes_that_the_cloud_takes(cli: Cli) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "gpu_fabric.cli", "cloud-init", P5, "--gzip"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert gzip.decompress(ran.stdout).decode() == cli("cloud-init", P5).output


def test_cloud_init_that_is_too_large_gives_the_bytes(cli: Cli) -> None:
    from random import Random

    noise = Random(1).randbytes(12_000).hex()
    ran = cli("cloud-init", P5, "--command", f"echo {noise}")
    assert (ran.code, ran.output) == (2, "")
    assert "bytes after gzip and the limit is 16,384: shorten the extra commands by" in ran.said


def test_a_topology_of_ones_own_is_installed(cli: Cli, tmp_path: Path) -> None:
    own = tmp_path / "own.xml"
    own.write_text(cli("topology", P5).output.replace("p5.48xlarge", "own"))
    written = yaml.safe_load(cli("cloud-init", "p5en.48xlarge", "--topology-xml", own).output)["write_files"]
    assert own.read_text() in [entry["content"] for entry in written]


BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE system [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n'
    '<system version="1">&b;</system>\n'
)


@pytest.mark.parametrize(
    ("text", "size", "code"),
    [
        (BOMB, P5, "topology-doctype"),
        ("not a topology", P5, "topology-text"),
        ("", P5, "topology-empty"),
        ((GUIDE / "nccl-topo-p5.xml").read_text(), P5, "topology-element-misplaced"),
        (NDV5, "Standard_ND96asr_v4", "topology-devices-missing"),
    ],
    ids=["bomb", "text", "empty", "guide", "another-size"],
)
def test_a_topology_that_nccl_does_not_take_on_the_size_is_not_installed(
    cli: Cli, tmp_path: Path, text: str, size: str, code: str
) -> None:
    own = tmp_path / "own.xml"
    own.write_text(cli("topology", text).output if text == NDV5 else text)
    ran = cli("cloud-init", size, "--topology-xml", own)
    assert (ran.code, ran.output) == (2, "")
    assert f"[{code}]" in ran.said
    assert f"{own} is not installed" in ran.said


# ---- pages


@pytest.mark.parametrize("name", pages())
def test_the_pages_are_those_that_the_data_gives(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run: python -m gpu_fabric.cli.pages"


def test_the_page_of_the_command_line_reads_as_intended(snapshot: SnapshotAssertion) -> None:
    assert pages()["cli.md"] == snapshot


def test_a_reader_that_stops_early_gets_no_complaint() -> None:
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m gpu_fabric.cli sizes --json | head -n 1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "[\n"
    assert ran.stderr == ""
