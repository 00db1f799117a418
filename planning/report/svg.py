"""Small SVG pictures without a library: a line chart, stacked bars, and the two clouds with their link.

Everything is text in the viewer's own font, colours are of Okabe and Ito's palette (told apart with every kind of
colour vision), lines of the frame take the page's text colour, so that the pictures stand on light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

DASHES = ("", "9 4", "3 3", "12 3 3 3")
"""Lines that lie on each other stay visible."""
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C", "#B8A800")
FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class Series:
    """A line through (x, y); `low` and `high` draw a band, `dots` are measured points."""

    name: str
    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float, float], ...] = ()
    """(x, low, high)."""
    dots: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Bar:
    """One bar of parts that follow each other."""

    name: str
    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Box:
    """A cloud in the picture: a heading and lines below it."""

    title: str
    lines: tuple[str, ...]


def _text(
    x: float, y: float, words: str, *, size: int = 13, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' font-weight='{weight}' "
        f"fill='currentColor'>{escape(words)}</text>"
    )


def _line(
    x1: float, y1: float, x2: float, y2: float, *, opacity: float = 1.0, dash: str = "", width: float = 1
) -> str:
    dashed = f" stroke-dasharray='{dash}'" if dash else ""
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='currentColor' "
        f"stroke-opacity='{opacity:g}' stroke-width='{width:g}'{dashed}/>"
    )


def _picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' role='img' "
        f"aria-label={quoteattr(title)} {FONT}><title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def nice_steps(highest: float, count: int = 5) -> list[float]:
    """Round values from 0 to at least `highest`, about `count` of them; [0, 1] for a chart without values."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / count
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(scale * factor for factor in (1, 2, 2.5, 5, 10) if scale * factor >= rough * 0.999)
    return [step * index for index in range(math.ceil(highest / step - 1e-9) + 1)]


def line_chart(
    series: Sequence[Series],
    ticks: Sequence[tuple[float, str]],
    *,
    title: str,
    y_label: str,
    limits: Sequence[tuple[str, float]] = (),
) -> str:
    """Lines over a logarithmic x axis. `ticks` are (x, words); `limits` are dashed lines across, with their names."""
    width, left, right, top, bottom = 720.0, 62.0, 28.0, 44.0, 44.0
    height = 340.0 + 20 * len(series)
    plot_height = 340.0 - top - bottom
    xs = [math.log2(x) for x, _ in ticks]
    low_x, high_x = min(xs), max(xs)
    highest = max(
        [y for line in series for _, y in line.points]
        + [high for line in series for _, _, high in line.band]
        + [y for line in series for _, y in line.dots]
        + [y for _, y in limits]
    )
    steps = nice_steps(highest)
    top_value = steps[-1]

    def px(x: float) -> float:
        share = (math.log2(x) - low_x) / (high_x - low_x) if high_x > low_x else 0.5
        return left + share * (width - left - right)

    def py(y: float) -> float:
        return top + plot_height * (1 - y / top_value)

    parts = [_text(left, 18, title, size=15, weight="600"), _text(left, 36, y_label, size=12)]
    for step in steps:
        parts.append(_line(left, py(step), width - right, py(step), opacity=0.15))
        parts.append(_text(left - 8, py(step) + 4, f"{step:g}", size=12, anchor="end"))
    for x, words in ticks:
        parts.append(_text(px(x), top + plot_height + 20, words, size=11, anchor="middle"))
    # Names of limits that lie close to each other go to different ends of their lines.
    for index, (words, value) in enumerate(limits):
        parts.append(_line(left, py(value), width - right, py(value), opacity=0.7, dash="5 4"))
        x, anchor = (width - right, "end") if index % 2 == 0 else (left + 4, "start")
        parts.append(_text(x, py(value) - 5, words, size=11, anchor=anchor))
    for index, line in enumerate(series):
        colour = PALETTE[index % len(PALETTE)]
        if line.band:
            upper = [f"{px(x):.1f},{py(high):.1f}" for x, _, high in line.band]
            lower = [f"{px(x):.1f},{py(low):.1f}" for x, low, _ in reversed(line.band)]
            parts.append(f"<polygon points='{' '.join(upper + lower)}' fill='{colour}' fill-opacity='0.13'/>")
        stroke = f"stroke='{colour}' stroke-width='2.2' stroke-dasharray='{DASHES[index % len(DASHES)]}'"
        points = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in line.points)
        parts.append(f"<polyline points='{points}' fill='none' {stroke}/>")
        for x, y in line.dots:
            parts.append(f"<circle cx='{px(x):.1f}' cy='{py(y):.1f}' r='4' fill='{colour}' stroke='white'/>")
        legend = 344.0 + 20 * index
        parts.append(
            f"<line x1='{left}' y1='{legend - 4:.1f}' x2='{left + 26}' y2='{legend - 4:.1f}' {stroke}/>"
        )
        dots = "; dots are measured" if line.dots else ""
        parts.append(_text(left + 34, legend, f"{line.name}{dots}", size=12))
    return _picture(width, height, title, parts)


