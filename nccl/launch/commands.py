"""Commands and files that start a training job: torchrun, DeepSpeed, Megatron-LM; on one cloud or two.

On two clouds the ranks of one cloud come before those of the other, so that Megatron's pipeline, whose stages are its
outermost split of the ranks, crosses between clouds once. Only that group then uses sockets; the others keep their
fast fabric.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.launch import formats
from gpu_fabric.nccl.launch.nodes import LaunchNode


class LaunchInputError(ValueError):
    """The nodes and the layout do not fit; the message says every reason and what to change."""


@dataclass(frozen=True)
class Job:
    nodes: tuple[LaunchNode, ...]
    """In the order of ranks."""
    script: str
    arguments: tuple[str, ...] = ()
    port: int = formats.PORT
    entrypoint: str = paths.ENTRYPOINT
    """Put before the command, so that it stops where NCCL would go on over TCP; empty leaves it out."""

    @property
    def clouds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.cloud for node in self.nodes))

    @property
    def gpus(self) -> int:
        return self.nodes[0].slots

    @property
    def ranks(self) -> int:
        return sum(node.slots for node in self.nodes)


@dataclass(frozen=True)
class Parallelism:
    """Sizes of Megatron's groups; data parallel takes the rest."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1


@dataclass(frozen=True)
class Launch:
    commands: tuple[tuple[str, str], ...]
    """(where to run it, the command)."""
    files: dict[str, str] = field(default_factory=dict)
    """Name → text, to be there on every node."""
    notes: tuple[str, ...] = ()


def _checked(job: Job) -> list[str]:
    """What is wrong with a job on any launcher."""
    problems = []
    if not job.nodes:
        return ["no nodes"]
    slots = Counter(node.slots for node in job.nodes)
    if len(slots) > 1:
        found = ", ".join(f"{count} nodes with {gpus}" for gpus, count in sorted(slots.items()))
        problems.append(f"every node must have the same number of GPUs ({found}): leave the others out")
    runs = [
        cloud
        for at, cloud in enumerate(n.cloud for n in job.nodes)
        if at == 0 or cloud != job.nodes[at - 1].cloud
    ]
    if len(runs) > len(job.clouds):
        problems.append("the nodes of one cloud must follow each other: order them with gpu-fabric hostfile")
    if len(job.clouds) > 2:
        problems.append(f"{len(job.clouds)} clouds ({', '.join(job.clouds)}): two at most")
    return problems


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise LaunchInputError("; ".join(problems))


def _torchrun_command(job: Job, rank: int, extra: Sequence[str] = ()) -> str:
    first = [job.entrypoint, "--"] if job.entrypoint else []
    return shlex.join(
        [
            *first,
            "torchrun",
            f"--nnodes={len(job.nodes)}",
            f"--node-rank={rank}",
            f"--nproc-per-node={job.gpus}",
            f"--master-addr={job.nodes[0].address}",
            f"--master-port={job.port}",
            job.script,
            *job.arguments,
            *extra,
        ]
    )


_TWO_CLOUDS: Final = (
    "Two clouds: nodes of each need routes to the other (CrossCloudRoutes) and an environment made with "
    "--role stage-boundary and the link's --link-mbps; prove the link with `gpu-fabric-preflight link` first.",
)


def torchrun(job: Job) -> Launch:
    """One command a node. Raises `LaunchInputError`.

    Static rendezvous, because `c10d` gives node ranks by arrival and would undo the order by network distance
    (PyTorch, torch.distributed.run).
    """
    _refuse(_checked(job))
    commands = tuple((node.label, _torchrun_command(job, rank)) for rank, node in enumerate(job.nodes))
    notes: tuple[str, ...] = ()
    if len(job.clouds) == 2:
        notes = (
            *_TWO_CLOUDS,
            'The group that crosses: ProcessGroupNCCL.Options() with config.net_name = "Socket"; no other.',
        )
    return Launch(commands, {"hostfile": formats.plain(list(job.nodes))}, notes)


_ON_EVERY_NODE: Final = "Put the files into the folder from which the job starts, on every node."

DS_PART: Final = "ds_config.communication.json"
#: DeepSpeed's settings of communication; the rest of ds_config.json is the model's.
#: Source: DeepSpeed documentation, DeepSpeed Configuration JSON, ZeRO options.
_DS_COMMUNICATION: Final[dict[str, Any]] = {
    "communication_data_type": "bf16",
    "zero_optimization": {
        "stage": 3,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_bucket_size": 500_000_000,
        "stage3_prefetch_bucket_size": 500_000_000,
    },
}


