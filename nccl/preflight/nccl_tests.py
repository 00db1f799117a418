"""Read what NVIDIA's nccl-tests print: the text of releases since 2.0, and the JSON of `-J` (versions 1 and 2).

Columns are taken from the header, because they changed: `error` became `#wrong` in 2.10, `redop` and `root` are
missing for some collectives in old releases, newer ones can print statistics of each iteration beside. A row counts
only whole: what others wrote into it is taken out (`log`), and one that cannot be put together is counted as lost.
Source: NVIDIA/nccl-tests, src/common.cu and src/util.cu (0fdb00a3, 2.19).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpu_fabric.nccl.preflight.log import split

_RANK: Final = re.compile(
    r"#\s+Rank\s+([0-9]{1,9})(?: Group\s+[0-9]+)? Pid\s+[0-9]+ on\s+(\S.*?) device\s+([0-9]{1,9}) \[(\S+)\] (.*)"
)
_AVERAGE: Final = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(\S+)")
_BOUNDS: Final = re.compile(r"#\s*Out of bounds values\s*:\s*([0-9]{1,18})")
_BEGIN: Final = re.compile(r"\s*([0-9]{1,19})\s+([0-9]{1,19})\s+([a-z]\w*)")
"""Of a row: bytes, elements, type."""
_TIMESTAMP: Final = re.compile(r"\s+[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\s*$")
_NUMBERS: Final = re.compile(r"[-+\s0-9.e:/NA]*")
"""What the rest of a row is made of."""
_REPLAY: Final = re.compile(r"\S {32,}\S")
"""The replay of a trace prints blanks for what is out of place."""
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,30}(?:\.[0-9]{0,30})?(?:e[-+]?[0-9]{1,3})?")
_TYPES: Final = {
    "int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "half": 2, "float": 4, "double": 8, "bfloat16": 2, "f8e4m3": 1, "f8e5m2": 1,
}  # fmt: skip
"""Bytes of an element; the size of a row is a whole number of them for each rank."""
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
    checked: bool
    """Whether the results were compared: not with `-c 0`, nor in place for alltoall."""


@dataclass(frozen=True)
class Row:
    bytes: int
    out_of_place: Measure | None
    in_place: Measure | None

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(found for found in (self.out_of_place, self.in_place) if found is not None)

    @property
    def busbw(self) -> float:
        """Out of place, as results are published; in place where only that was run."""
        return self.measures[0].busbw

    @property
    def wrong(self) -> int:
        return sum(measure.wrong or 0 for measure in self.measures)

    @property
    def checked(self) -> bool:
        return self.measures[0].checked


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

    rows: tuple[Row, ...] = ()
    ranks: tuple[Rank, ...] = ()
    average_busbw: float | None = None
    in_bounds: bool | None = None
    complete: bool = False
    nccl: str | None = None
    lost_rows: int = 0
    """Rows that begin and cannot be read to their end."""
    tables: int = 1
    """More than one: several runs, or ranks that each ran alone."""

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))

    @property
    def lists_all_ranks(self) -> bool:
        """Whether the devices of every rank are there, from 0 on and each once, as many on each host."""
        numbers = sorted(rank.rank for rank in self.ranks)
        on_each = set(Counter(rank.host for rank in self.ranks).values())
        return numbers == [*range(len(numbers))] and len(on_each) == 1

    @property
    def wrong(self) -> int:
        return sum(row.wrong for row in self.rows)

    @property
    def consistent(self) -> bool:
        """Whether no row is lost, and the rows have the average that nccl-tests printed, to its rounding."""
        found = [measure.busbw for row in self.rows for measure in row.measures]
        if self.lost_rows or not found or self.average_busbw is None:
            return False
        return math.isclose(math.fsum(found) / len(found), self.average_busbw, rel_tol=0.002, abs_tol=0.01)


def parse(text: str) -> TestRun:
    """Text or JSON, whichever it is. Never raises for the content: what cannot be read is not there."""
    return parse_json(text) or _from_text(text)


def parse_json(text: str) -> TestRun | None:
    """What `-J` wrote; None for text that is no JSON object."""
    stripped = text.lstrip("\ufeff \t\r\n")
    if not stripped.startswith("{"):
        return None
    try:
        document = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    return _from_json(document) if isinstance(document, dict) else None


# ---- text -----------------------------------------------------------------------------------------------------------


def _from_text(text: str) -> TestRun:
    columns: list[str] = []
    rows: list[Row] = []
    ranks: list[Rank] = []
    averages: list[float] = []
    in_bounds: bool | None = None
    lost, held, cut = 0, "", False
    for piece in split(text).pieces:
        if not cut and _BEGIN.match(held) and not _NUMBERS.fullmatch(piece.text):
            if not (_BEGIN.match(piece.text) or piece.text.lstrip().startswith("#")):
                continue  # a line of somebody else's between the halves of a row
            lost, held = lost + 1, ""
        held, cut = held + piece.text, not piece.ended
        if cut:
            continue
        line, held = held, ""
        if line.lstrip().startswith("#"):
            words = line.split()
            if "algbw" in words and "busbw" in words:
                columns = [word.lstrip("#") or word for word in line.lstrip(" #").split()]
            elif match := _RANK.search(line):
                rank, host, device, busid, model = match.groups()
                ranks.append(Rank(int(rank), host, int(device), busid, model.strip()))
            elif match := _AVERAGE.search(line):
                averages += [number for number in [_number(match[1])] if number is not None]
            elif match := _BOUNDS.search(line):
                in_bounds = int(match[1]) == 0 and in_bounds is not False
        elif columns and _BEGIN.match(line):
            row = _row(line, columns)
            if row is None:
                held = line  # the rest of it may come on the next line
            else:
                rows.append(row)
    version = re.search(r"NCCL version ([0-9.]+)", text)
    return TestRun(
        tuple(rows),
        tuple(ranks),
        averages[-1] if averages else None,
        in_bounds,
        bool(averages),
        version[1] if version else None,
        lost + bool(columns and _BEGIN.match(held)),
        max(1, len(averages)),
    )


def _row(line: str, columns: list[str]) -> Row | None:
    words = _TIMESTAMP.sub("", line).split()
    names = [name for name in columns if name != "timestamp"]
    starts = [position for position, name in enumerate(names) if name in ("time", "cputime")]
    if not starts:
        return None
    groups = [names[begin:end] for begin, end in zip(starts, [*starts[1:], len(names)], strict=True)]
    if _REPLAY.search(line):
        groups = groups[-1:]
    element = int(words[1]) * _TYPES.get(words[2], 0)
    if element and int(words[0]) % element:
        return None  # a size that lost its first digits
    values = sum(map(len, groups))
    optional = sum(name in _WORDS for name in names[: starts[0]])
    # What comes before the values: all its columns, or all but those that may be blank.
    if not starts[0] - optional <= len(words) - values <= starts[0]:
        return None
    words_left = words[len(words) - values :]
    measures = []
    for group in groups:
        part, words_left = words_left[: len(group)], words_left[len(group) :]
        measure = _measure(dict(zip(group, part, strict=True)))
        if measure is None:
            return None
        measures.append(measure)
    if len(starts) > 1 and len(measures) == 1:
        return Row(int(words[0]), None, measures[0])
    return Row(int(words[0]), measures[0], measures[1] if len(measures) > 1 else None)


def _measure(found: Mapping[str, str]) -> Measure | None:
    """None unless every column holds what it should: a shifted row is none."""
    if any(text != "N/A" and _number(text) is None for text in found.values()):
        return None
    clock = "cputime" if "cputime" in found else "time"
    time, algbw, busbw = (_number(found.get(name, "")) for name in (clock, "algbw", "busbw"))
    if time is None or algbw is None or busbw is None:
        return None
    wrong, error = _number(found.get("wrong", "")), _number(found.get("error", ""))
    checked = wrong is not None or error is not None
    return Measure(time, algbw, busbw, None if wrong is None else int(wrong), checked)


def _number(text: str) -> float | None:
    """A finite number written as printf writes it."""
    return _finite(float(text)) if _NUMBER.fullmatch(text) else None


# ---- JSON -----------------------------------------------------------------------------------------------------------


def _from_json(document: Mapping[str, Any]) -> TestRun:
    entries = _objects(document.get("results"))
    rows = [row for entry in entries if (row := _json_row(entry)) is not None]
    devices = _objects(_object(document.get("config")).get("devices") or document.get("devices"))
    ranks = [rank for device in devices if (rank := _json_rank(device)) is not None]
    average = _finite(_object(document.get("average_bus_bandwidth")).get("bandwidth"))
    bounds = _count(_object(document.get("out_of_bounds")).get("count"))
    code = _count(document.get("nccl_version"))
    return TestRun(
        tuple(rows),
        tuple(ranks),
        average,
        None if bounds is None else bounds == 0,
        average is not None and "end_time" in document,
        nccl_version_of(code) if code else None,
        len(entries) - len(rows),
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [_object(entry) for entry in value] if isinstance(value, list) else []


def _finite(value: object) -> float | None:
    """A number of JSON's; its own `NaN` and numbers past a float are none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(value: object) -> int | None:
    number = _finite(value)
    return int(number) if number is not None and number >= 0 else None