def stacked_bars(bars: Sequence[Bar], *, title: str, unit: str) -> str:
    """Horizontal bars of parts, one colour a part name, with the value in every part that is wide enough."""
    longest = max(sum(value for _, value in bar.parts) for bar in bars)
    names = list(dict.fromkeys(name for bar in bars for name, value in bar.parts if value > longest / 1000))
    colours = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(names)}
    width, left, right = 720.0, 12.0, 16.0
    steps = nice_steps(longest)
    scale = (width - left - right - 30) / steps[-1]
    rows = -(-len(names) // 3)
    height = 40 + 62.0 * len(bars) + 34 + 20 * rows
    parts = [_text(left, 20, title, size=15, weight="600")]
    bottom = 40 + 62.0 * len(bars)
    for step in steps:
        parts.append(_line(left + step * scale, 40, left + step * scale, bottom, opacity=0.15))
        words = f"{step:g} {unit}" if step == steps[-1] else f"{step:g}"
        parts.append(
            _text(left + step * scale, bottom + 14, words, size=11, anchor="middle" if step else "start")
        )
    for index, bar in enumerate(bars):
        y = 54 + 62.0 * index
        parts.append(_text(left, y, bar.name, size=12))
        x = left
        for name, value in bar.parts:
            span = value * scale
            if name not in colours or span <= 0:
                continue
            parts.append(
                f"<rect x='{x:.1f}' y='{y + 8:.1f}' width='{span:.1f}' height='26' fill='{colours[name]}'>"
                f"<title>{escape(f'{name}: {value:.3g} {unit}')}</title></rect>"
            )
            if span > 48:
                label = f"{value:.3g} {unit}"
                parts.append(
                    f"<text x='{x + span / 2:.1f}' y='{y + 26:.1f}' font-size='12' text-anchor='middle' "
                    f"fill='white'>{escape(label)}</text>"
                )
            x += span
    for index, name in enumerate(names):
        x, y = left + 236 * (index % 3), bottom + 38 + 20 * (index // 3)
        parts.append(f"<rect x='{x}' y='{y - 10:.1f}' width='12' height='12' fill='{colours[name]}'/>")
        parts.append(_text(x + 18, y, name, size=12))
    return _picture(width, height, title, parts)


def _box(x: float, y: float, width: float, box: Box, colour: str) -> tuple[list[str], float]:
    height = 46 + 20.0 * len(box.lines)
    parts = [
        f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='10' fill='{colour}' fill-opacity='0.10' "
        f"stroke='{colour}' stroke-width='1.5'/>",
        _text(x + 14, y + 26, box.title, size=15, weight="600"),
    ]
    for index, words in enumerate(box.lines):
        parts.append(_text(x + 14, y + 50 + 20 * index, words, size=12))
    return parts, height


def clouds_picture(first: Box, second: Box | None, hops: Sequence[str], *, title: str) -> str:
    """One cloud, or two with the hops of the link between them in order."""
    width = 720.0
    if second is None:
        parts, height = _box(12, 12, width - 24, first, PALETTE[0])
        return _picture(width, height + 24, title, parts)
    side = 330.0
    parts, left_height = _box(12, 12, side, first, PALETTE[0])
    more, right_height = _box(width - side - 12, 12, side, second, PALETTE[1])
    parts += more
    bottom = 12 + max(left_height, right_height)
    lane = bottom + 44
    start, end = 12 + side / 2, width - 12 - side / 2
    parts.append(_line(start, 12 + left_height, start, lane, width=1.5))
    parts.append(_line(end, 12 + right_height, end, lane, width=1.5))
    parts.append(_line(start, lane, end, lane, width=1.5))
    for index, words in enumerate(hops):
        x = start + (end - start) * (index + 0.5) / len(hops)
        parts.append(f"<circle cx='{x:.1f}' cy='{lane}' r='6' fill='{PALETTE[2]}'/>")
        # Long names of neighbours do not fit beside each other: they alternate above and below the line.
        lines = words.split("\n")
        below = index % 2 == 0
        for number, part in enumerate(lines):
            y = lane + 24 + 15 * number if below else lane - 14 - 15 * (len(lines) - 1 - number)
            parts.append(_text(x, y, part, size=11, anchor="middle"))
    return _picture(width, lane + 66, title, parts)
