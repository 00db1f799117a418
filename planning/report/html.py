"""A report as one HTML file: no script, nothing loaded from elsewhere, for light and dark screens and for print."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from gpu_fabric.planning.report.document import Block, Document


def kind(block: Block) -> str:
    """`paragraph`, `bullets`, `table` or `figure`."""
    return type(block).__name__.lower()


def with_code(text: str) -> Markup:
    """Text with what stands between backticks as code; everything is escaped first."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("gpu_fabric.planning.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = kind
    environment.filters["with_code"] = with_code
    # Our own SVG: every text in it was escaped when it was drawn.
    environment.filters["picture"] = Markup
    return environment.get_template("report.html.j2")


def to_html(document: Document) -> str:
    """The whole document."""
    return _template().render(document=document)
