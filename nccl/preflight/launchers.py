"""The commands that start nccl-tests over the launcher that a cluster has: Slurm's srun or Open MPI's mpirun.

Each is for one group of nodes, so that disjoint groups run at the same time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from gpu_fabric.nccl import paths

BINARIES: Final = (
    "/opt/nccl-tests/build/{name}",
    "/usr/local/cuda/efa/test-cuda-*/{name}",
    "/usr/local/cuda-*/efa/test-cuda-*/{name}",
)
"""Where the clouds' GPU images have nccl-tests: ubuntu-hpc, and AWS's Deep Learning images."""


REFUSALS: Final = re.compile(
    r"Invalid node name|Requested nodes? (?:are|is|configuration)|Required node not available"
    r"|Unable to (?:allocate resources|create step)|Node failure|[Cc]ould not resolve hostname"
    r"|ssh: connect to host|unable to reliably start|lost communication with a remote daemon|not enough slots"
)
"""Words of srun and mpirun where no rank started on a node. Slurm, srun(1); Open MPI, help-errmgr-base.txt."""


class Kind(StrEnum):
    SLURM = "slurm"
    OPENMPI = "openmpi"
    KUBERNETES = "kubernetes"


class LauncherError(RuntimeError):
    """No launcher or no binary; the message says what to give."""


@dataclass(frozen=True)
class Job:
    """What runs on every group."""

    binary: str
    arguments: tuple[str, ...]
    gpus_per_node: int
    environment: Mapping[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()
    """Put before the binary: our entrypoint, or the user's container command."""
    extra: tuple[str, ...] = ()
    """More arguments for the launcher itself."""

    @property
    def command(self) -> list[str]:
        return [*self.wrapper, self.binary, *self.arguments]


def find_launcher(chosen: str = "auto") -> Kind:
    """What is chosen, if it is here; else Slurm before Open MPI. `LauncherError` says what is missing."""
    programs = {Kind.SLURM: "srun", Kind.OPENMPI: "mpirun"}
    if chosen != "auto":
        kind = Kind(chosen)
        if kind is Kind.KUBERNETES:
            raise LauncherError(
                "an MPIJob is applied with kubectl: write it with --manifest IMAGE, and judge its log with --log"
            )
        if kind in programs and shutil.which(programs[kind]) is None and not _ours(programs[kind]):
            raise LauncherError(
                f"{programs[kind]} is not on PATH: load its module, or choose another --launcher"
            )
        return kind
    for kind, program in programs.items():
        if (shutil.which(program) or _ours(program)) and (kind is not Kind.SLURM or slurm_answers()):
            return kind
    if shutil.which("srun"):
        raise LauncherError(
            "srun is here, and no Slurm controller answers (sinfo): run on a node of the cluster, or choose --launcher"
        )
    raise LauncherError(
        "neither srun nor mpirun is on PATH: load one's module, or write an MPIJob with --manifest IMAGE"
    )


def _ours(program: str) -> str | None:
    """Open MPI of AWS's images is not on PATH; Debian's has a name of its own."""
    if program != "mpirun":
        return None
    return next(
        (
            path
            for path in ("/opt/amazon/openmpi/bin/mpirun", "/usr/bin/mpirun.openmpi")
            if Path(path).exists()
        ),
        None,
    )


def find_binary(collective: str, given: str | None = None) -> str:
    """The nccl-tests program of a collective: given as a path or a folder, on PATH, or where the images have it."""
    name = f"{collective}_perf"
    if given is not None:
        path = Path(given)
        return str(path / name) if path.is_dir() else given
    found = shutil.which(name)
    if found:
        return found
    for pattern in BINARIES:
        places = sorted(Path("/").glob(pattern.format(name=name).lstrip("/")))
        if places:
            return str(places[-1])
    raise LauncherError(
        f"{name} is not on PATH nor where the GPU images have it: build NVIDIA/nccl-tests with MPI=1 and name its "
        "folder with --binary"
    )


