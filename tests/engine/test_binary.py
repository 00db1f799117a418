"""Finding an engine: each way, the order of the ways, and what is left behind when one fails."""

from __future__ import annotations

import io
import os
import re
import stat
import threading
from pathlib import Path

import pytest

from gpu_fabric.engine import binary
from gpu_fabric.engine.binary import (
    ENGINE_VERSION,
    NoEngineError,
    UnavailableError,
    find_engine,
    find_yaml_host,
    from_cache,
    from_go,
    from_installer,
    from_path,
    is_suitable,
)

#: Stands in for Go: counts its builds, and makes a script that answers `version` as the engine does.
FAKE_GO = f"""#!/bin/sh
case "$1" in
  mod) echo "# get module" >&2; exit 0 ;;
  list) printf 'a\\nb\\nc\\n'; exit 0 ;;
esac
echo build >> "$BUILDS"
echo "github.com/pulumi/pulumi/pkg" >&2
while [ "$1" != "-o" ]; do shift; done
printf '#!/bin/sh\\necho v{ENGINE_VERSION}\\n' > "$2"
chmod +x "$2"
if [ -n "$FAIL_BUILD" ]; then echo "disk full" >&2; exit 1; fi
sleep 0.3
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and nothing of interest on PATH but a shell's own tools."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "echo", "printf", "chmod", "sleep"):
        found = next(Path(folder, tool) for folder in ("/bin", "/usr/bin") if Path(folder, tool).exists())
        (tools / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
    return tmp_path


@pytest.fixture
def no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr("pulumi.automation.PulumiCommand.install", fail)


@pytest.mark.parametrize(
    ("version", "suitable"),
    [
        ("3.272.0", True),
        ("3.274.1", True),
        ("3.272.0-alpha.1", True),
        ("3.271.9", False),
        ("4.0.0", False),
        ("2.300.0", False),
        ("unknown", False),
    ],
)
def test_an_engine_is_suitable_from_the_version_of_the_sdk_up_to_4(version: str, suitable: bool) -> None:
    assert is_suitable(version) is suitable


def test_the_go_build_and_the_code_name_the_same_version() -> None:
    text = (Path(binary.__file__).parent / "go.mod").read_text()
    pinned = re.search(r"github\.com/pulumi/pulumi/pkg/v3 v(\S+)", text)
    assert pinned is not None
    assert pinned[1] == ENGINE_VERSION


def test_the_go_build_of_the_yaml_host_and_the_code_name_the_same_version() -> None:
    text = (binary.YAML_HOST_MODULE.folder / "go.mod").read_text()
    pinned = re.search(r"github\.com/pulumi/pulumi-yaml v(\S+)", text)
    assert pinned is not None
    assert pinned[1] == binary.YAML_HOST_VERSION


def test_the_yaml_host_is_built_once_and_then_found_in_the_cache(machine: Path) -> None:
    executable(machine / "tools" / "go", FAKE_GO)
    said = io.StringIO()
    built = find_yaml_host(said)
    assert "building Pulumi's YAML language host" in said.getvalue()
    assert find_yaml_host(io.StringIO()) == built
    assert (machine / "builds").read_text().count("build") == 1


def test_a_yaml_host_on_path_is_taken(machine: Path) -> None:
    host = executable(machine / "tools" / "pulumi-language-yaml", "#!/bin/sh\n")
    assert find_yaml_host(io.StringIO()) == host


def test_without_go_and_without_a_yaml_host_the_message_names_both(machine: Path) -> None:
    with pytest.raises(
        UnavailableError, match=r"no pulumi-language-yaml on PATH .* and no go to build it with"
    ):
        find_yaml_host(io.StringIO())


def test_a_suitable_pulumi_on_path_is_taken(machine: Path) -> None:
    pulumi = executable(machine / "tools" / "pulumi", "#!/bin/sh\necho v3.280.0\n")
    engine = find_engine(say=io.StringIO())
    assert (engine.path, engine.version, engine.origin) == (pulumi, "3.280.0", "on PATH")


def test_an_old_pulumi_on_path_is_refused_with_the_minimum_and_the_reason(machine: Path) -> None:
    pulumi = executable(machine / "tools" / "pulumi", "#!/bin/sh\necho v3.100.0\n")
    with pytest.raises(UnavailableError) as refused:
        from_path()
    assert str(refused.value) == (
        f"{pulumi} is version 3.100.0; at least 3.272.0 (and below 4) is needed, "
        "the version of the Pulumi SDK that requirements.txt pins"
    )


def test_a_pulumi_that_does_not_run_is_refused(machine: Path) -> None:
    executable(machine / "tools" / "pulumi", "#!/bin/sh\nexit 3\n")
    with pytest.raises(UnavailableError, match="does not run"):
        from_path()


@pytest.mark.usefixtures("no_download")
def test_when_nothing_works_the_message_names_every_way_and_why_it_failed(machine: Path) -> None:
    with pytest.raises(NoEngineError) as failed:
        find_engine(say=io.StringIO())
    text = str(failed.value)
    assert "1. pulumi on PATH: there is no pulumi on PATH" in text
    assert "2. an engine made by an earlier run: nothing was downloaded or built yet" in text
    assert "3. Pulumi's installer: the download failed: Name or service not known" in text
    assert f"4. Go build of v{ENGINE_VERSION}: there is no go on PATH to build it with" in text
    assert text.endswith("Install Pulumi (https://www.pulumi.com/docs/install) or Go, then run this again.")


@pytest.mark.usefixtures("no_download")
def test_a_cache_that_cannot_be_written_is_a_reason_among_the_others(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(machine / "tools" / "go", FAKE_GO)
    (machine / "no-folder").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine / "no-folder"))
    with pytest.raises(NoEngineError) as failed:
        find_engine(say=io.StringIO())
    reason = (
        f"nothing can be kept in {binary.cache_folder()}: Not a directory; "
        "set XDG_CACHE_HOME to a folder that can be written"
    )
    assert f"3. Pulumi's installer: {reason}" in str(failed.value)
    assert f"4. Go build of v{ENGINE_VERSION}: {reason}" in str(failed.value)


@pytest.mark.usefixtures("no_download")
def test_a_build_is_made_once_and_then_found_in_the_cache(machine: Path) -> None:
    executable(machine / "tools" / "go", FAKE_GO)
    said = io.StringIO()
    built = find_engine(say=said)
    assert built.origin == f"built from its Go module, v{ENGINE_VERSION}"
    assert "once, about 5 minutes" in said.getvalue()
    again = find_engine(say=io.StringIO())
    assert again.path == built.path
    assert again.origin.startswith("built earlier")
    assert (machine / "builds").read_text().count("build") == 1


@pytest.mark.usefixtures("no_download")
def test_progress_is_said_while_it_builds(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(machine / "tools" / "go", FAKE_GO)
    clock = iter(range(0, 100_000, 30))
    monkeypatch.setattr(binary.time, "monotonic", lambda: float(next(clock)))
    said = io.StringIO()
    from_go(said)
    assert re.search(r"compiling packages: 1 of 3, \d+ s", said.getvalue())


def test_a_failed_build_leaves_nothing_half_made(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(machine / "tools" / "go", FAKE_GO)
    monkeypatch.setenv("FAIL_BUILD", "1")
    with pytest.raises(UnavailableError, match="disk full"):
        from_go(io.StringIO())
    assert [entry.name for entry in binary.cache_folder().iterdir() if not entry.name.endswith(".lock")] == []


def test_an_interrupted_build_leaves_nothing_half_made(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(machine / "tools" / "go", FAKE_GO)

    def interrupt(go: str, output: Path, say: object, module: object) -> None:
        output.parent.mkdir(parents=True)
        output.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(binary, "_go_build", interrupt)
    with pytest.raises(KeyboardInterrupt):
        from_go(io.StringIO())
    with pytest.raises(UnavailableError):
        from_cache()
    assert [entry.name for entry in binary.cache_folder().iterdir() if not entry.name.endswith(".lock")] == []


def test_an_interrupted_download_leaves_nothing_half_made(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(root: str, **_: object) -> None:
        (Path(root) / "bin").mkdir()
        (Path(root) / "bin" / "pulumi").write_text("half")
        raise OSError("connection reset")

    monkeypatch.setattr("pulumi.automation.PulumiCommand.install", half)
    with pytest.raises(UnavailableError, match="the download failed: connection reset"):
        from_installer(io.StringIO())
    with pytest.raises(UnavailableError):
        from_cache()


def test_two_runs_at_once_build_one_engine(machine: Path) -> None:
    executable(machine / "tools" / "go", FAKE_GO)
    found: list[Path] = []
    runs = [threading.Thread(target=lambda: found.append(from_go(io.StringIO()).path)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(found) == 3
    assert len(set(found)) == 1
    assert (machine / "builds").read_text().count("build") == 1


@pytest.mark.usefixtures("no_download")
def test_a_real_cloud_needs_an_engine_with_pulumis_own_python_host(machine: Path) -> None:
    executable(machine / "tools" / "pulumi", "#!/bin/sh\necho v3.280.0\n")
    executable(machine / "tools" / "go", FAKE_GO)
    with pytest.raises(NoEngineError) as failed:
        find_engine(complete=True, say=io.StringIO())
    text = str(failed.value)
    assert "1. pulumi on PATH: it comes without pulumi-language-python" in text
    assert f"4. Go build of v{ENGINE_VERSION}: it comes without pulumi-language-python" in text
    assert text.endswith(
        "\nInstall Pulumi in full (https://www.pulumi.com/docs/install; it brings pulumi-language-python, "
        "a Go build does not), then run this again."
    )
    assert not (machine / "builds").exists(), "five minutes for an engine that would not do"
    executable(machine / "tools" / "pulumi-language-python", "#!/bin/sh\n")
    assert find_engine(complete=True, say=io.StringIO()).origin == "on PATH"


def test_the_cache_is_the_users_own_and_named_by_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", os.path.join(os.sep, "home", "somebody"))  # noqa: PTH118
    assert binary.cache_folder() == Path("/home/somebody/.cache/gpu-fabric/engine")
