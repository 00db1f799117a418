"""gpu-fabric-entrypoint, really run: with a stand-in fi_info and a sysfs tree of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpu_fabric.nccl.bootstrap import entrypoint
from gpu_fabric.nccl.environment import Role, environment, to_conf, to_node_shell
from gpu_fabric.nccl.hardware import get_size

NO_FABRIC, CONFIG, USAGE = 69, 78, 64
PRINT_ENVIRONMENT = ("env",)


@dataclass
class Node:
    """A folder that stands for a node: its files, its devices, and the programs it has."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    def install(self, size: str, folder: str = "etc", **arguments: object) -> Node:
        made = environment(size, **{"topology_file": False, **arguments})  # ty: ignore[invalid-argument-type]
        directory = self.root / folder
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "nccl.conf").write_text(to_conf(made))
        (directory / "environment.sh").write_text(
            to_node_shell(made, fabric_ports=get_size(size).fabric_ports)
        )
        return self

    def with_efa(self, count: int, *, plugin: bool = True) -> Node:
        """fi_info lists each device twice, as it does: reliable datagrams and plain ones."""
        entries = "".join(
            f"provider: efa\n    fabric: efa\n    domain: rdmap{79 + n}s0-{kind}\n    type: {endpoint}\n"
            for n in range(count)
            for kind, endpoint in (("rdm", "FI_EP_RDM"), ("dgrm", "FI_EP_DGRAM"))
        )
        self.program("fi_info", f"[ \"$*\" = '-p efa' ] || exit 9\ncat <<'END'\n{entries}END\n")
        if plugin:
            library = self.root / "lib" / "libnccl-net.so"
            library.parent.mkdir(exist_ok=True)
            library.touch()
            self.variables["LD_LIBRARY_PATH"] = f"/nowhere:{library.parent}"
        return self

    def without_efa(self) -> Node:
        """libfabric is installed (Azure's image has it) and finds nothing."""
        return self.program("fi_info", "echo 'fi_getinfo: -61 (No data available)' >&2\nexit 61\n")

    def with_port(
        self, device: str, layer: str = "InfiniBand", state: str = "4: ACTIVE", port: int = 1
    ) -> Node:
        folder = self.root / "sys" / "class" / "infiniband" / device / "ports" / str(port)
        folder.mkdir(parents=True)
        (folder / "link_layer").write_text(f"{layer}\n")
        (folder / "state").write_text(f"{state}\n")
        return self

    def with_azure_devices(self, count: int = 8) -> Node:
        for index in range(count):
            self.with_port(f"mlx5_ib{index}")
        return self.with_port("mlx5_an0", layer="Ethernet")

    def program(self, name: str, body: str) -> Node:
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{body}")
        path.chmod(0o755)
        return self

    def run(
        self, *options: str, command: Sequence[str] = PRINT_ENVIRONMENT, job: Mapping[str, str] | None = None
    ) -> Run:
        script = self.root / "gpu-fabric-entrypoint"
        script.write_text(entrypoint())
        script.chmod(0o755)
        # No ldconfig of the machine: what it has must not decide a test.
        self.program("ldconfig", "exit 0\n")
        base = {
            "PATH": f"{self.root / 'bin'}:/usr/bin:/bin",
            "GPU_FABRIC_SYSFS": str(self.root / "sys"),
            "GPU_FABRIC_DIRECTORY": str(self.root / "etc"),
        }
        ran = subprocess.run(
            [script, *options, *command],
            env={**base, **self.variables, **(job or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Run(ran.returncode, ran.stdout, ran.stderr)


@dataclass(frozen=True)
class Run:
    code: int
    output: str
    said: str

    @property
    def environment(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.splitlines() if "=" in line)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    (tmp_path / "sys").mkdir()
    return Node(tmp_path)


def test_on_efa_the_command_gets_the_environment_and_nothing_is_printed(node: Node) -> None:
    ran = node.install("p5.48xlarge").with_efa(32).run()
    assert (ran.code, ran.said) == (0, "")
    assert ran.environment["NCCL_SOCKET_IFNAME"] == "^docker,lo,veth"
    assert ran.environment["NCCL_CONF_FILE"] == str(node.root / "etc" / "nccl.conf")
    assert "NCCL_IB_HCA" not in ran.environment


def test_on_infiniband_the_command_gets_the_environment_of_azure(node: Node) -> None:
    ran = node.install("Standard_ND96isr_H100_v5").without_efa().with_azure_devices().run()
    assert (ran.code, ran.said) == (0, "")
    assert ran.environment["NCCL_SOCKET_IFNAME"] == "=eth0"
    assert ran.environment["NCCL_IB_HCA"] == "mlx5_ib"
    assert ran.environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_the_command_replaces_the_script_and_keeps_its_arguments_and_exit_code(node: Node) -> None:
    node.install("p5.48xlarge").with_efa(32)
    ran = node.run("--", command=("bash", "-c", 'printf "%s|" "$0" "$@"; exit 7', "a b", "--verbose", "c*"))
    assert (ran.code, ran.output) == (7, "a b|--verbose|c*|")


def test_a_command_that_does_not_exist_fails_as_in_a_shell(node: Node) -> None:
    assert node.install("p5.48xlarge").with_efa(32).run(command=("no-such-program",)).code == 127


def test_a_value_that_the_job_has_set_stays(node: Node) -> None:
    ran = node.install("p5.48xlarge").with_efa(32).run("-v", job={"NCCL_DEBUG": "INFO"})
    assert ran.environment["NCCL_DEBUG"] == "INFO"
    assert "keep NCCL_DEBUG=INFO (the job's; ours is WARN)" in ran.said


def test_verbosity_one_says_what_and_two_says_why(node: Node) -> None:
    node.install("p5.48xlarge").with_efa(32)
    once, twice = node.run("-v"), node.run("-vv")
    assert "fabric: efa (32 devices)" in once.said
    assert "set  NCCL_SOCKET_IFNAME=^docker,lo,veth" in once.said
    assert "Bridges of containers are excluded" not in once.said
    assert "Bridges of containers are excluded" in twice.said
    assert node.run(job={"GPU_FABRIC_VERBOSITY": "2"}).said == twice.said


def test_check_says_what_would_be_set_and_runs_nothing(node: Node) -> None:
    ran = node.install("p5.48xlarge").with_efa(32).run("--check")
    assert (ran.code, ran.output) == (0, "")
    assert "set  NCCL_DEBUG=WARN" in ran.said
    assert node.run("--check", command=()).code == 0


def test_a_node_without_its_efa_is_refused_with_a_code_of_its_own(node: Node) -> None:
    ran = node.install("p5.48xlarge").without_efa().run()
    assert (ran.code, ran.output) == (NO_FABRIC, "")
    assert "p5.48xlarge must have EFA, and 'fi_info -p efa' lists no device" in ran.said
    assert "Nothing was started: NCCL would use TCP sockets." in ran.said


def test_a_node_without_fi_info_is_refused_as_one_without_efa(node: Node) -> None:
    assert node.install("p5.48xlarge").run().code == NO_FABRIC


@pytest.mark.parametrize("how", ["option", "variable"])
def test_sockets_are_used_when_asked_for_and_the_script_says_so(node: Node, how: str) -> None:
    node.install("p5.48xlarge").without_efa()
    ran = node.run("--allow-sockets") if how == "option" else node.run(job={"GPU_FABRIC_ALLOW_SOCKETS": "1"})
    assert ran.code == 0
    assert ran.environment["NCCL_DEBUG"] == "WARN"
    assert "going on over TCP sockets, as asked" in ran.said


def test_efa_without_the_plugin_is_refused(node: Node) -> None:
    ran = node.install("p5.48xlarge").with_efa(32, plugin=False).run()
    assert ran.code == NO_FABRIC
    assert "NCCL will not find its plugin (libnccl-net.so) on LD_LIBRARY_PATH" in ran.said


@pytest.mark.parametrize(
    ("library", "named", "found"),
    [
        ("libnccl-net.so", None, True),
        ("libnccl-net-ofi.so", None, False),
        ("libnccl-net-ofi.so", "ofi", True),
        ("libnccl-net-ofi.so", "libnccl-net-ofi.so", True),
        ("libnccl-net-ofi.so", "none,ofi", True),
        ("libnccl-net.so", "ofi", False),
        ("libnccl-net.so.0", None, False),
    ],
)
def test_the_plugin_is_looked_for_by_the_names_that_nccl_asks_for(
    node: Node, library: str, named: str | None, found: bool
) -> None:
    node.install("p5.48xlarge").with_efa(32, plugin=False)
    folder = node.root / "lib"
    folder.mkdir()
    (folder / library).touch()
    job = {"LD_LIBRARY_PATH": str(folder)} | ({"NCCL_NET_PLUGIN": named} if named else {})
    assert node.run(job=job).code == (0 if found else NO_FABRIC)


def test_a_plugin_named_by_its_path_is_found_there(node: Node) -> None:
    node.install("p5.48xlarge").with_efa(32, plugin=False)
    library = node.root / "libnccl-net-own.so"
    assert node.run(job={"NCCL_NET_PLUGIN": str(library)}).code == NO_FABRIC
    library.touch()
    assert node.run(job={"NCCL_NET_PLUGIN": str(library)}).code == 0


def test_the_plugin_is_also_found_through_the_loaders_cache(node: Node) -> None:
    node.install("p5.48xlarge").with_efa(32, plugin=False)
    first = node.run()
    listed = "echo '\tlibnccl-net.so (libc6,x86-64) => /opt/amazon/ofi-nccl/lib/libnccl-net.so'\n"
    script = node.root / "gpu-fabric-entrypoint"
    node.program("ldconfig", listed)
    second = subprocess.run(
        [script, "true"],
        env={
            "PATH": f"{node.root / 'bin'}:/usr/bin:/bin",
            "GPU_FABRIC_SYSFS": str(node.root / "sys"),
            "GPU_FABRIC_DIRECTORY": str(node.root / "etc"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (first.code, second.returncode) == (NO_FABRIC, 0)


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ({"NCCL_NET": "Socket"}, "NCCL_NET=Socket makes every communicator use sockets"),
        ({"NCCL_NET_PLUGIN": "none"}, "NCCL will not find its plugin"),
        ({"FI_PROVIDER": "tcp"}, "FI_PROVIDER=tcp keeps libfabric from EFA"),
    ],
)
def test_a_job_that_switches_efa_off_is_refused(node: Node, job: dict[str, str], says: str) -> None:
    ran = node.install("p5.48xlarge").with_efa(32).run(job=job)
    assert ran.code == NO_FABRIC
    assert says in ran.said


def test_a_job_that_switches_infiniband_off_is_refused(node: Node) -> None:
    ran = node.install("Standard_ND96isr_H100_v5").with_azure_devices().run(job={"NCCL_IB_DISABLE": "1"})
    assert ran.code == NO_FABRIC
    assert "NCCL_IB_DISABLE=1 switches InfiniBand off" in ran.said


def test_every_problem_is_said_at_once(node: Node) -> None:
    job = {"NCCL_NET": "socket", "FI_PROVIDER": "tcp"}
    ran = node.install("p5.48xlarge").without_efa().run(job=job)
    assert [word in ran.said for word in ("NCCL_NET=socket", "FI_PROVIDER=tcp", "must have EFA")] == [
        True
    ] * 3


def test_azures_ethernet_device_is_not_taken_for_infiniband(node: Node) -> None:
    ran = node.install("Standard_ND96isr_H100_v5").with_port("mlx5_an0", layer="Ethernet").run()
    assert ran.code == NO_FABRIC
    assert "has no active InfiniBand port" in ran.said


def test_a_port_that_is_down_does_not_count(node: Node) -> None:
    node.install("Standard_ND96isr_H100_v5").with_port("mlx5_ib0", state="1: DOWN")
    assert node.run().code == NO_FABRIC


def test_a_missing_device_is_said_aloud_but_does_not_stop_the_job(node: Node) -> None:
    node.install("Standard_ND96isr_H100_v5").with_azure_devices(7).with_port("mlx5_ib7", state="2: INIT")
    ran = node.run()
    assert ran.code == 0
    assert "only 7 of 8 infiniband devices can be used (mlx5_ib7:1 is INIT)" in ran.said
    assert "only 31 of 32 efa devices" in Node(node.root / "b").install("p5.48xlarge").with_efa(31).run().said


def test_outside_the_hpc_image_the_infiniband_devices_are_named_from_sysfs(node: Node) -> None:
    node.install("Standard_ND96isr_H100_v5", image="my-own")
    node.with_port("mlx5_0").with_port("mlx5_1", layer="Ethernet").with_port("mlx5_2")
    ran = node.run(job={"GPU_FABRIC_VERBOSITY": "1"})
    assert ran.environment["NCCL_IB_HCA"] == "=mlx5_0:1,mlx5_2:1"


@pytest.mark.parametrize(
    ("hca", "accepted"),
    [
        ("mlx5_ib", True),
        ("mlx5_ib*", False),
        ("=mlx5_ib0", True),
        ("=mlx5_ib", False),
        ("mlx5_ib0:1,mlx5_ib1:1", True),
        ("^mlx5_an", True),
        ("^mlx5", False),
        ("^=mlx5_an0,mlx5_ib0", True),
        ("rdmap", False),
    ],
)
def test_a_device_filter_that_matches_nothing_is_refused(node: Node, hca: str, accepted: bool) -> None:
    ran = node.install("Standard_ND96isr_H100_v5").with_azure_devices(2).run(job={"NCCL_IB_HCA": hca})
    assert ran.code == (0 if accepted else NO_FABRIC)
    assert accepted or f"NCCL_IB_HCA={hca} matches none of the node's InfiniBand devices" in ran.said


def test_a_size_without_a_fast_fabric_goes_on_over_sockets(node: Node) -> None:
    ran = node.install("Standard_ND96is_H100_v5").run()
    assert (ran.code, ran.said) == (0, "")
    assert ran.environment["NCCL_SOCKET_NTHREADS"] == "4"


def test_a_job_of_one_node_needs_no_fabric(node: Node) -> None:
    ran = node.install("p5.48xlarge", role=Role.SINGLE_NODE).run()
    assert (ran.code, ran.said) == (0, "")


def test_a_topology_file_that_is_not_there_is_refused(node: Node) -> None:
    topology = node.root / "topology.xml"
    node.install("p4d.24xlarge", topology_file=str(topology)).with_efa(4)
    ran = node.run()
    assert ran.code == CONFIG
    assert f"NCCL_TOPO_FILE={topology} cannot be read" in ran.said
    topology.write_text("<system version='1'/>\n")
    assert node.run().environment["NCCL_TOPO_FILE"] == str(topology)


def test_missing_files_are_an_error_of_their_own(node: Node) -> None:
    ran = node.with_efa(32).run()
    assert ran.code == CONFIG
    assert "Mount /etc/gpu-fabric into the container" in ran.said


def test_the_jobs_own_nccl_conf_file_is_used_in_place_of_ours(node: Node) -> None:
    theirs = node.root / "nccl.conf"
    theirs.write_text("NCCL_DEBUG=INFO\n")
    ran = node.install("p5.48xlarge").with_efa(32).run(job={"NCCL_CONF_FILE": str(theirs)})
    assert ran.environment["NCCL_CONF_FILE"] == str(theirs)
    assert "NCCL_DEBUG" not in ran.environment, "a variable in the process would win over the job's own file"
    assert f"the job's NCCL_CONF_FILE is {theirs}" in ran.said


@pytest.mark.parametrize("name", ["NCCL_CONF_FILE", "NCCL_TOPO_FILE"])
def test_a_file_of_the_jobs_that_is_not_there_stops_it(node: Node, name: str) -> None:
    ran = node.install("p5.48xlarge").with_efa(32).run(job={name: "/no/such/file"})
    assert ran.code == CONFIG
    assert (
        f"{name}=/no/such/file cannot be read. Mount it into the container, or unset the variable."
        in ran.said
    )


def test_an_image_for_both_clouds_takes_the_files_of_the_fabric_it_finds(node: Node) -> None:
    node.install("p5.48xlarge", "etc/efa").install("Standard_ND96isr_H100_v5", "etc/infiniband")
    assert node.with_azure_devices().run().environment["NCCL_IB_HCA"] == "mlx5_ib"
    assert node.with_efa(32).run().environment["NCCL_SOCKET_IFNAME"] == "^docker,lo,veth"


def test_an_old_nccl_that_knows_no_conf_file_gets_the_variables_in_its_process(node: Node) -> None:
    ran = node.install("p5.48xlarge", nccl_version="2.20.5").with_efa(32).run()
    assert "NCCL_CONF_FILE" not in ran.environment
    assert ran.environment["NCCL_SOCKET_IFNAME"] == "^docker,lo,veth"


def test_the_guides_preset_can_be_run_for_comparison(node: Node) -> None:
    node.install("p5.48xlarge", "guide", preset="guide", overrides={"NCCL_TOPO_FILE": ""}).with_efa(32)
    ran = node.run("--directory", str(node.root / "guide"))
    assert ran.code == 0
    assert ran.environment["NCCL_ALGO"] == "RING,TREE"
    assert ran.environment["FI_PROVIDER"] == "efa"
    assert "NCCL_IB_CUDA_SUPPORT" not in ran.environment


@pytest.mark.parametrize("how", ["option", "option with =", "variable"])
def test_a_relative_folder_is_named_whole_so_that_the_job_may_change_its_own(node: Node, how: str) -> None:
    relative = os.path.relpath(node.install("p5.48xlarge").with_efa(32).root / "etc")
    options = {
        "option": ("--directory", relative),
        "option with =": (f"--directory={relative}",),
        "variable": (),
    }
    job = {"GPU_FABRIC_DIRECTORY": relative} if how == "variable" else {}
    command = ("bash", "-c", 'cd / && test -r "$NCCL_CONF_FILE" && env')
    ran = node.run(*options[how], command=command, job=job)
    assert ran.code == 0
    named = Path(ran.environment["NCCL_CONF_FILE"])
    assert named.is_absolute()
    assert named.samefile(node.root / "etc" / "nccl.conf")


def test_a_line_that_nccl_would_misread_is_said_and_left_out(node: Node) -> None:
    node.install("p5.48xlarge").with_efa(32)
    with (node.root / "etc" / "nccl.conf").open("a") as file:
        file.write("export NCCL_ALGO=Ring\n  # indented\nNCCL_IB_TIMEOUT=22")
    ran = node.run()
    assert "'export NCCL_ALGO' is not a variable's name" in ran.said
    assert ran.environment["NCCL_IB_TIMEOUT"] == "22", "the last line counts without a line end too"
    assert "NCCL_ALGO" not in ran.environment


@pytest.mark.parametrize(
    ("options", "command", "says"),
    [
        ((), (), "no command given"),
        (("--sockets",), ("true",), "unknown option --sockets"),
        (("--directory",), (), "--directory needs a path"),
    ],
)
def test_wrong_usage_has_a_code_of_its_own(
    node: Node, options: tuple[str, ...], command: tuple[str, ...], says: str
) -> None:
    ran = node.run(*options, command=command)
    assert ran.code == USAGE
    assert says in ran.said
    assert "usage: gpu-fabric-entrypoint" in ran.said


def test_a_verbosity_that_is_no_number_is_refused(node: Node) -> None:
    assert node.run(job={"GPU_FABRIC_VERBOSITY": "loud"}).code == USAGE


def test_help_names_every_option(node: Node) -> None:
    ran = node.run("--help", command=())
    assert ran.code == 0
    for option in ("--verbose", "--allow-sockets", "--check", "--directory"):
        assert option in ran.output


def test_the_script_is_clean_for_shellcheck(tmp_path: Path) -> None:
    script = tmp_path / "gpu-fabric-entrypoint"
    script.write_text(entrypoint())
    program = Path(sys.executable).with_name("shellcheck")
    ran = subprocess.run([program, script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_script_needs_standard_programs_only(node: Node) -> None:
    """coreutils, awk, sed and grep are on every GPU image; python or jq need not be in a training container."""
    programs = (
        "bash",
        "env",
        "awk",
        "sed",
        "grep",
        "sort",
        "comm",
        "paste",
        "wc",
        "tr",
        "cat",
        "timeout",
        "true",
    )
    binaries = node.root / "only"
    binaries.mkdir()
    for name in programs:
        source = next(
            Path(folder) / name for folder in ("/usr/bin", "/bin") if (Path(folder) / name).exists()
        )
        (binaries / name).symlink_to(source)
    node.install("p5.48xlarge").with_efa(32)
    node.run()
    for name in ("fi_info", "ldconfig"):
        (binaries / name).symlink_to(node.root / "bin" / name)
    ran = subprocess.run(
        [node.root / "gpu-fabric-entrypoint", "-vv", "env"],
        env={
            **node.variables,
            "PATH": str(binaries),
            "GPU_FABRIC_SYSFS": str(node.root / "sys"),
            "GPU_FABRIC_DIRECTORY": str(node.root / "etc"),
            "HOME": os.environ.get("HOME", "/"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "command not found" not in ran.stderr
    assert "NCCL_SOCKET_IFNAME=^docker,lo,veth" in ran.stdout


def test_the_page_shows_the_scripts_own_help_and_exit_codes(node: Node) -> None:
    page = (Path(__file__).parents[3] / "docs" / "entrypoint.md").read_text()
    assert node.run("--help", command=()).output in page
    for code in (USAGE, NO_FABRIC, CONFIG):
        assert f"| {code} |" in page