def _json_rank(device: Mapping[str, Any]) -> Rank | None:
    rank, number, host = _count(device.get("rank")), _count(device.get("device")), device.get("hostname")
    if rank is None or number is None or not isinstance(host, str) or not host:
        return None
    busid, model = (str(device.get(name) or "").strip("[] ") for name in ("device_hex", "device_info"))
    return Rank(rank, host, number, busid, model)


def _json_row(entry: Mapping[str, Any]) -> Row | None:
    size = _count(entry.get("size"))
    halves = [_json_measure(_object(entry.get(name))) for name in ("out_of_place", "in_place")]
    return Row(size, halves[0], halves[1]) if size is not None and any(halves) else None


def _json_measure(entry: Mapping[str, Any]) -> Measure | None:
    time, algbw, busbw = (
        _finite(entry.get(name))
        for name in ("cpu_time" if "cpu_time" in entry else "time", "alg_bw", "bus_bw")
    )
    if time is None or algbw is None or busbw is None:
        return None
    wrong = _count(entry.get("nwrong"))
    return Measure(time, algbw, busbw, wrong, wrong is not None)


def nccl_version_of(code: int) -> str:
    """23007 → 2.30.7. NCCL_VERSION in nccl.h: 10000·major + 100·minor + patch since 2.9."""
    if code < 10_000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"
