"""`gpu-fabric plan` and `gpu-fabric prices`, as typed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpu_fabric.cli import main

STACK = """
config:
  aws:region: us-east-1
  azure-native:location: eastus
  gpu-fabric:fabric:
    aws: {{ zone: us-east-1a, instanceType: {size}, nodes: 2 }}
    azure: {{ vmSize: Standard_ND96isr_H100_v5, nodes: 2 }}
    interconnect: {{ partner: manual, bandwidthMbps: 10000 }}
    training: {{ model: {model}, globalBatch: 256 }}
"""


@dataclass(frozen=True)
class Ran:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in a folder of its own, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def go(*arguments: str, model: str = "llama-3-8b", size: str = "p5.48xlarge") -> Ran:
        (tmp_path / "Pulumi.dev.yaml").write_text(STACK.format(model=model, size=size))
        monkeypatch.setattr(sys, "argv", ["gpu-fabric", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        code = left.value.code
        return Ran(code if isinstance(code, int) else 0, said.out, said.err)

    return go


def test_plan_prints_the_report_of_a_stack_file_as_markdown(run):
    ran = run("plan", "Pulumi.dev.yaml")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("# Fabric report: dev\n")
    assert len(ran.stdout) < 60_000


def test_plan_writes_the_format_that_the_files_name_asks_for(run, tmp_path):
    ran = run("plan", "Pulumi.dev.yaml", "--output", "report.html")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == "wrote report.html\n"
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_plan_prints_json_for_programs(run):
    ran = run("plan", "Pulumi.dev.yaml", "--format", "json")
    document = json.loads(ran.stdout)
    assert document["fabric"] == "dev"
    assert document["summary"]["step time"]["unit"] == "s"


def test_plan_ends_with_one_when_nothing_fits_and_says_what_would(run):
    ran = run("plan", "Pulumi.dev.yaml", model="llama-3-405b")
    assert ran.returncode == 1
    assert "does not fit; it needs at least" in ran.stderr
    assert ran.stdout.startswith("# Fabric report")


def test_plan_says_every_problem_of_the_stack_file_without_a_traceback(run):
    ran = run("plan", "Pulumi.dev.yaml", model="llama3-8b", size="p5.48xlarg")
    assert (ran.returncode, ran.stdout) == (2, "")
    lines = ran.stderr.splitlines()
    assert lines[0].startswith(
        "error: fabric.aws.instanceType: unknown size 'p5.48xlarg': did you mean p5.48xlarge?"
    )
    assert lines[1].startswith(
        "error: fabric.training.model: unknown model 'llama3-8b': did you mean llama-3-8b?"
    )
    assert len(lines) == 2


def test_plan_knows_the_sizes_that_the_stack_file_describes(run, tmp_path):
    row = (
        "{ cloud: aws, vcpus: 192, memoryGib: 2048, fabric: efa, fabricPorts: 16, fabricPortGbps: 400, "
        f"efaGeneration: '4', efaCards: {list(range(16))}, networkCards: 16, interfacesPerCard: 2, cpuArch: x86_64, "
        "gpu: { model: B200, count: 8, memoryGb: 179, computeCapability: 100 } }"
    )
    text = STACK.format(model="llama-3-8b", size="p9.huge") + f"    sizes: {{ p9.huge: {row} }}\n"
    (tmp_path / "Pulumi.own.yaml").write_text(text)
    ran = run("plan", "Pulumi.own.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "2 x p9.huge" in ran.stdout
    assert "no on demand price of p9.huge" in ran.stdout
    (tmp_path / "Pulumi.own.yaml").write_text(text.replace("cloud: aws", "cloud: moon"))
    ran = run("plan", "Pulumi.own.yaml")
    assert ran.returncode == 2
    assert "fabric.sizes.p9.huge.cloud: 'moon' is not a cloud; give `aws` or `azure`" in ran.stderr


AWS_ALONE = """
config:
  aws:region: us-east-1
  gpu-fabric:fabric:
    aws:
      zone: us-east-1a
      instanceType: p5.48xlarge
      nodes: 4
      rootVolume: {{ sizeGib: 80, iops: 3000, throughputMibps: 125 }}
      network: {{ internet: endpoints }}
      nccl:
        environment: {{ NCCL_ALGO: "RING,TREE", NCCL_IB_CUDA_SUPPORT: "1" }}
        topology: active
    training: {{ model: llama-3-8b, globalBatch: 256 }}
{more}"""


def _write(folder: Path, more: str = "", **replaced: str) -> str:
    text = AWS_ALONE.format(more=more)
    for old, new in replaced.items():
        text = text.replace(old, new)
    (folder / "Pulumi.own.yaml").write_text(text)
    return "Pulumi.own.yaml"


def test_plan_shows_the_variables_findings_and_bill_of_the_whole_stack_file(run, tmp_path):
    document = json.loads(run("plan", _write(tmp_path), "--json").stdout)
    assert document["findings"], "lint says something of both variables"
    items = {item["item"]: item for item in document["cost"]["items"]}
    assert items["root disks (gp3)"]["quantity"] == 4 * 80
    assert "VPC interface endpoints" in items
    assert not any("NAT" in name or "above" in name for name in items)
    text = run("plan", "Pulumi.own.yaml").stdout
    assert "| NCCL_ALGO | RING,TREE |" in text
    assert "| NCCL_IB_CUDA_SUPPORT | 1 |" in text
    assert "| NCCL_TOPO_FILE |" in text, "the topology file was made active"
    assert "## Address plan" in text


def test_plan_says_the_same_as_the_program_does(run, tmp_path):
    from gpu_fabric.components.config import read_fabric
    from gpu_fabric.components.report import fabric_report
    from gpu_fabric.planning.spec import stack_file

    printed = run("plan", _write(tmp_path)).stdout
    file = stack_file(tmp_path / "Pulumi.own.yaml")
    settings = read_fabric(file.fabric, aws_region=file.aws_region, name=file.name)
    assert printed.rstrip() == fabric_report(settings).markdown().rstrip()


def test_plan_shows_what_a_preview_refuses_and_plans_all_the_same(run, tmp_path):
    name = _write(tmp_path, **{"iops: 3000": "iops: 300"})
    ran = run("plan", name)
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: fabric.aws.rootVolume.iops: ")
    assert "`pulumi preview` refuses this stack file as it is: see Findings." in ran.stdout
    assert "| NCCL_ALGO | RING,TREE |" in ran.stdout, "the user's variables are in force also then"
    document = json.loads(run("plan", name, "--json").stdout)
    assert [f"error: {line}" for line in document["refused"]] == ran.stderr.splitlines()
    assert document["summary"]["step time"]["value"] > 0


def test_plan_without_pulumi_says_what_it_did_not_read(run, tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("gpu_fabric.components")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pulumi", None)
    ran = run("plan", _write(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert "Pulumi is not installed here, so the rest of the stack file was not read" in ran.stdout
    assert "| NCCL_ALGO | RING,TREE |" in ran.stdout
    assert "env-" in ran.stdout, "lint's findings do not need Pulumi"
    assert "NAT gateway" not in ran.stdout


def test_an_unknown_key_beside_the_clouds_is_an_error_and_no_plan(run, tmp_path):
    ran = run("plan", _write(tmp_path, more="    interconect: { partner: manual, bandwidthMbps: 1000 }"))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert (
        "error: fabric.interconect: is not a key that is known here; did you mean `interconnect`?"
        in ran.stderr
    )


def test_a_zone_of_another_region_is_an_error_and_not_priced_as_if_nothing_were(run, tmp_path):
    ran = run("plan", _write(tmp_path, **{"aws:region: us-east-1": "aws:region: us-west-2"}))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "us-east-1a is a zone of us-east-1, and aws:region is us-west-2" in ran.stderr


def test_one_gpu_is_planned_without_collectives(run, tmp_path):
    name = _write(
        tmp_path,
        **{"p5.48xlarge": "p5.4xlarge", "nodes: 4": "nodes: 1", "topology: active": "topology: default"},
    )
    for format_ in ("md", "html", "json"):
        ran = run("plan", name, "--format", format_)
        assert "Traceback" not in ran.stderr
        assert "inf" not in ran.stdout.replace("infi", "").replace("info", "").replace("infra", "")
    assert "one GPU has nobody to talk to" in run("plan", name).stdout


@pytest.mark.parametrize("format_", ["md", "html", "json"])
def test_a_price_file_with_a_wrong_number_is_an_error_with_its_row(run, tmp_path, format_):
    rows = json.loads(run("prices", "p5.48xlarge", "--json").stdout)
    rows["prices"][0]["usd"] = "abc"
    (tmp_path / "own.json").write_text(json.dumps(rows))
    ran = run("plan", "Pulumi.dev.yaml", "--format", format_, "--prices", "own.json")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "error: own.json: prices.0.usd: Input should be a valid number; got 'abc'; correct the row, or take it out\n"
    )


def test_plan_of_a_file_that_is_not_there_says_so(run):
    ran = run("plan", "Pulumi.prod.yaml")
    assert ran.returncode == 2
    assert (
        ran.stderr
        == "error: Pulumi.prod.yaml: cannot be read (No such file or directory); give a stack file\n"
    )


def test_own_prices_win_over_the_published_ones(run, tmp_path):
    rows = json.loads(run("prices", "p5.48xlarge", "--json").stdout)
    for row in rows["prices"]:
        row["usd"] = 10.0
    (tmp_path / "own.json").write_text(json.dumps(rows))
    cheap = json.loads(run("plan", "Pulumi.dev.yaml", "--format", "json", "--prices", "own.json").stdout)
    item = next(item for item in cheap["cost"]["items"] if item["item"].startswith("p5.48xlarge"))
    assert item["usdPerHour"] == 20.0


def test_prices_lists_what_is_known_by_item_name_and_region(run):
    ran = run("prices", "expressroute-circuit", "--region", "Zone 1")
    assert ran.returncode == 0
    assert "3400" in ran.stdout
    assert "82000" not in ran.stdout


def test_prices_names_what_has_none(run):
    ran = run("prices", "p5e.48xlarge", "p9.huge")
    assert ran.stderr == "p9.huge: no price is known\n"
    assert "capacityBlock" in ran.stdout


def test_a_price_list_that_cannot_be_reached_is_a_message(run, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    ran = run("prices", "--refresh")
    assert ran.returncode == 2
    assert "the price list cannot be reached" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_plan_runs_as_a_process_of_its_own(tmp_path):
    (tmp_path / "Pulumi.dev.yaml").write_text(STACK.format(model="llama-3-8b", size="p5.48xlarge"))
    ran = subprocess.run(
        [sys.executable, "-m", "gpu_fabric.cli", "plan", str(tmp_path / "Pulumi.dev.yaml"), "--json"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(ran.stdout)["fabric"] == "dev"
