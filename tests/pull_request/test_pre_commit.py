"""The hook as pre-commit itself runs it: cloned from a repository, installed, given the files of a commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.library.installed import copy_of_the_repository

PRE_COMMIT = "pre-commit==4.7.0"
TAG = "v0.1.0"


def git(folder: Path, *arguments: str) -> None:
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.hooksPath=/dev/null"]
    subprocess.run([*line, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's repository with the `.pre-commit-config.yaml` of docs/pull-requests.md; ours is a folder beside it."""
    folder = tmp_path_factory.mktemp("hook")
    ours, theirs = folder / "gpu-fabric", folder / "theirs"
    copy_of_the_repository(ours)
    theirs.mkdir()
    for each in (ours, theirs):
        git(each, "init", "-q")
    git(ours, "add", "-A")
    git(ours, "commit", "-qm", "everything")
    git(ours, "tag", TAG)
    (text,) = (one.text for one in blocks() if one.page == "docs/pull-requests.md" and one.language == "yaml")
    assert f"rev: {TAG}\n" in text
    config = text.replace("https://github.com/OWNER/gpu-fabric", str(ours))
    (theirs / ".pre-commit-config.yaml").write_text(config)
    return theirs


def commit_with(repository: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    """What pre-commit says before a commit of one more file."""
    (repository / name).write_text(text)
    git(repository, "add", name)
    uv = Path(sys.executable).with_name("uv")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(repository.parent / "cache")}
    line = [uv, "tool", "run", PRE_COMMIT, "run", "--verbose"]
    return subprocess.run(line, cwd=repository, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.online
def test_a_commit_with_a_setting_that_switches_gpudirect_off_is_stopped_and_the_mended_one_passes(
    repository: Path,
) -> None:
    done = commit_with(repository, "job.sh", "#!/bin/bash\nexport NCCL_NET_GDR_LEVEL=LOC\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "job.sh:2: " in done.stdout
    assert "NCCL_NET_GDR_LEVEL" in done.stdout
    done = commit_with(repository, "job.sh", "#!/bin/bash\nexport NCCL_DEBUG=WARN\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
    done = commit_with(repository, "Dockerfile.train", "FROM ubuntu\nENV FI_PROVIDER=tcp\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Dockerfile.train:2: " in done.stdout