def slurm_command(job: Job, nodes: Sequence[str], *, mpi: str | None = None, gres: bool = False) -> list[str]:
    """One step on exactly these nodes; `mpi` is Slurm's name of the PMI, None leaves Slurm's default.

    `gres`: Slurm counts GPUs here, and gives a job only those that it asks for.
    """
    step = [
        "srun",
        f"--nodes={len(nodes)}",
        f"--nodelist={','.join(nodes)}",
        f"--ntasks={len(nodes) * job.gpus_per_node}",
        f"--ntasks-per-node={job.gpus_per_node}",
        "--cpu-bind=none",
        "--kill-on-bad-exit=1",
        # Whole lines: ranks write into each other's otherwise.
        "--label",
    ]
    if mpi:
        step.append(f"--mpi={mpi}")
    if "SLURM_JOB_ID" in os.environ:
        step.append("--overlap")
    elif gres and not any(word.startswith(("--gpus", "--gres")) for word in job.extra):
        # A step of a job has the job's GPUs; a job of its own has none unless it asks.
        step.append(f"--gpus-per-node={job.gpus_per_node}")
    assignments = [f"{name}={value}" for name, value in sorted(job.environment.items())]
    environment = ["env", *assignments] if assignments else []
    return [*step, *job.extra, *environment, *job.command]


def openmpi_command(
    job: Job,
    nodes: Sequence[str],
    *,
    program: str = "mpirun",
    root: bool | None = None,
    tag: Sequence[str] = (),
) -> list[str]:
    """AWS's and Azure's own settings for nccl-tests: TCP for MPI's few words, no binding, no hcoll.

    `tag` is what makes this release name the rank of each piece of output (`openmpi_tag`).

    Sources: EC2 User Guide, efa-start-nccl.html; Azure/ai-infrastructure-on-azure a01b073.
    """
    root = os.geteuid() == 0 if root is None else root
    return [
        program,
        *(["--allow-run-as-root"] if root else []),
        *tag,
        "--host",
        ",".join(f"{node}:{job.gpus_per_node}" for node in nodes),
        "-np",
        str(len(nodes) * job.gpus_per_node),
        "--map-by",
        f"ppr:{job.gpus_per_node}:node",
        "--bind-to",
        "none",
        *("--mca", "pml", "^cm", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_exclude", "lo,docker0"),
        *("--mca", "coll_hcoll_enable", "0"),
        *(word for name, value in sorted(job.environment.items()) for word in ("-x", f"{name}={value}")),
        *job.extra,
        *job.command,
    ]


def openmpi_tag(program: str) -> tuple[str, ...]:
    """Ranks write into each other's lines unless each piece has a tag. Open MPI 4 and 5, mpirun(1)."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    release = re.search(r"Open MPI\) (\d+)", done.stdout)
    if release is None:
        return ()
    return ("--tag-output",) if int(release[1]) < 5 else ("--output", "tag")


def mpi_of_slurm() -> str | None:
    """`pmix` where Slurm has it: what nccl-tests built with a current MPI want."""
    try:
        done = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    listed = re.findall(r"\bpmix(?:_v\d+)?\b", done.stdout + done.stderr)
    return "pmix" if "pmix" in listed else (listed[-1] if listed else None)


def _sinfo() -> subprocess.CompletedProcess[str] | None:
    """The nodes' generic resources; None where nobody answers."""
    command = ["sinfo", "--noheader", "--format=%G"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done if done.returncode == 0 else None


def slurm_answers() -> bool:
    """Whether Slurm is configured here, not only installed."""
    return "SLURM_JOB_ID" in os.environ or _sinfo() is not None


def slurm_counts_gpus() -> bool:
    """Whether the nodes' generic resources have GPUs."""
    found = _sinfo()
    return found is not None and "gpu" in found.stdout


def command_builder(kind: Kind, job: Job) -> Callable[[Sequence[str]], list[str]]:
    """Nodes → command."""
    if kind is Kind.SLURM:
        mpi = None if any(word.startswith("--mpi") for word in job.extra) else mpi_of_slurm()
        gres = "SLURM_JOB_ID" not in os.environ and slurm_counts_gpus()
        return lambda nodes: slurm_command(job, nodes, mpi=mpi, gres=gres)
    program = shutil.which("mpirun") or _ours("mpirun") or "mpirun"
    tag = openmpi_tag(program)
    return lambda nodes: openmpi_command(job, nodes, program=program, tag=tag)


def default_wrapper() -> tuple[str, ...]:
    """Our entrypoint where this node has it: it stops where NCCL would go on over TCP."""
    return (paths.ENTRYPOINT, "--") if Path(paths.ENTRYPOINT).exists() else ()
