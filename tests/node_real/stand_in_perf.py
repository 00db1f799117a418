#!/usr/bin/env python3
"""Stands in for all_reduce_perf: prints what nccl-tests and NCCL print, for a scenario.

As a program it is started by srun or mpirun, one process a GPU, and speaks for rank 0 what the real one speaks. The
scenario is JSON in the file that STAND_IN_SCENARIO names: `busbw` GB/s of a healthy group by its number of nodes,
and nodes by what is wrong with them: `slow` (half the speed in company), `alone` (half the speed always), `socket`
(fell back to TCP), `wrong` (corrupts data), `hang`, `crash`, `between` (pairs that are slow together);
`interrupts`: NCCL's lines stand inside the rows.
"""

import json
import os
import sys
import time
from pathlib import Path

BUSBW = {1: 480.0, 2: 470.0}
MANY = 355.0


def busbw_of(nodes, scenario):
    table = {int(count): speed for count, speed in scenario.get("busbw", {}).items()} or BUSBW
    speed = table.get(len(nodes), scenario.get("many", MANY))
    hit = set(nodes) & set(scenario.get("slow", ())) if len(nodes) > 1 else set()
    hit |= set(nodes) & set(scenario.get("alone", ()))
    pairs = [pair for pair in scenario.get("between", ()) if set(pair) <= set(nodes)]
    if hit or pairs or len(nodes) > scenario.get("slow_above", 10**9):
        speed /= 2
    if len(nodes) > 1 and set(nodes) & set(scenario.get("socket", ())):
        speed = 4.2
    return speed


def nccl_lines(node, rank, scenario, several):
    head = f"{node}:{4000 + rank}:{4100 + rank} [{rank}] NCCL INFO"
    first = f"{head} Bootstrap: Using eth0:10.0.0.{rank + 1}<0>"
    if not several:
        return [first, f"{head} Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"]
    if node in scenario.get("socket", ()):
        said = ("NET/Socket : Using [0]eth0:10.0.0.1<0>", "Using network Socket")
        via = "NET/Socket/0"
    elif scenario.get("fabric") == "infiniband":
        said = ("NET/IB : Using [0]mlx5_ib0:1/IB [RO]; OOB eth0:10.0.0.1<0>", "Using network IB")
        via = "NET/IB/0/GDRDMA"
    else:
        said = (
            "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
            "Using network Libfabric",
        )
        via = "NET/Libfabric/0/GDRDMA/Shared"
    last = f"{head} Channel 00/0 : 8[0] -> 0[0] [receive] via {via}"
    return [first, *(f"{head} {words}" for words in said), last]


def table(nodes, gpus, scenario, sizes=(2**30, 2**31, 2**32, 2**33)):
    """The text of release 2.17 and later."""
    speed = busbw_of(nodes, scenario)
    ranks = len(nodes) * gpus
    wrong = 96 if set(nodes) & set(scenario.get("wrong", ())) else 0
    seats = [(rank, nodes[rank // gpus], rank % gpus) for rank in range(ranks)]
    devices = [
        f"#  Rank {rank:2d} Group  0 Pid {4000 + rank:6d} on {node:>10s} device {device:2d} [0x53] NVIDIA H100"
        for rank, node, device in seats
    ]
    lines = [
        f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} step: 2(factor) warmup iters: 1 iters: 20",
        "#",
        "# Using devices",
        *devices,
        "NCCL version 2.27.7+cuda12.8",
        "#",
        f"#{'':62}out-of-place{'':23}in-place",
        "#       size         count      type   redop    root" + "     time   algbw   busbw #wrong" * 2,
        "#        (B)    (elements)                          " + "     (us)  (GB/s)  (GB/s)       " * 2,
    ]
    speeds = [speed * (0.8 if size == sizes[0] else 1.0) for size in sizes]
    for size, busbw in zip(sizes, speeds, strict=True):
        algbw = busbw / (2 * (ranks - 1) / ranks) if ranks > 1 else busbw
        numbers = f"  {size / algbw / 1e3:7.0f}  {algbw:6.2f}  {busbw:6.2f}"
        head = f"{size:12d}  {size // 4:12d}     float     sum      -1"
        if scenario.get("interrupts"):
            # Lazy connections: NCCL speaks while the first columns wait for the others.
            lines.append(head + nccl_lines(nodes[0], 0, scenario, several=True)[-1])
            head = ""
        lines.append(f"{head}{numbers}  {wrong:5d}{numbers}  {0:5d}")
    verdict = "FAILED" if wrong else "OK"
    return [
        *lines,
        f"# Out of bounds values : {wrong} {verdict}",
        f"# Avg bus bandwidth    : {sum(speeds) / len(speeds):g} ",
        "#",
    ]


def whole(nodes, gpus, scenario):
    """What all ranks of a group print together."""
    lines = [
        line
        for at, node in enumerate(nodes)
        for line in nccl_lines(node, at * gpus, scenario, len(nodes) > 1)
    ]
    return "\n".join([*lines, *table(nodes, gpus, scenario)]) + "\n"


def main():
    scenario = json.loads(Path(os.environ["STAND_IN_SCENARIO"]).read_text())
    node = os.environ.get("SLURMD_NODENAME") or os.environ["STAND_IN_NODE"]
    rank = int(os.environ.get("SLURM_PROCID", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
    ranks = int(os.environ.get("SLURM_NTASKS", os.environ.get("OMPI_COMM_WORLD_SIZE", "1")))
    job = (
        os.environ.get("SLURM_JOB_ID", "")
        + "-"
        + os.environ.get("SLURM_STEP_ID", os.environ.get("PMIX_NAMESPACE", ""))
    )
    assert sys.argv[1:3] == ["-b", "1G"], sys.argv
    assert os.environ["NCCL_DEBUG"] == "INFO"
    meeting = Path(os.environ["STAND_IN_SCENARIO"]).parent / f"meeting-{job}"
    meeting.mkdir(exist_ok=True)
    # Whole or not at all, because others read it meanwhile.
    seat = meeting.with_name(f"{meeting.name}-seat-{rank}")
    seat.write_text(node)
    seat.rename(meeting / f"{rank}")
    if node in scenario.get("hang", ()):
        time.sleep(600)
    if node in scenario.get("crash", ()):
        words = "Error: 4126 (Unresponsive receiver (reachable by EFA device but handshake failed))"
        print(f"{node}:1:1 [0] NCCL WARN NET/OFI Request completed with error. RC: 103. {words}", flush=True)
        sys.exit(3)
    end = time.monotonic() + 20
    while len([*meeting.iterdir()]) < ranks:
        if time.monotonic() > end:
            sys.exit("the other ranks did not come")
        time.sleep(0.01)
    seats = [(meeting / f"{number}").read_text() for number in range(ranks)]
    nodes = list(dict.fromkeys(seats))
    gpus = ranks // len(nodes)
    if rank % gpus == 0:
        print("\n".join(nccl_lines(node, rank, scenario, len(nodes) > 1)), flush=True)
    if rank == 0:
        print("\n".join(table(nodes, gpus, scenario)), flush=True)


if __name__ == "__main__":
    main()
