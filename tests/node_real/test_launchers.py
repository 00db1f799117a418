"""The gate over the real Slurm and the real Open MPI, with a stand-in for the nccl-tests program alone."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.nccl.launch import LaunchNode, render
from gpu_fabric.nccl.preflight import zipapp
from tests.node_real.isolated import Root, isolated_root

NODES = 8
GPUS = 2
# Eight PMIx servers on one machine get in each other's way, and the stand-in needs none.
SLURM = ("--launcher", "slurm", "--launcher-arg=--mpi=none")
#: One job a node, so that a second one waits in the queue.
ALONE = ("--launcher-arg=--partition=alone",)
STAND_IN = Path(__file__).with_name("stand_in_perf.py")

SLURM_CONF = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/munge.socket.2
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/%n
SlurmctldPidFile=/run/slurm/ctld.pid
SlurmdPidFile=/run/slurm/%n.pid
SlurmctldLogFile=/run/slurm/ctld.log
SlurmdLogFile=/run/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
TopologyPlugin=topology/tree
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
"""


def slurm_conf() -> str:
    nodes = "".join(
        f"NodeName=n{number} NodeHostname=localhost NodeAddr=127.0.0.1 Port={17000 + number} CPUs=4\n"
        for number in range(1, NODES + 1)
    )
    alone = f"PartitionName=alone Nodes=n[1-{NODES}] State=UP OverSubscribe=NO\n"
    shared = f"PartitionName=all Nodes=n[1-{NODES}] Default=YES State=UP OverSubscribe=FORCE:8\n"
    return f"{SLURM_CONF}{nodes}{shared}{alone}"


#: Two leaves under one spine: the file is the one that `gpu-fabric hostfile --format slurm-conf` writes.
TREE = [
    LaunchNode(f"n{number}", layers=("spine", f"leaf{1 + (number > 4)}")) for number in range(1, NODES + 1)
]


def prepare(root: Root) -> None:
    root.write("/preflight", zipapp.build(), 0o755)
    root.write("/bin.d/all_reduce_perf", STAND_IN.read_text(), 0o755)
    root.run("mkdir", "-p", "/shared")
    root.variables = {
        "PATH": "/bin.d:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "STAND_IN_SCENARIO": "/shared/scenario.json",
    }


