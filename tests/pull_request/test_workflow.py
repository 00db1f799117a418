"""The workflow and the hook: checked with actionlint where Go is, and against the script's own options."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import yaml

from gpu_fabric.pull_request.runs import LINTED
from tests.not_run import not_run
from tests.simulated import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "preview.yml"
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"


@pytest.mark.online
def test_actionlint_finds_nothing() -> None:
    if shutil.which("go") is None:
        not_run("there is no go on PATH to run actionlint with")
    done = subprocess.run(
        ["go", "run", ACTIONLINT, *map(str, sorted(WORKFLOW.parent.glob("*.yml")))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflow_uses_options_that_the_script_has() -> None:
    from gpu_fabric.pull_request.__main__ import main

    known = {name for parameter in main.params for name in parameter.opts}
    (step,) = (
        each
        for each in yaml.safe_load(WORKFLOW.read_text())["jobs"]["report"]["steps"]
        if each.get("name") == "Report"
    )
    assert set(re.findall(r"--[a-z-]+", step["run"])) <= known


def test_ci_runs_make_targets_and_files_that_are_there() -> None:
    targets = set(re.findall(r"^([a-z.][\w./-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    jobs = yaml.safe_load((WORKFLOW.parent / "ci.yml").read_text())["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    for words in (run.split() for run in runs):
        if words[0] == "make":
            assert set(words[1:]) <= targets
        else:
            named = [word for word in words if "/" in word and not word.startswith(".venv/")]
            assert all((ROOT / word).exists() for word in named), words


def test_every_action_is_pinned_by_its_commit_and_says_which_release_that_is() -> None:
    for file in WORKFLOW.parent.glob("*.yml"):
        for line in re.findall(r"^\s*(?:- )?uses: (.*)$", file.read_text(), re.MULTILINE):
            assert line.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), (
                line
            )


def test_the_workflow_of_this_repository_grants_no_more_than_the_report_needs_and_gives_inputs_that_there_are() -> (
    None
):
    given = yaml.safe_load((WORKFLOW.parent / "pull-request.yml").read_text())
    (job,) = given["jobs"].values()
    assert given["permissions"] == {}
    assert job["permissions"] == {"contents": "read", "pull-requests": "write", "security-events": "write"}
    called = yaml.safe_load(WORKFLOW.read_text())
    assert "permissions" not in called
    # YAML 1.1 reads `on` as true.
    assert set(job["with"]) <= set(called[True]["workflow_call"]["inputs"])


def test_nothing_that_somebody_else_writes_is_pasted_into_the_shell() -> None:
    for each in yaml.safe_load(WORKFLOW.read_text())["jobs"]["report"]["steps"]:
        assert "${{" not in each.get("run", ""), "values go through env"


def test_the_hook_reads_what_the_lint_reads() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "gpu-fabric lint"
    wanted = re.compile(hook["files"])
    assert wanted == LINTED, "the report reads the same files"
    linted = ("job.sh", "etc/nccl.conf", "nccl-topo-p5.xml", "run.sbatch", "Dockerfile", "a/Dockerfile.train")
    assert all(wanted.search(name) for name in linted)
    assert not any(wanted.search(name) for name in ("main.py", "pom.xml", "README.md"))
