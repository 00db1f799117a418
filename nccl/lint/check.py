"""Lint: read the files, try every check, return findings; and the mended text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_fabric.nccl.environment.build import DEFAULT_NCCL_VERSION
from gpu_fabric.nccl.environment.situation import Situation
from gpu_fabric.nccl.findings import Finding, Level, ordered
from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.lint.contradictions import check_file, check_files, check_together, check_topologies
from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis, Fix
from gpu_fabric.nccl.lint.fix import mend
from gpu_fabric.nccl.lint.grammar import check_value
from gpu_fabric.nccl.lint.lifecycle import check_name
from gpu_fabric.nccl.lint.rules import check_rules, check_set_elsewhere, check_topology_name
from gpu_fabric.nccl.lint.sources import (
    Assignment,
    Format,
    Misreading,
    Source,
    is_topology,
    other_language,
    read_source,
)
from gpu_fabric.nccl.versions import parse_version

MAX_BYTES = 4 * 1024 * 1024
"""Larger files are not looked at, and need be read only one byte further: no environment or topology is larger."""

MAX_LINE = 100_000
"""Characters; a longer line is not looked at."""


ANY_PLATFORM = Situation(nccl=parse_version(DEFAULT_NCCL_VERSION))
"""What is checked against where no size is given: the release of NCCL, and no platform."""


@dataclass(frozen=True)
class Target:
    """What the files are meant for. Without a situation only what holds on every platform is checked."""

    situation: Situation | None = None
    size: NodeSize | None = None

    @property
    def name(self) -> str:
        return self.size.name if self.size else "any size"


def lint(
    texts: Mapping[str, str], *, situation: Situation | None = None, size: NodeSize | None = None
) -> list[Finding]:
    """Findings about environment files and topology files together, in reading order.

    `texts` maps paths, as the user should see them, to contents; their kind is found from name and content.
    Without a `situation` only what holds on every platform is checked. `size` is handed to the topology lint.
    Never raises for the content of a file.
    """
    return ordered(diagnosis.finding for diagnosis in diagnose(texts, situation=situation, size=size))


def lint_values(
    values: Mapping[str, str],
    *,
    situation: Situation,
    path: str = "environment",
    only: Iterable[str] | None = None,
) -> list[Finding]:
    """Findings about variables that a program has, without a file; with `only`, those that concern these names."""
    source = Source(
        path,
        Format.VALUES,
        "",
        tuple(Assignment(name, value, path, 0, Format.VALUES) for name, value in values.items()),
    )
    wanted = None if only is None else frozenset(only)
    found = (
        diagnosis.finding
        for diagnosis in _diagnose_sources([source], {}, situation)
        if wanted is None or wanted.intersection(diagnosis.names)
    )
    return ordered(
        Finding(entry.code, entry.level, entry.path, None, entry.what, entry.remedy, entry.source)
        for entry in found
    )


def lint_for(texts: Mapping[str, str], targets: Sequence[Target]) -> list[Finding]:
    """Findings for several sizes at once, as for a script that serves two clouds.

    What holds for every target is said once; what holds for some ends with their names.
    """
    if len(targets) < 2:
        target = targets[0] if targets else Target()
        return lint(texts, situation=target.situation, size=target.size)
    holds: dict[Finding, list[str]] = {}
    for target in targets:
        for finding in lint(texts, situation=target.situation, size=target.size):
            holds.setdefault(finding, []).append(target.name)
    return ordered(
        finding
        if len(names) == len(targets)
        else replace(finding, what=f"{finding.what} ({', '.join(names)})")
        for finding, names in holds.items()
    )


def fix(texts: Mapping[str, str], targets: Sequence[Target] = ()) -> dict[str, str]:
    """The files that a fix changes, mended: only what is unambiguous, and right for every target."""
    common: list[Diagnosis] | None = None
    for target in targets or (Target(),):
        found = [
            entry for entry in diagnose(texts, situation=target.situation, size=target.size) if entry.fix
        ]
        if common is None:
            common = found
        else:
            here = {_key(entry) for entry in found}
            common = [entry for entry in common if _key(entry) in here]
    mended = {}
    for path, text in texts.items():
        if _unreadable(text) is None and is_topology(path, text):
            from gpu_fabric.nccl.topology.fix import fix as mend_topology

            new = mend_topology(text, targets[0].size if len(targets) == 1 else None)
        else:
            new = mend(text, [entry for entry in common or () if entry.finding.path == path])
        if new != text:
            mended[path] = new
    return mended


def _key(diagnosis: Diagnosis) -> tuple[object, ...]:
    return (diagnosis.finding.path, diagnosis.finding.line, diagnosis.names[:1], diagnosis.fix)


def diagnose(
    texts: Mapping[str, str], *, situation: Situation | None = None, size: NodeSize | None = None
) -> Iterator[Diagnosis]:
    """Every diagnosis, with the change that would mend it."""
    sources: list[Source] = []
    topologies: dict[str, str] = {}
    for path, text in texts.items():
        problem = _unreadable(text) or _not_ours(path, text)
        if problem is not None:
            yield Diagnosis(Finding("env-unreadable", Level.ERROR, path, None, *problem, "gpu-fabric lint"))
        elif is_topology(path, text):
            topologies[path] = text
        else:
            sources.append(read_source(path, text))
    if topologies:
        from gpu_fabric.nccl.topology.lint import lint as lint_topology

        for path, text in topologies.items():
            yield from (Diagnosis(finding) for finding in lint_topology(text, path, size))
    yield from _diagnose_sources(sources, topologies, situation or ANY_PLATFORM)


def _unreadable(text: str) -> tuple[str, str] | None:
    # Every byte that is no UTF-8 was read as one character, which becomes one `?` here: the count is that of the file.
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return (
            f"The file has more than {MAX_BYTES:,} bytes and was not looked at.",
            "Give the environment's own file.",
        )
    if "\0" in text:
        return "The file is binary.", "Give a text file."
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        return (
            f"A line has more than {MAX_LINE:,} characters.",
            "Break the line, or give the environment's own file.",
        )
    return None


def _not_ours(path: str, text: str) -> tuple[str, str] | None:
    """A file of another kind would be found clean, because nothing of it is understood."""
    other = None if is_topology(path, text) else other_language(path, text)
    if other is None:
        return None
    return (
        f"This is no kind of file that lint reads ({other}): nothing of it was checked.",
        "Give the script, manifest, Dockerfile or nccl.conf that sets the environment, or the output of `env`.",
    )


def _diagnose_sources(
    sources: list[Source], topologies: Mapping[str, str], situation: Situation
) -> Iterator[Diagnosis]:
    for source in sources:
        yield from (_of_misreading(entry, source, situation) for entry in source.misreadings)
        yield from check_file(source)
        for assignment in source.assignments:
            here = replace(situation, format=assignment.format.value)
            checks = (check_name, check_value, check_rules, check_topology_name, check_set_elsewhere)
            yield from _without_echoes([found for check in checks for found in check(assignment, here)])
    yield from check_files(sources)
    effective = _effective(sources)
    yield from check_together(effective, situation)
    yield from check_topologies(effective, topologies, situation)


def _of_misreading(entry: Misreading, source: Source, situation: Situation) -> Diagnosis:
    """A line that its reader takes for something else: an error, unless this NCCL reads it as it was meant."""
    read_well = entry.until and situation.nccl and situation.nccl >= parse_version(entry.until)
    mild = {"env-conf-no-value": Level.WARNING}
    level = Level.NOTE if read_well else mild.get(entry.code, Level.ERROR)
    # In YAML the line also carries the indentation of its block, which the reader does not tell.
    certain = entry.mended is not None and source.format is not Format.KUBERNETES
    return Diagnosis(
        Finding(entry.code, level, source.path, entry.line, entry.what, entry.remedy, entry.source),
        entry.names,
        Assignment(entry.names[0] if entry.names else "", None, source.path, entry.line, source.format),
        Fix(Change.FILE) if entry.whole_file else Fix(Change.LINE, entry.mended or "") if certain else None,
    )


def _without_echoes(found: list[Diagnosis]) -> Iterator[Diagnosis]:
    """Where one finding says to take a variable out, those that say how to write it better only distract."""
    out = [entry for entry in found if entry.fix and entry.fix.change is Change.DELETE]
    weak = ("env-default", "env-no-effect")
    strong = [entry for entry in out if entry.finding.code not in weak]
    for entry in found:
        rewrites = entry.fix is not None and entry.fix.change in (Change.VALUE, Change.NAME)
        if (rewrites and out) or (entry.finding.code in weak and strong):
            continue
        yield entry


def _effective(sources: Iterable[Source]) -> dict[str, Assignment]:
    """The assignment of each name that holds in the end: the process's environment before NCCL's own files."""
    chosen: dict[str, Assignment] = {}
    for source in sources:
        for entry in source.assignments:
            before = chosen.get(entry.name)
            ours_is_conf = entry.format is Format.CONF
            if before is None or (before.format is Format.CONF and not ours_is_conf) or not ours_is_conf:
                chosen[entry.name] = entry
    return chosen
