"""What a reader of the repository meets leads somewhere and names nothing of one machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from gpu_fabric.components.config import read_fabric

ROOT = Path(__file__).parents[1]
TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split("\n")
PAGES = [ROOT / name for name in TRACKED if name.endswith(".md") and (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    missing = [
        target
        for target in targets
        if not re.match(r"[a-z]+:|#", target) and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert missing == []


def test_the_readmes_stack_file_is_the_one_of_the_repository() -> None:
    (example,) = re.findall(
        r"```yaml\n# Pulumi\.dev\.yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert yaml.safe_load(example) == yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())


def test_the_readmes_example_of_what_is_wrong_is_what_a_person_would_see() -> None:
    given = {"zone": "us-west-2a", "instanceType": "p5.48xlarge", "nodes": 1.5, "rootVolume": {"sizeGib": 20}}
    with pytest.raises(ValueError, match="3 problems") as refused:
        read_fabric({"aws": given}, aws_region="us-east-1")
    assert f"error: {refused.value}" in (ROOT / "README.md").read_text()


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z.-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {
        (str(page.relative_to(ROOT)), target)
        for page in PAGES
        for target in re.findall(r"(?:^\$ |`)make ([a-z][a-z.-]*)", page.read_text(), flags=re.MULTILINE)
    }
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_nothing_tracked_names_a_path_of_one_machine() -> None:
    # Spelled in two parts, so that this file does not name one either.
    # A folder of that name below another one, and a key file of a virtual machine's user, are no such paths.
    paths = re.compile(r"(?<![\w}.-])/(?:" + "|".join(("wo" + "rk", "ro" + "ot")) + r")/(?!\.ssh)")
    text_files = (ROOT / name for name in TRACKED if name and (ROOT / name).is_file())
    found = [
        str(path.relative_to(ROOT))
        for path in text_files
        if path.suffix not in (".png", ".sum")
        and paths.search(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert found == []


CONFIG_COMMAND = re.compile(r"pulumi config (?:set|rm|get)(?: --[a-z]+)*\s+(?![-(])([^\s`'\"]+)")
SAYING = [ROOT / name for name in TRACKED if re.search(r"^(?!tests/).*\.(md|py|json|toml|yaml)$", name)]


def test_every_configuration_key_that_a_person_is_told_to_set_has_its_namespace() -> None:
    """A bare key goes into the namespace of the project, which is another in every project but this one."""
    commands = [
        (path.relative_to(ROOT), key)
        for path in SAYING
        if path.exists()
        for key in CONFIG_COMMAND.findall(path.read_text())
    ]
    assert {key for _, key in commands} >= {"gpu-fabric:bgpKey", "gpu-fabric:{name}", "{project.name}:{name}"}
    assert [(path, key) for path, key in commands if ":" not in key] == []


def test_every_page_that_installs_the_package_says_from_where() -> None:
    """It is on no public index, where the name is anybody's to take. An extra of what is installed needs none."""
    bare = [
        (str(page.relative_to(ROOT)), line)
        for page in PAGES
        for line in page.read_text().splitlines()
        if re.search(r"^(?:\$ |RUN )?.*pip install \S*gpu-fabric(?!\S* @ )", line)
    ]
    assert [page for page, line in bare if line.startswith("$ ")] == []
    assert {page for page, _ in bare} == {"docs/cli.md", "docs/library.md"}
