"""`gpu-fabric plan`: the fabric report of a stack file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpu_fabric.cli.options import json_option

if TYPE_CHECKING:
    from gpu_fabric.nccl.hardware import NodeSize
    from gpu_fabric.planning.price import PriceTable
    from gpu_fabric.planning.report import FabricReport
    from gpu_fabric.planning.spec import StackFile

FORMATS = ("md", "html", "json")
WITHOUT_PULUMI = (
    "Pulumi is not installed here, so the rest of the stack file was not read: its rules, the address plan, the choice "
    "of topology file, and the circuit and gateway that the link gets. Install gpu-fabric[aws] or gpu-fabric[azure]."
)


@click.command("plan")
@click.argument("stack_file", type=click.Path(dir_okay=False, path_type=Path), metavar="STACK_FILE")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Markdown for a pull request, one HTML file, or JSON.  [default: by the name of --output, else md]",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write there instead of the screen.",
)
@click.option(
    "--prices",
    "own_prices",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Your own prices, a file as `gpu-fabric prices --json` prints it; they win over the published ones. "
    "[default: the file that $GPU_FABRIC_PRICES names, which a preview reads too]",
)
@json_option
def command(
    stack_file: Path, format_: str | None, output: Path | None, own_prices: Path | None, as_json: bool
) -> None:
    """What the fabric of STACK_FILE (such as Pulumi.dev.yaml) will do to step time and cost, before it is bought.

    Searches layouts over both clouds, predicts collectives and step time, and adds up what has a known price. Ends
    with exit code 1 when the training fits nowhere, and when `pulumi preview` would refuse the file; the report says
    why, and what would do.
    """
    from gpu_fabric.planning.price import prices_in_force
    from gpu_fabric.planning.spec import stack_file as read_file

    file = read_file(stack_file)
    prices = prices_in_force(own_prices)
    with _progress() as say:
        made = _report(file, prices, say)
    suffix = output.suffix.removeprefix(".") if output is not None else ""
    chosen = "json" if as_json else format_ or (suffix if suffix in FORMATS else "md")
    text = {"md": made.markdown, "html": made.html, "json": made.json}[chosen]()
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        output.write_text(text, encoding="utf-8")
        click.echo(f"wrote {output}", err=True)
    refusals = [*made.refused, *(made.problems if made.plan is None else ())]
    for problem in refusals:
        click.echo(f"{click.style('error', fg='red')}: {problem}", err=True)
    if refusals:
        sys.exit(1)


def _report(file: StackFile, prices: PriceTable, progress: Callable[[str], None]) -> FabricReport:
    """The report of the whole file as the stack's program reads it; of the planner's part where Pulumi is missing."""
    from gpu_fabric.planning.report import report

    spec = file.spec(own_sizes=_own_sizes)
    try:
        from gpu_fabric.components.config import read_fabric
        from gpu_fabric.components.problems import InvalidInputError
        from gpu_fabric.components.report import fabric_report
    except ModuleNotFoundError as missing:
        if missing.name != "pulumi":
            raise
        return report(spec, prices=prices, notes=(WITHOUT_PULUMI,), progress=progress)
    try:
        settings = read_fabric(
            file.fabric, aws_region=file.aws_region, azure_location=file.azure_location, name=file.name
        )
    except InvalidInputError as error:
        refused = [str(problem) for problem in error.problems]
        return report(spec, prices=prices, refused=refused, progress=progress)
    return fabric_report(settings, prices=prices, progress=progress)


def _own_sizes(rows: Any) -> Mapping[str, NodeSize]:
    """The sizes that the stack file describes itself, read as the stack's program reads them."""
    from gpu_fabric.planning.errors import PlanningError

    try:
        from gpu_fabric.components.sizes import read_sizes
    except ImportError as error:
        raise PlanningError(
            [
                f"fabric.sizes: reading sizes of your own needs Pulumi ({error}); install gpu-fabric[aws] or [azure]"
            ]
        ) from None
    sizes, problems = read_sizes(rows, ("fabric", "sizes"))
    if problems:
        raise PlanningError([str(problem) for problem in problems])
    return sizes


@contextmanager
def _progress() -> Generator[Callable[[str], None]]:
    """What is being searched, on a terminal only, and gone when it is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("reading") as status:
        yield status.update