def deepspeed(job: Job) -> Launch:
    """One command on the first node, its hostfile, the communication part of ds_config, and `.deepspeed_env`.

    The configuration itself is the user's: ours is a part to merge. On two clouds every node keeps a whole copy of the
    parameters (`zero_hpz_partition_size` is its GPUs, ZeRO++), so that the gathers of the backward pass stay inside the
    node; the reduction of gradients crosses, by the default group, which has one network: sockets.
    """
    _refuse(_checked(job))
    config = json.loads(json.dumps(_DS_COMMUNICATION))
    # DeepSpeed starts the others through ssh with a bare environment, and hands on what stands here.
    environment = {"NCCL_CONF_FILE": paths.NCCL_CONF}
    notes: list[str] = [_ON_EVERY_NODE]
    if len(job.clouds) == 2:
        config["zero_optimization"]["zero_hpz_partition_size"] = job.gpus
        environment["NCCL_NET"] = "Socket"
        notes += [
            *_TWO_CLOUDS,
            "DeepSpeed has no setting for one group's network, so .deepspeed_env has NCCL_NET=Socket: all of its "
            "traffic between nodes is TCP. Prefer Megatron-LM's pipeline across clouds; `gpu-fabric plan` says what it "
            "costs.",
        ]
    words = [
        "deepspeed",
        "--hostfile=hostfile",
        f"--master_addr={job.nodes[0].address}",
        f"--master_port={job.port}",
        job.script,
        *job.arguments,
    ]
    if not any(
        word.partition("=")[0] in ("--deepspeed_config", "--deepspeed-config") for word in job.arguments
    ):
        words += ["--deepspeed", "--deepspeed_config=ds_config.json"]
        notes.append(f"ds_config.json is your own: merge {DS_PART} into it.")
    else:
        notes.append(f"Merge {DS_PART} into your DeepSpeed configuration.")
    # The entrypoint proves the fast fabric, which two clouds do not have in common.
    first = [job.entrypoint, "--"] if job.entrypoint and len(job.clouds) < 2 else []
    files = {
        "hostfile": formats.deepspeed(list(job.nodes)),
        DS_PART: json.dumps(config, indent=2) + "\n",
        ".deepspeed_env": "".join(f"{name}={value}\n" for name, value in environment.items()),
    }
    return Launch(((job.nodes[0].label, shlex.join([*first, *words])),), files, tuple(notes))


def megatron(job: Job, parallel: Parallelism) -> Launch:
    """One torchrun command a node with Megatron-LM's own arguments. Raises `LaunchInputError` with every misfit.

    On two clouds the boundary between them must be one between pipeline stages: Megatron's default order of ranks
    (`tp-cp-ep-dp-pp`) makes the pipeline outermost, so a stage is a run of ranks. Sources: NVIDIA/Megatron-LM
    megatron/core/parallel_state.py (order, `nccl_communicator_config_path`, which takes `net_name` IB or Socket only).
    """
    problems = _checked(job)
    split = parallel.tensor * parallel.pipeline * parallel.context
    if split <= 0 or job.ranks % split:
        problems.append(
            f"{job.ranks} ranks are no multiple of tensor {parallel.tensor} × pipeline {parallel.pipeline} × "
            f"context {parallel.context} = {split}: change one of them, or the number of nodes"
        )
    if job.nodes and parallel.tensor > job.gpus:
        problems.append(
            f"tensor {parallel.tensor} is more than the {job.gpus} GPUs of a node: NVLink ends at the node"
        )
    files = {"hostfile": formats.plain(list(job.nodes))}
    extra = [
        f"--tensor-model-parallel-size={parallel.tensor}",
        f"--pipeline-model-parallel-size={parallel.pipeline}",
        *([f"--context-parallel-size={parallel.context}"] if parallel.context > 1 else []),
        "--distributed-backend=nccl",
    ]
    notes: list[str] = []
    if len(job.clouds) == 2 and not problems:
        first = sum(node.slots for node in job.nodes if node.cloud == job.clouds[0])
        stage = job.ranks // parallel.pipeline
        if parallel.pipeline < 2 or first % stage:
            problems.append(
                f"the boundary between the clouds is at rank {first}, and pipeline stages are {stage} ranks long: "
                f"choose a pipeline size so that {first} and {job.ranks - first} are whole numbers of stages"
            )
        files["nccl_communicators.yaml"] = (
            "# The pipeline's group alone crosses between the clouds.\npp:\n  net_name: Socket\n"
        )
        extra.append("--nccl-communicator-config-path=nccl_communicators.yaml")
        notes = [
            _ON_EVERY_NODE,
            *_TWO_CLOUDS,
            "One pp communicator spans all stages: hops between stages inside a cloud go over sockets too.",
        ]
    _refuse(problems)
    commands = tuple((node.label, _torchrun_command(job, rank, extra)) for rank, node in enumerate(job.nodes))
    return Launch(commands, files, tuple(notes))
