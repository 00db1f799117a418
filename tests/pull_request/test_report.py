"""The report of a branch pair: one that changes nodes, the MTU of the nodes' interface, and a NIC layout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from gpu_fabric.engine.binary import Engine
from gpu_fabric.pull_request import runs
from gpu_fabric.pull_request.errors import InputError
from gpu_fabric.pull_request.runs import Request, common_commit, drift_note, refreshed
from tests.simulated import PULUMI_YAML, ROOT, SimulatedStack

BASE = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}
TRAINING = {"model": "llama-3-70b", "globalBatch": 1024}


def git(folder: Path, *arguments: str) -> None:
    line = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(line, cwd=folder, check=True, capture_output=True)


def commit(folder: Path, aws: dict, **files: str) -> None:
    config = {"aws:region": "us-east-1", "gpu-fabric:fabric": {"aws": aws, "training": TRAINING}}
    (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of another team's with one project, on branch `change` off `main`."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text(".rehearsal/\n")
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(PULUMI_YAML))
    shutil.copy(ROOT / "__main__.py", folder / "__main__.py")
    commit(folder, {**BASE, "bootstrap": {"after": ["ip link set dev ens32 mtu 9001"]}})
    git(folder, "checkout", "-q", "-b", "change")
    return folder


def report(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "gpu_fabric.pull_request", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.engine
def test_a_branch_that_changes_nodes_mtu_and_layout_is_told_what_that_does(repository: Path) -> None:
    changed = {**BASE, "nodes": 8, "interfaces": "allEfa"}
    commit(
        repository,
        {**changed, "bootstrap": {"after": ["ip link set dev ens32 mtu 1500"]}},
        **{"job.sh": "export NCCL_NET_GDR_LEVEL=LOC\n"},
    )
    done = report(repository, "--sarif", "lint.sarif", "--output", "full.md")
    text = done.stdout
    assert done.returncode == 1, done.stderr
    assert text.startswith("<!-- gpu-fabric: dev -->\n")
    assert "| preview | passed | 31 unchanged, 2 to update |" in text
    assert "| policies | passed | 0 mandatory, 1 advisory, 0 undecided |" in text
    assert "| lint | **failed** | 1 error," in text
    assert "`job.sh:1` NCCL_NET_GDR_LEVEL=LOC switches GPUDirect RDMA off" in text
    assert "| update | train-aws-fleet | aws:autoscaling:Group | `desiredCapacity`: 4 → 8;" in text
    assert "`networkInterfaces[*].interfaceType`: interface → efa, efa-only → efa (31 times)" in text
    assert "ip link set dev ens32 mtu 9001` → `" in text
    assert "ip link set dev ens32 mtu 1500`;" in text
    hours = next(line for line in text.splitlines() if line.startswith("| an hour of training |"))
    assert hours.rpartition("| ")[2].startswith("+")
    step = next(line for line in text.splitlines() if line.startswith("| step time |"))
    assert step.rpartition("| ")[2].startswith("-")
    assert "```mermaid\nflowchart" in text
    assert "Not looked for: the clouds of this run are simulated." in text
    sarif = json.loads((repository / "lint.sarif").read_text())
    assert sarif["runs"][0]["results"][0]["ruleId"] == "env-gdr-off"
    assert (repository / "full.md").read_text().startswith("<!-- gpu-fabric: dev -->\n")
    # The base branch's files are gone again, and the stack's own folder was not touched.
    assert not (repository / ".rehearsal").exists()
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1


@pytest.mark.engine
def test_policies_that_cannot_be_asked_fail_the_report_with_the_engine_s_words(repository: Path) -> None:
    (repository / "levels.json").write_text(json.dumps({"gpudirect": {"failOn": "never"}}))
    done = report(repository, "--policy-config", "levels.json", "--output", "full.md")
    assert done.returncode == 1
    assert "| preview | passed | 33 unchanged |" in done.stdout
    assert "| policies | **failed** |  |" in done.stdout
    assert "<details open><summary>The policies could not be asked</summary>" in done.stdout
    assert "failOn" in done.stdout


@pytest.mark.engine
def test_a_base_that_fails_half_way_leaves_nothing_to_compare_with(repository: Path) -> None:
    program = (repository / "__main__.py").read_text()
    git(repository, "checkout", "-q", "main")
    commit(repository, BASE, **{"__main__.py": program + "\nraise RuntimeError('half way')\n"})
    git(repository, "checkout", "-q", "-B", "change")
    commit(repository, BASE, **{"__main__.py": program, "größe.sh": "export NCCL_NET_GDR_LEVEL=LOC\n"})
    (repository / "-x.sh").write_text("export NCCL_NET_GDR_LEVEL=LOC\n")
    git(repository, "add", "-A")
    done = report(repository)
    text = done.stdout
    assert "cannot be deployed on simulated clouds</summary>" in text
    assert "<summary>Why the base cannot be deployed</summary>" in text
    assert "RuntimeError: half way" in text
    assert "| preview | passed | 33 to create |" in text
    # Names that git quotes, and that look like options, are read as well.
    assert done.returncode == 1
    assert "`größe.sh:1` " in text
    assert "`-x.sh:1` " in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"config: [\n", "Pulumi.dev.yaml"),
        (b"config: 5\n", "invalid YAML file"),
        (b"config:\n  gpu-fabric:fabric: text\n", "fabric: text stands where a map belongs"),
        (b"x: caf\xe9\n", "Pulumi.dev.yaml"),
    ],
)
@pytest.mark.engine
def test_a_stack_file_that_cannot_be_read_is_told_in_the_comment(
    repository: Path, text: bytes, words: str
) -> None:
    (repository / "Pulumi.dev.yaml").write_bytes(text)
    (repository / "job.sh").write_text("date\n")
    git(repository, "add", "-A")
    done = report(repository)
    assert done.returncode == 1, done.stderr
    (said,) = re.findall(r"<summary>The preview failed</summary>\n\n```\n(.*?)\n```", done.stdout, re.DOTALL)
    assert words in said
    assert str(repository) not in done.stdout


def test_a_branch_that_removes_a_stack_is_told_what_stays(repository: Path) -> None:
    git(repository, "rm", "-q", "Pulumi.dev.yaml")
    git(repository, "commit", "-q", "-m", "gone")
    done = report(repository)
    assert done.returncode == 0, done.stderr
    assert "This branch removes the stack: `Pulumi.dev.yaml` is on main (" in done.stdout
    assert "until somebody runs `pulumi destroy`" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"no-such-rule": "mandatory"}',
            "levels.json: no-such-rule: no such rule; the rules are all, drivers, ",
        ),
        ("{", "levels.json: it is no JSON"),
    ],
)
def test_a_policy_configuration_of_rules_that_there_are_not_is_refused(
    repository: Path, text: str, message: str
) -> None:
    (repository / "levels.json").write_text(text)
    done = report(repository, "--policy-config", "levels.json")
    assert done.returncode == 2
    assert message in done.stderr


def test_a_base_that_only_origin_has_is_found(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-b", "change", str(repository), str(clone))
    assert common_commit(clone, "main") == common_commit(repository, "main")


def test_branches_without_a_common_commit_are_told_to_fetch_all(repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "other")
    git(repository, "commit", "-q", "-m", "other")
    with pytest.raises(
        InputError, match=r"main and this branch have no commit in common here; .*fetch-depth: 0"
    ):
        common_commit(repository, "main")


def test_without_git_the_report_says_what_is_missing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(InputError, match="git is not on PATH"):
        common_commit(repository, "main")


def test_files_for_the_lint_are_named_from_the_folder_of_the_call(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = repository / "inner"
    inner.mkdir()
    (inner / "run.sh").write_text("export NCCL_NET_GDR_LEVEL=LOC\n")
    monkeypatch.chdir(inner)
    request = Request(repository, repository, "dev", "main", lint=(Path("run.sh"),))
    files = runs._given(request)
    assert files is not None
    assert files == ["inner/run.sh"]
    findings, sarif, failure = runs._lint(request, files, ["p5.48xlarge"])
    assert failure == ""
    assert findings["counts"]["error"] == 1
    assert "inner/run.sh" in sarif


def test_changed_files_are_linted_wherever_they_lie_but_for_those_that_are_left_out(repository: Path) -> None:
    (repository / "tests").mkdir()
    for name in ("tests/smoke.sh", "Dockerfile.train"):
        (repository / name).write_text("ENV FI_PROVIDER=tcp\nexport FI_PROVIDER=tcp\n")
    git(repository, "add", "-A")
    base = common_commit(repository, "main")
    request = Request(repository, repository, "dev", "main")
    for given, names in (
        (request, {"tests/smoke.sh", "Dockerfile.train"}),
        (replace(request, not_linted=("tests/*",)), {"Dockerfile.train"}),
    ):
        findings, _, failure = runs._lint(given, base, ["p5.48xlarge"])
        assert failure == ""
        assert {one["path"] for one in findings["findings"]} == names


def test_the_sizes_of_a_program_without_our_stack_file_are_those_that_its_preview_names() -> None:
    steps = [
        {"op": "same", "newState": {"inputs": {"instanceType": "p5.48xlarge", "tags": {"a": "b"}}}},
        {"op": "create", "newState": {"inputs": {"sku": [{"name": "Standard_ND96isr_H100_v5"}]}}},
        {"op": "delete", "newState": None},
        {"op": "create", "newState": {"inputs": {"instanceType": "t3.micro"}}},
    ]
    assert runs._previewed_sizes({"steps": steps}) == {"p5.48xlarge", "Standard_ND96isr_H100_v5"}


def test_a_file_that_the_lint_cannot_read_is_a_failure_with_its_words(repository: Path) -> None:
    request = Request(repository, repository, "dev", "main")
    (repository / "gone.sh").symlink_to("nowhere")
    git(repository, "add", "-A")
    _, _, failure = runs._lint(request, common_commit(repository, "main"))
    assert "gone.sh" in failure


@pytest.mark.engine
def test_what_somebody_changed_beside_pulumi_is_named_with_both_values(
    repository: Path, engine: Engine
) -> None:
    stack = SimulatedStack(repository, engine)
    stack.ok("up")
    assert drift_note(json.loads(refreshed(repository, "dev").stdout)) == (
        "None: the cloud holds what the state says."
    )
    (vpc,) = (one["id"] for one in stack.holdings() if one["kind"] == "aws:ec2/vpc:Vpc")
    line = [sys.executable, "-m", "gpu_fabric.rehearsal", "--database", str(stack.database), "drift"]
    line += ["aws:ec2/vpc:Vpc", vpc, "enableDnsHostnames", "false"]
    subprocess.run(line, cwd=ROOT, check=True, capture_output=True)
    note = drift_note(json.loads(refreshed(repository, "dev").stdout))
    assert note.splitlines()[-1] == (
        "| update | train-aws-vpc | aws:ec2:Vpc | `enableDnsHostnames`: True → False |"
    )


@pytest.mark.engine
def test_a_program_that_ends_in_an_error_fails_the_report_and_shows_the_error(repository: Path) -> None:
    commit(repository, {**BASE, "zone": "us-west-2a"})
    done = report(repository)
    assert done.returncode == 1
    assert "| preview | **failed** |" in done.stdout
    assert "| policies | not reached |" in done.stdout
    assert "fabric.aws.zone" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--stack", "prod"), "error: ./Pulumi.prod.yaml is not there; name another --stack or --project"),
        (("--lint", "x.sh", "--lint", "y.sh"), "error: --lint x.sh, y.sh: there is no such file"),
        (("--output", "out/a.md"), "error: --output out/a.md: there is no folder out; make it first"),
        (("--sarif", "no/a.sarif"), "error: --sarif no/a.sarif: there is no folder no; make it first"),
        (
            ("--pull-request", "5"),
            "error: --pull-request needs GITHUB_TOKEN and GITHUB_REPOSITORY in the environment",
        ),
        (("--for", "p9.huge"), "error: --for p9.huge: no such size; `gpu-fabric sizes` lists them"),
        (
            ("--base", "nowhere"),
            "error: there is no branch or commit nowhere here, nor origin/nowhere; name another --base, or fetch it",
        ),
    ],
)
def test_what_is_not_there_ends_with_code_2_and_a_message(
    repository: Path, arguments: tuple[str, str], message: str
) -> None:
    done = report(repository, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
