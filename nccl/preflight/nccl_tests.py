"""Read what NVIDIA's nccl-tests print: the text of releases since 2.0, and the JSON of `-J` (versions 1 and 2).

Columns are taken from the header, because they changed: `error` became `#wrong` in 2.10, `redop` and `root` are
missing for some collectives in old releases, newer ones can print statistics of each iteration beside. Lines may
carry a launcher's label (`srun --label`, `mpirun --tag-output`) and stand between NCCL's own.
Source: NVIDIA/nccl-tests, src/common.cu and src/util.cu (0fdb00a3, 2.19).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_LABEL: Final = re.compile(r"^\s*(?:\[\d+,\d+\](?:<std(?:out|err)>)?:|\d+:)\s?")
_RANK: Final = re.compile(
    r"#\s+Rank\s+(\d+)(?: Group\s+\d+)? Pid\s+\d+ on\s+(\S+) device\s+(\d+) \[(\S+)\] (.*)"
)
_WORDS: Final = ("redop", "root")
"""Columns that some releases leave blank for some collectives."""


@dataclass(frozen=True)
class Measure:
    """One size, out of place or in place."""

    time_us: float
    algbw: float
    """GB/s, 10^9 bytes."""
    busbw: float
    wrong: int | None
    """Wrong elements; None where the run did not check, or a release that prints an error instead."""


@dataclass(frozen=True)
class Row:
    bytes: int
    out_of_place: Measure | None
    in_place: Measure | None

    @property
    def busbw(self) -> float:
        """Out of place, as results are published; in place where only that was run."""
        measure = self.out_of_place or self.in_place
        assert measure is not None
        return measure.busbw

    @property
    def wrong(self) -> int:
        return sum(
            measure.wrong or 0 for measure in (self.out_of_place, self.in_place) if measure is not None
        )


@dataclass(frozen=True)
class Rank:
    rank: int
    host: str
    device: int
    busid: str
    model: str


@dataclass(frozen=True)
class TestRun:
    """One run. `complete` is False where the output ends before the averages."""

    __test__ = False  # not a test of pytest's

    rows: tuple[Row, ...]
    ranks: tuple[Rank, ...]
    average_busbw: float | None
    in_bounds: bool | None
    complete: bool
    nccl: str | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))

    @property
    def wrong(self) -> int:
        return sum(row.wrong for row in self.rows)


def parse(text: str) -> TestRun:
    """Text or JSON, whichever it is. Never raises for the content: what cannot be read is not there."""
    stripped = text.lstrip()
    if stripped.startswith("{"):
        try:
            return _from_json(json.loads(stripped))
        except (ValueError, KeyError, TypeError, AttributeError):
            return TestRun((), (), None, None, False)
    return _from_text(text)


# ---- text -----------------------------------------------------------------------------------------------------------


def _from_text(text: str) -> TestRun:
    columns: list[str] = []
    rows: list[Row] = []
    ranks: list[Rank] = []
    average, in_bounds, nccl = None, None, None
    for raw in text.splitlines():
        line = _LABEL.sub("", raw)
        words = line.split()
        if line.lstrip().startswith("#"):
            if "algbw" in words and "busbw" in words:
                columns = [word.lstrip("#") or word for word in line.lstrip(" #").split()]
            elif match := _RANK.match(line.lstrip()):
                rank, host, device, busid, model = match.groups()
                ranks.append(Rank(int(rank), host, int(device), busid, model.strip()))
            elif match := re.match(r"#\s*Avg bus bandwidth\s*:\s*(\S+)", line.lstrip()):
                average = _number(match[1])
            elif match := re.match(r"#\s*Out of bounds values\s*:\s*(\d+)", line.lstrip()):
                in_bounds = int(match[1]) == 0
        elif match := re.search(r"NCCL version ([\d.]+)", line):
            nccl = match[1]
        elif columns and words and words[0].isdigit() and (row := _row(words, columns)):
            rows.append(row)
    return TestRun(tuple(rows), tuple(ranks), average, in_bounds, average is not None, nccl)


def _row(words: list[str], columns: list[str]) -> Row | None:
    names = list(columns)
    # A timestamp prints two words for one column.
    if "timestamp" in names:
        names.remove("timestamp")
        words = words[: len(words) - 2]
    for name in _WORDS:
        if len(words) < len(names) and name in names:
            names.remove(name)
    starts = [position for position, name in enumerate(names) if name in ("time", "cputime")]
    if not starts or len(words) < starts[0]:
        return None
    groups = [names[begin:end] for begin, end in zip(starts, [*starts[1:], len(names)], strict=True)]
    values = words[starts[0] :]
    if len(values) == len(groups[-1]) < len(names) - starts[0]:
        # The replay of a trace prints blanks for what is out of place.
        return Row(int(words[0]), None, _measure(groups[-1], values))
    measures = []
    for group in groups:
        part, values = values[: len(group)], values[len(group) :]
        measures.append(_measure(group, part) if len(part) == len(group) else None)
    if not any(measures):
        return None
    return Row(int(words[0]), measures[0], measures[1] if len(measures) > 1 else None)


def _measure(names: list[str], words: list[str]) -> Measure | None:
    found = dict(zip(names, words, strict=False))
    time, algbw, busbw = (_number(found.get(name, "")) for name in (names[0], "algbw", "busbw"))
    if time is None or algbw is None or busbw is None:
        return None
    wrong = _number(found.get("wrong", ""))
    return Measure(time, algbw, busbw, None if wrong is None else int(wrong))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value else None


# ---- JSON -----------------------------------------------------------------------------------------------------------


def _from_json(document: Mapping[str, Any]) -> TestRun:
    rows = [*_json_rows(document.get("results") or ())]
    config = document.get("config") or {}
    ranks = tuple(
        Rank(
            int(device["rank"]),
            str(device["hostname"]),
            int(device["device"]),
            str(device.get("device_hex", "")).strip("[]"),
            str(device.get("device_info", "")).strip(),
        )
        for device in config.get("devices") or document.get("devices") or ()
    )
    average = (document.get("average_bus_bandwidth") or {}).get("bandwidth")
    bounds = (document.get("out_of_bounds") or {}).get("count")
    code = document.get("nccl_version")
    return TestRun(
        tuple(rows),
        ranks,
        float(average) if average is not None else None,
        None if bounds is None else int(bounds) == 0,
        average is not None and "end_time" in document,
        nccl_version_of(int(code)) if code else None,
    )


def _json_rows(results: Any) -> Iterator[Row]:
    for entry in results:
        yield Row(
            int(entry["size"]), _json_measure(entry.get("out_of_place")), _json_measure(entry.get("in_place"))
        )


def _json_measure(entry: Mapping[str, Any] | None) -> Measure | None:
    if not entry:
        return None
    wrong = entry.get("nwrong")
    return Measure(
        float(entry.get("time", entry.get("cpu_time"))),
        float(entry["alg_bw"]),
        float(entry["bus_bw"]),
        None if wrong in (None, "nan") else int(float(wrong)),
    )


def nccl_version_of(code: int) -> str:
    """23007 → 2.30.7. NCCL_VERSION in nccl.h: 10000·major + 100·minor + patch since 2.9."""
    if code < 10_000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"
