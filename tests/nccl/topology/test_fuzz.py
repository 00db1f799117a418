"""Mutated files through parser, lint, mending and drawing: nothing escapes, nothing hangs, and the verdict is NCCL's.

The strict reader of these tests is the oracle: what it rejects must be reported, and what is reported as rejected
must be rejected by it.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpu_fabric.nccl.findings import Finding
from gpu_fabric.nccl.hardware import get_size, load_sizes
from gpu_fabric.nccl.topology import TopologyError, from_catalog, parse, to_xml
from gpu_fabric.nccl.topology.compare import compare
from gpu_fabric.nccl.topology.draw import to_svg, to_text
from gpu_fabric.nccl.topology.fix import fix
from gpu_fabric.nccl.topology.lint import lint
from gpu_fabric.nccl.topology.paths import all_paths
from gpu_fabric.nccl.topology.rules import RULES
from tests.nccl.topology import nccl_reader
from tests.nccl.topology.cases import BROKEN, GOOD

DATA = Path(__file__).parents[2] / "data"
PIECES = (
    "<", ">", "/", "=", '"', "'", " ", "\t", "\n", "\r", "\0", "&lt;", "<!--", "-->", "<?xml?>", "<!DOCTYPE a>", "/>",
    "</cpu>", "</pci>", "</system>", "<cpu>", "<pci>", "<net/>", "<gpu/>", "<nic>", "<bridge/>", 'keep="1"', "0x", "-1",
    "ffff:ff:01.0", "32.0 GT/s", "99999999999999999999", "0-23", "é", "\ufeff", "x" * 300,
)  # fmt: skip
#: An attribute is missing, which a host may fill in; the strict reader reads without a host.
LEFT_TO_HOST = {
    "topology-left-to-host",
    "topology-link-missing",
    "topology-tab-in-name",
    "topology-space-before-equals",
    "topology-attributes-dropped",
    "topology-no-cpu",
}
#: Rejected when the graph is built from what a host filled in, which the strict reader only does for what it reads.
BUILDING = {"topology-model-missing", "topology-nvlink-incomplete", "topology-c2c-incomplete"}


def seeds() -> list[str]:
    """Good files, broken files, a dump and the guide's."""
    sizes = [to_xml(t) for size in load_sizes().values() if (t := from_catalog(size)) is not None]
    files = [path.read_text() for path in sorted(DATA.glob("*/*.xml"))]
    small = [case.text for case in BROKEN if len(case.text) < 4_000]
    return [GOOD, *files, *small, sizes[0], sizes[-1]]


def mutated(number: int) -> Iterator[str]:
    """So many mutated files, always the same."""
    chance = random.Random(20261129)
    texts = seeds()
    for _ in range(number):
        text = chance.choice(texts)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text) + 1)
            end = min(len(text), at + chance.choice((0, 1, 1, 2, 8, 40)))
            match chance.randrange(5):
                case 0:
                    text = text[:at] + text[end:]
                case 1:
                    text = text[:at] + chance.choice(PIECES) + text[end:]
                case 2:
                    text = text[:end] + text[at:]
                case 3:
                    lines = text.split("\n")
                    line = chance.randrange(len(lines))
                    lines.insert(chance.randrange(len(lines) + 1), lines.pop(line))
                    text = "\n".join(lines)
                case 4:
                    text = (
                        text[:at] if chance.random() < 0.1 else text[:at] + chance.choice(PIECES) + text[at:]
                    )
        yield text


def check(text: str) -> None:
    """Everything that takes a stranger's text takes this one."""
    findings = lint(text, "topo.xml", get_size("p5.48xlarge"))
    assert all(isinstance(finding, Finding) for finding in findings)
    codes = {finding.code for finding in findings}
    mended = fix(text)
    assert fix(mended) == mended
    try:
        topology = parse(text)
    except TopologyError:
        topology = None
    if topology is not None:
        to_text(topology)
        to_svg(topology)
        all_paths(topology)
        assert compare(topology, topology) == ()
        try:
            assert parse(to_xml(topology)) == topology
        except TopologyError as refused:
            assert "contains a quotation mark" in str(refused) or "attributes" in str(refused)
    agree(text, codes)


def agree(text: str, codes: set[str]) -> None:
    """The lint's verdict is that of the strict reader."""
    rejected = {code for code in codes if RULES[code].rejected}
    try:
        graph = nccl_reader.read(text)
    except nccl_reader.RejectedError as reason:
        assert rejected or codes & LEFT_TO_HOST, (
            f"NCCL rejects this, and the lint is silent: {reason}\n{text}"
        )
    except nccl_reader.CrashError:
        assert "topology-attribute-overflow" in codes, text
    else:
        # A file from which NCCL takes nothing is as bad as one that it rejects.
        assert graph is None or rejected <= BUILDING, (
            f"the lint says that NCCL rejects this, and it does not: {rejected}\n{text}"
        )


def test_mutated_files_raise_nothing_and_get_the_verdict_of_nccl() -> None:
    for text in mutated(600):
        check(text)


@pytest.mark.slow
def test_ten_thousand_mutated_files_raise_nothing_in_bounded_memory() -> None:
    tracemalloc.start()
    longest = 0.0
    for text in mutated(10_000):
        started = time.process_time()
        check(text)
        longest = max(longest, time.process_time() - started)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert longest < 5, "seconds for one file"
    assert peak < 200 * 2**20, "bytes"
