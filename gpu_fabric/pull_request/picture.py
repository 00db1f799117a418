"""A comment as a picture for a page: `… -m gpu_fabric.pull_request.picture < comment.md > pull-request.svg`.

Draws what a reviewer sees first: the tables and the open sections. The folded ones, and the drawing that GitHub makes
of the fabric, are named only.
"""

from __future__ import annotations

import re
import sys
from io import StringIO

from rich.console import Console
from rich.markdown import Markdown


def shown(comment: str) -> str:
    """The comment's text without its marker, with folded sections as their titles."""
    text = re.sub(r"<!--.*?-->\n*", "", comment)
    text = re.sub(r"```mermaid\n.*?```", "*[picture of the fabric]*", text, flags=re.DOTALL)
    text = re.sub(
        r"<details open><summary>(.*?)</summary>(.*?)</details>", r"**▾ \1**\2", text, flags=re.DOTALL
    )
    return re.sub(r"<details><summary>(.*?)</summary>.*?</details>", r"**▸ \1**", text, flags=re.DOTALL)


def picture(comment: str, *, width: int = 120) -> str:
    """The comment as SVG, `width` characters wide."""
    console = Console(record=True, width=width, file=StringIO())
    console.print(Markdown(shown(comment)))
    return console.export_svg(title="comment on a pull request")


if __name__ == "__main__":
    sys.stdout.write(picture(sys.stdin.read()))