def gate(
    root: Root, scenario: dict[str, Any], *arguments: str, before: tuple[str, ...] = ()
) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of `gpu-fabric-preflight cluster`."""
    root.run("sh", "-c", "rm -rf /shared/meeting-* /shared/kept")
    root.write("/shared/scenario.json", json.dumps(scenario))
    common = ("--size", "p5.48xlarge", "--gpus-per-node", str(GPUS), "--expect", "355")
    kept = ("--json", "--keep", "/shared/kept")
    done = root.run(*before, "/preflight", "cluster", *common, *kept, *arguments, timeout=120, check=False)
    start = done.stdout.find("{")
    assert start >= 0, done.stdout
    return done.returncode, json.loads(done.stdout[start:])


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    """A controller and eight node daemons on loopback."""
    with isolated_root(
        tmp_path_factory.mktemp("slurm"),
        needs=("slurmctld-wlm", "slurmd-wlm", "munged", "srun"),
        network=True,
    ) as root:
        prepare(root)
        root.write("/etc/slurm/slurm.conf", slurm_conf())
        root.write("/etc/slurm/topology.conf", render(TREE, "slurm-conf"))
        root.run(
            "sh",
            "-c",
            "mkdir -p /run/munge /run/slurm/state /etc/munge /var/log/munge /var/lib/munge; "
            "head -c 1024 /dev/urandom >/etc/munge/munge.key; chmod 600 /etc/munge/munge.key; chmod 755 /run/munge; "
            "chown -R root /etc/munge /var/log/munge /var/lib/munge; "
            "for name in slurmd slurmctld slurmstepd; do ln -sf $name-wlm /usr/sbin/$name; done",
        )
        root.start("munged", "--foreground", "--force", output=subprocess.DEVNULL)
        for _ in range(100):
            if root.run("sh", "-c", "munge -n >/dev/null 2>&1", check=False).returncode == 0:
                break
            time.sleep(0.1)
        root.start("slurmctld", "-D", output=subprocess.DEVNULL)
        for number in range(1, NODES + 1):
            root.run("mkdir", "-p", f"/run/slurm/n{number}")
            root.start("slurmd", "-D", "-N", f"n{number}", output=subprocess.DEVNULL)
        end = time.monotonic() + 40
        while root.run("sh", "-c", "sinfo -h -o %D -t idle", check=False).stdout.strip() != str(NODES):
            if time.monotonic() > end:
                raise AssertionError(root.run("sh", "-c", "sinfo; cat /run/slurm/*.log", check=False).stdout)
            time.sleep(0.2)
        yield root


def test_slurm_a_healthy_cluster_passes_and_its_nodes_come_from_the_list(slurm: Root) -> None:
    code, report = gate(slurm, {}, "--nodes", f"n[1-{NODES}]", *SLURM)
    assert (code, report["state"]) == (0, "pass"), report
    found = {result["check"]: result["what"] for result in report["results"]}
    assert found["busbw-all_reduce"] == "355.0 of 355.0 GB/s at 8 GiB on 8 nodes"
    assert found["fabric-used"] == "efa on 8 hosts"


def test_slurm_takes_our_topology_and_keeps_a_job_under_one_leaf(slurm: Root) -> None:
    shown = slurm.run("scontrol", "show", "topology").stdout
    assert "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n1,n2,n3,n4" in shown
    assert "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=leaf1,leaf2" in shown
    nodes = slurm.run(
        "srun", "-N4", "--switches=1", "--mpi=none", "printenv", "SLURMD_NODENAME"
    ).stdout.split()
    assert len({name > "n4" for name in nodes if name.startswith("n")}) == 1, nodes


def test_slurm_inside_a_job_the_nodes_are_the_jobs_and_a_job_script_can_gate_on_the_code(slurm: Root) -> None:
    slurm.write("/shared/scenario.json", json.dumps({"socket": ["n3"]}))
    arguments = "--size p5.48xlarge --gpus-per-node 2 --expect 355 --launcher-arg=--mpi=none --report /shared/report.md"
    slurm.program("/job.sh", f"/preflight cluster {arguments} || exit 13\necho train\n")
    submit = (
        "sbatch",
        "--wait",
        "-N4",
        "--ntasks-per-node=2",
        "--nodelist=n[1-4]",
        "-o",
        "/shared/job.out",
        "/job.sh",
    )
    done = slurm.run(*submit, timeout=120, check=False)
    output = slurm.read("/shared/job.out") or ""
    assert done.returncode == 13, output
    assert "train" not in output
    report = slurm.read("/shared/report.md") or ""
    assert "NET/Socket on n3: NCCL fell back to TCP" in report
    assert "n3: the node's way to the network" in report


@pytest.mark.parametrize("scenario", [{"slow": ["n7"]}, {"hang": ["n2"]}])
def test_slurm_the_bad_node_is_found_with_pairs_that_run_at_the_same_time(
    slurm: Root, scenario: dict[str, Any]
) -> None:
    # In an allocation, as a job has it.
    code, report = gate(
        slurm,
        scenario,
        *SLURM,
        "--seconds",
        "8",
        before=("salloc", "-Q", f"-N{NODES}", f"--ntasks-per-node={GPUS}"),
    )
    assert code == 1
    (bad,) = next(iter(scenario.values()))
    kept = slurm.run("sh", "-c", "tail -n +1 /shared/kept/*").stdout
    assert [culprit["nodes"] for culprit in report["culprits"]] == [[bad]], kept
    assert report["rounds"] <= 3
    assert "--overlap" in kept, "a step of the job, not a job of its own"


def hold_all_nodes(slurm: Root, seconds: int) -> None:
    """A job that has them all for so long, in the partition of one job a node."""
    command = ("--partition=alone", f"-N{NODES}", "--exclusive", "--mpi=none", "sleep", str(seconds))
    slurm.start("srun", *command, output=subprocess.DEVNULL)
    time.sleep(1)


def test_slurm_the_time_in_the_queue_is_not_the_runs(slurm: Root) -> None:
    """Another job has all nodes for longer than a run may take."""
    hold_all_nodes(slurm, 12)
    code, report = gate(slurm, {}, "--nodes", f"n[1-{NODES}]", *SLURM, *ALONE, "--seconds", "10")
    kept = slurm.run("sh", "-c", "cat /shared/kept/*").stdout
    assert "queued and waiting for resources" in kept
    assert (code, report["state"]) == (0, "pass"), report
    hold_all_nodes(slurm, 6)
    code, report = gate(slurm, {}, "--nodes", f"n[1-{NODES}]", *SLURM, *ALONE, "--queue-seconds", "1")
    found = {result["check"]: result for result in report["results"]}
    assert (code, found["run"]["state"], report["culprits"]) == (2, "unknown", [])
    assert "still in the launcher's queue after 1 s: srun: job" in found["run"]["what"]
    slurm.run("sh", "-c", "scancel --user=root; while squeue -h | grep -q .; do sleep 0.2; done", timeout=60)


def test_slurm_a_node_that_it_does_not_know_is_not_called_broken(slurm: Root) -> None:
    allocation = ("salloc", "-Q", f"-N{NODES}", f"--ntasks-per-node={GPUS}")
    code, report = gate(slurm, {}, "--nodes", "n[1-4],n99", *SLURM, "--seconds", "8", before=allocation)
    assert code == 1
    assert report["culprits"] == [{"nodes": ["n99"], "suspect": "launcher"}], report
    said = next(result["what"] for result in report["results"] if result["check"] == "culprit")
    assert "n99: the launcher does not start there; the log says: srun: error" in said


def test_slurm_nccls_lines_inside_a_row_change_no_number(slurm: Root) -> None:
    code, report = gate(slurm, {"interrupts": True}, "--nodes", "n[1-4]", *SLURM)
    assert (code, report["state"]) == (0, "pass"), report
    assert len(report["facts"]["rows"]) == 4
    kept = slurm.run("sh", "-c", "cat /shared/kept/*").stdout
    assert re.search(r"sum      -1n[1-4]:[0-9:]+ \[0\] NCCL INFO", kept), "they do stand inside"


def test_slurm_a_gate_that_is_ended_ends_its_step(slurm: Root) -> None:
    slurm.write("/shared/scenario.json", json.dumps({"hang": ["n1"]}))
    command = "/preflight cluster --size p5.48xlarge --gpus-per-node 2 --expect 355 --nodes n[1-2]"
    script = f"timeout 4 {command} --launcher slurm --launcher-arg=--mpi=none; echo code $?"
    done = slurm.run("bash", "-c", f"rm -rf /shared/meeting-*; {script}", timeout=60, check=False)
    assert "code 124" in done.stdout
    left = slurm.run(
        "sh", "-c", "sleep 3; squeue -h; pgrep -fc '^[^ ]*python3 /bin.d/all_reduce_perf' || true"
    ).stdout
    assert left.split() == ["0"], left


@pytest.fixture(scope="module")
def mpi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    """Open MPI whose remote shell starts the far daemons here, each under its node's name."""
    with isolated_root(
        tmp_path_factory.mktemp("mpi"), needs=("mpirun.openmpi", "orted"), network=True
    ) as root:
        prepare(root)
        # Addresses that are not this machine's, so that mpirun starts a daemon for each.
        hosts = "".join(f"198.51.100.{number} m{number}\n" for number in range(1, 5))
        root.write("/etc/hosts", f"127.0.0.1 localhost\n{hosts}")
        root.program(
            "/bin.d/rsh",
            'while [ "${1#-}" != "$1" ]; do shift; done\nexport STAND_IN_NODE=$1 TMPDIR=/tmp/$1\n'
            'mkdir -p "$TMPDIR"; shift\nexec bash -c "$*"\n',
        )
        root.variables |= {
            "OMPI_MCA_plm_rsh_agent": "/bin.d/rsh",
            "OMPI_MCA_oob_tcp_if_include": "lo",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
        }
        yield root


def test_open_mpi_runs_the_gate_and_finds_the_bad_node(mpi: Root) -> None:
    mpi.write("/hostfile", "# the fleet\n" + "".join(f"m{number} slots={GPUS}\n" for number in range(1, 5)))
    code, report = gate(mpi, {}, "--hostfile", "/hostfile", "--launcher", "openmpi")
    assert (code, report["state"]) == (0, "pass"), report
    assert report["facts"]["nodes"] == ["m1", "m2", "m3", "m4"]

    code, report = gate(mpi, {"slow": ["m2"]}, "--hostfile", "/hostfile", "--launcher", "openmpi")
    assert code == 1
    assert [culprit["nodes"] for culprit in report["culprits"]] == [["m2"]], report
