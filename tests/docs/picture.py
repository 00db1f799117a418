"""The comment that README shows: `python -m tests.docs.picture` types README's command and draws what it printed.

Needs Chromium on PATH and npm, for the same drawing of a Mermaid block that GitHub makes. Tests need neither: they
compare the Markdown with what the command prints, and the picture's note with the Markdown.
"""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

from markdown_it import MarkdownIt

from tests.docs.blocks import commands
from tests.docs.branch import make_a_branch
from tests.docs.clone import clone, type_in
from tests.simulated import ROOT

MARKDOWN = ROOT / "docs" / "pictures" / "pull-request.md"
PICTURE = MARKDOWN.with_suffix(".png")
_WIDTH = 900
_NOTE = b"Source"
_MERMAID = "mermaid@11"

_STYLE = """
body { margin: 0; font: 14px/1.5 "Liberation Sans", Arial, sans-serif; color: #1f2328; background: #fff }
main { padding: 16px 20px }
h2 { font-size: 20px; border-bottom: 1px solid #d1d9e0; padding-bottom: 6px; margin: 0 0 14px }
table { border-collapse: collapse; margin: 0 0 14px }
th, td { border: 1px solid #d1d9e0; padding: 4px 12px; vertical-align: top }
tr:nth-child(2n) td { background: #f6f8fa }
code { font: 12px "Liberation Mono", monospace; background: #eff1f3; border-radius: 5px; padding: 2px 4px }
pre { font: 12px "Liberation Mono", monospace; background: #f6f8fa; padding: 12px; border-radius: 6px }
td:nth-child(-n+3) { white-space: nowrap } details { margin: 0 0 8px } summary { font-weight: 600 }
pre.mermaid { background: none; text-align: center }
"""


#: The page says its height in its title once everything is drawn.
_PAGE = """<!doctype html><meta charset=utf-8><style>{style}</style><main>{body}</main>
<script src=mermaid.min.js></script>
<script>
mermaid.initialize({{startOnLoad: false}})
mermaid.run().then(() => {{ document.title = document.querySelector("main").offsetHeight }})
</script>"""


def command() -> str:
    (found,) = (one.text for one in commands() if one.page == "README.md" and "pr-report" in one.text)
    return found


def shown(printed: str) -> str:
    """A printed comment without what differs from run to run, and without the folded report at its end."""
    text = re.sub(r"^\S.*answer this run of stack.*\n", "", printed, flags=re.MULTILINE)
    text = re.sub(r"main \([0-9a-f]{9}\)", "main (0123456)", text)
    return re.sub(
        r"(<summary>Fabric report</summary>\n\n).*(\n\n</details>)", r"\1…\2", text, flags=re.DOTALL
    )


def fingerprint(markdown: str) -> str:
    return hashlib.sha256(markdown.encode()).hexdigest()


def note_of(picture: bytes) -> str:
    """The fingerprint of the Markdown that a picture was made from."""
    found = re.search(_NOTE + rb"\0([0-9a-f]{64})", picture)
    return found[1].decode() if found else ""


def _with_note(picture: bytes, note: str) -> bytes:
    """A PNG with a text chunk behind its header (W3C PNG, 11.3.3.3): 8 bytes signature, 25 bytes IHDR."""
    chunk = b"tEXt" + _NOTE + b"\0" + note.encode()
    return (
        picture[:33]
        + struct.pack(">I", len(chunk) - 4)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + picture[33:]
    )


def page(markdown: str) -> str:
    """The comment as a page, its Mermaid blocks drawn when it is opened."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    body = re.sub(
        r'<pre><code class="language-mermaid">(.*?)</code></pre>',
        r'<pre class="mermaid">\1</pre>',
        body,
        flags=re.DOTALL,
    )
    return _PAGE.format(style=_STYLE, body=body)


def draw(markdown: str) -> bytes:
    """The picture as PNG."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["npm", "pack", "--silent", _MERMAID], cwd=folder, check=True, capture_output=True)
        (packed,) = folder.glob("*.tgz")
        line = ["tar", "-xzf", packed, "--strip-components=2", "package/dist/mermaid.min.js"]
        subprocess.run(line, cwd=folder, check=True)
        (folder / "page.html").write_text(page(markdown), encoding="utf-8")
        browser = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--virtual-time-budget=9000",
        ]
        address = (folder / "page.html").as_uri()
        drawn = subprocess.run(
            [*browser, "--dump-dom", f"--window-size={_WIDTH},2000", address],
            capture_output=True,
            text=True,
            check=True,
        )
        height = int(re.findall(r"<title>(\d+)</title>", drawn.stdout)[0])
        picture = folder / "picture.png"
        line = [*browser, f"--screenshot={picture}", f"--window-size={_WIDTH},{height}", address]
        subprocess.run(line, capture_output=True, check=True)
        return picture.read_bytes()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = clone(Path(name) / "clone")
        make_a_branch(folder)
        (answer,) = type_in(folder, [command()])
    markdown = shown(answer.output)
    MARKDOWN.write_text(markdown, encoding="utf-8")
    PICTURE.write_bytes(_with_note(draw(markdown), fingerprint(markdown)))


if __name__ == "__main__":
    main()
