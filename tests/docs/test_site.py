"""The documentation site is built strictly, leads nowhere that is not there, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import gpu_fabric
from tests.simulated import ROOT


@dataclass
class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    file: Path
    targets: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    text: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    """What stands in each `pre`."""
    classes: set[str] = field(default_factory=set)
    _inside: int = 0

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value for name, value in attrs if value}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        self.classes |= set(named.get("class", "").split())
        if tag == "pre":
            self.code.append("")
        self._inside += tag == "pre"
        targets = [named[name] for name in ("href", "src") if name in named]
        self.targets += targets
        if tag != "a":
            self.loaded += targets

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self._inside:
            self.code[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag == "pre"


def build(folder: Path, *, navigation: bool = True) -> subprocess.CompletedProcess[str]:
    """Build `folder`/source into `folder`/site as `make docs` does."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    config |= {"docs_dir": "source", "site_dir": "site"}
    if not navigation:
        del config["nav"]
    (python,) = (one["mkdocstrings"]["handlers"]["python"] for one in config["plugins"] if one != "search")
    python["paths"] = [str(ROOT)]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False))
    line = [Path(sys.executable).with_name("zensical"), "build", "--strict", "-f", folder / "mkdocs.yml"]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([ROOT / "scripts" / "site-source", folder / "source"], check=True)
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = [Page(file.resolve()) for file in (folder / "site").rglob("*.html")]
    return {page.file: page for page in pages}


def top(site: dict[Path, Page]) -> Path:
    return min(site, key=lambda file: len(file.parts)).parent


def test_every_link_and_every_anchor_of_every_page_is_there(site: dict[Path, Page]) -> None:
    missing = []
    for file, page in site.items():
        for target in page.targets:
            split = urlsplit(target)
            if split.scheme or split.netloc:
                continue
            start = top(site) if split.path.startswith("/") else file.parent
            found = (start / unquote(split.path).lstrip("/")).resolve() if split.path else file
            found = found / "index.html" if found.is_dir() else found
            # The generator's own script keeps `__…` for its state.
            wanted = "" if split.fragment.startswith("__") else unquote(split.fragment)
            if not found.is_file() or (wanted and found in site and wanted not in site[found].anchors):
                missing.append((str(file.relative_to(top(site))), target))
    assert missing == []


def test_no_page_loads_anything_from_another_host(site: dict[Path, Page]) -> None:
    loaded = {target for page in site.values() for target in page.loaded if urlsplit(target).netloc}
    assert loaded == set()


def test_no_page_shows_the_text_of_a_drawing_that_only_a_script_of_another_host_would_draw(
    site: dict[Path, Page],
) -> None:
    drawings = re.compile(
        r"^\s*(flowchart|graph|sequenceDiagram|stateDiagram\S*|erDiagram|gantt)\b", re.MULTILINE
    )
    found = {
        str(file.relative_to(top(site)))
        for file, page in site.items()
        if "mermaid" in page.classes or any(drawings.search(text) for text in page.code)
    }
    assert found == set(), "draw it to a file of docs/pictures (docs/decisions/0007-documentation-site.md)"


def test_every_page_of_the_repository_is_in_the_navigation() -> None:
    listed = re.findall(
        r"[\w./-]+\.md$", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2], re.MULTILINE
    )
    tracked = subprocess.run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "--",
            "*.md",
            ":!tests",
            ":!docs/pictures",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert sorted(listed) == sorted(set(tracked))


def test_every_stable_name_is_on_a_page_of_the_api(site: dict[Path, Page]) -> None:
    anchors = {
        anchor for page in site.values() for anchor in page.anchors if anchor.startswith("gpu_fabric.")
    }
    assert set(gpu_fabric.__all__) - {anchor.rpartition(".")[2] for anchor in anchors} == set()


def test_a_docstring_is_rendered_with_its_units_errors_and_code(site: dict[Path, Page]) -> None:
    pages = [" ".join(page.text) for file, page in site.items() if file.parts[-3:-1][0] == "api"]
    assert len(pages) == 5
    said = re.sub(r"\s+", " ", " ".join(pages))
    assert "Raises InvalidInputError with every problem of args before anything is declared." in said
    assert "Spot only: USD an hour and node." in said
    assert "Interfaces and Gb/s of one node and of the cluster." in said
    assert "``" not in said, "a docstring has reStructuredText's backticks"
    assert ":::" not in said
    assert "__all__" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lost](nowhere.md)", "page does not exist"),
        ("[lost](#nowhere)", "anchor does not exist"),
        ("::: gpu_fabric.nowhere", "Could not collect 'gpu_fabric.nowhere'"),
    ],
)
def test_a_link_or_name_that_leads_nowhere_ends_the_build(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "README.md").write_text(f"# A page\n\n{text}\n")
    done = build(tmp_path, navigation=False)
    assert done.returncode != 0
    # The generator colours single letters of a message.
    assert message in re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
