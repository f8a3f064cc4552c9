"""``marginalia bench bill``: what each operation consumes of DynamoDB, and what a million cost."""

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from bench.bill import PRICES, Line, Prices, measure, notes, read_prices, sections
from server.cli.commands.bench.measuring import tell
from server.engine.storage import open_table
from server.errors import CommandError
from server.settings import Settings


def bill(
    *,
    prices: Annotated[
        Path,
        typer.Option(
            envvar="MARGINALIA_PRICES",
            help="A TOML file of prices: see bench/prices.toml.",
            show_default="on demand in us-east-1",
        ),
    ] = PRICES,
    write: Annotated[
        bool,
        typer.Option(
            "--write", envvar="MARGINALIA_WRITE", help="Make the tables of docs/costs.md anew."
        ),
    ] = False,
) -> None:
    """Tell what each operation consumes on DynamoDB, on an engine that is gone afterwards.

    WCU and RCU are worked out from the declared table, and compared with what the engine tells.

    Exit code 1 if they differ.
    """
    asked = _prices(prices)
    lines = asyncio.run(_measured())
    tell("bill", sections(lines, asked), notes(asked), write=write, page="costs.md")
    differing = [line.operation for line in lines if line.consumed != line.told]
    if differing:
        typer.echo(f"The engine tells other figures of: {', '.join(differing)}.", err=True)
        raise typer.Exit(1)


def _prices(path: Path) -> Prices:
    try:
        return read_prices(path)
    except (OSError, TypeError, ValueError) as error:
        raise CommandError(
            f"{path} holds no prices ({error}): write it as bench/prices.toml is."
        ) from error


async def _measured() -> list[Line]:
    with tempfile.TemporaryDirectory() as directory:
        async with open_table(Settings(data_dir=Path(directory)), share=False) as table:
            return [line async for line in measure(table)]
