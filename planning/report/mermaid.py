"""The pictures for Markdown: Mermaid draws them where Markdown is shown (GitHub, GitLab)."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_fabric.planning.report.svg import PALETTE, Bar, Box, Series, nice_steps

COLOUR_WORDS = ("blue", "orange", "green", "pink")
"""What the first colours of the palette are called: Mermaid's line charts have no legend."""


def quoted(words: str) -> str:
    """A Mermaid string: quotes and line ends of its own would end it."""
    return '"' + words.replace('"', "'").replace("\n", "<br>") + '"'


def clouds(first: Box, second: Box | None, hops: Sequence[str]) -> str:
    """A flow chart of the clouds and the hops between them."""
    lines = ["flowchart LR", f"  a[{quoted(_words(first))}]"]
    if second is None:
        return "\n".join(lines)
    names = ["a"]
    for index, words in enumerate(hops):
        lines.append(f"  h{index}([{quoted(words)}])")
        names.append(f"h{index}")
    lines.append(f"  b[{quoted(_words(second))}]")
    names.append("b")
    lines.append("  " + " --- ".join(names))
    return "\n".join(lines)


def _words(box: Box) -> str:
    return "\n".join((f"{box.title}", *box.lines))


def _configured(theme: str, kind: str) -> list[str]:
    """The front matter that sets a diagram's colours."""
    return ["---", "config:", "  theme: base", "  themeVariables:", *theme.splitlines(), "---", kind]


def chart(series: Sequence[Series], ticks: Sequence[tuple[float, str]], *, y_label: str) -> str:
    """Lines over named positions; Mermaid has no logarithmic axis, the positions are evenly spaced."""
    names = ", ".join(quoted(words) for _, words in ticks)
    legend = ", ".join(f"{line.name} {COLOUR_WORDS[index]}" for index, line in enumerate(series))
    highest = nice_steps(max(y for line in series for _, y in line.points))[-1]
    palette = ", ".join(PALETTE[: len(series)])
    lines = _configured(f'    xyChart:\n      plotColorPalette: "{palette}"', "xychart-beta")
    lines += [
        f"  title {quoted(f'{y_label}: {legend}')}",
        f"  x-axis [{names}]",
        f"  y-axis {quoted(y_label)} 0 --> {highest:g}",
    ]
    for line in series:
        values = dict(line.points)
        lines.append(f"  line [{', '.join(f'{values[x]:.1f}' for x, _ in ticks)}]")
    return "\n".join(lines)


def bars(shown: Bar, *, title: str) -> str:
    """The parts of one bar as a pie: Mermaid stacks no bars. Parts below a thousandth are left out."""
    whole = sum(value for _, value in shown.parts)
    parts = [(name, value) for name, value in shown.parts if value > whole / 1000]
    colours = "\n".join(f'    pie{index + 1}: "{PALETTE[index]}"' for index in range(len(parts)))
    lines = _configured(colours, f"pie showData title {title.replace(chr(10), ' ')}")
    lines += [f"  {quoted(name)} : {value:.3f}" for name, value in parts]
    return "\n".join(lines)
