"""`gpu-fabric prices`: what is known about prices, and reading today's from the clouds' public lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpu_fabric.cli.options import json_option
from gpu_fabric.cli.output import print_table

if TYPE_CHECKING:
    from gpu_fabric.planning.price import Price


@click.command("prices")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--region", help="Only prices of one region or billing zone.")
@click.option(
    "--refresh",
    is_flag=True,
    help="Read AWS's and Azure's public price lists first (no login; AWS's is large).",
)
@click.option(
    "--aws-region", "aws_regions", multiple=True, metavar="REGION", help="To refresh.  [default: us-east-1]"
)
@click.option(
    "--azure-region", "azure_regions", multiple=True, metavar="REGION", help="To refresh.  [default: eastus]"
)
@json_option
def command(
    names: tuple[str, ...],
    region: str | None,
    refresh: bool,
    aws_regions: tuple[str, ...],
    azure_regions: tuple[str, ...],
    as_json: bool,
) -> None:
    """List the prices that a plan counts with: source, date, region and purchase kind of each.

    NAME is a node size or an item such as disk or expressroute-circuit. Prices of a refresh go before the published
    ones that come with this release, and those of the file that $GPU_FABRIC_PRICES names before both. What is not
    listed has no known price, and is never counted as zero.
    """
    from gpu_fabric.planning.price.refresh import refresh as read_lists
    from gpu_fabric.planning.price.table import cache_path, prices_in_force, prices_to_json

    cache = cache_path()
    if refresh:
        found = read_lists(
            aws_regions or (() if azure_regions else ("us-east-1",)),
            azure_regions or (() if aws_regions else ("eastus",)),
            cache,
            progress=lambda words: click.echo(words, err=True),
        )
        click.echo(f"wrote {len(found)} prices to {cache}", err=True)
    table = prices_in_force()
    chosen = [price for price in table.prices if _wanted(price, names, region)]
    missing = [name for name in names if not any(name in (price.name, price.item) for price in table.prices)]
    for name in missing:
        click.echo(f"{name}: no price is known", err=True)
    if as_json:
        click.echo(prices_to_json(chosen), nl=False)
    elif chosen:
        print_table(
            ("item", "name", "region", "purchase", "US dollars", "per", "as of", "source"),
            [_row(price) for price in chosen],
        )


def _wanted(price: Price, names: tuple[str, ...], region: str | None) -> bool:
    named = not names or price.name in names or price.item in names
    return named and region in (None, price.region)


def _row(price: Price) -> tuple[str, ...]:
    source = f"{price.source}; {price.note}" if price.note else price.source
    return (
        price.item,
        price.name,
        price.region,
        price.purchase,
        f"{price.usd:g}",
        price.unit,
        price.date,
        source,
    )
