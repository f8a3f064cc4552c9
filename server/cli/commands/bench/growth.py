"""``marginalia bench growth``: whether pages cost more as a product gets more comments."""

from typing import Annotated

import typer

from bench.speed.comparison import Outcome, Plan
from bench.speed.growth import Growth, fan_out_loads, grow, grown, sections, size_loads
from bench.speed.lineup import MARGINALIA, line_up
from bench.speed.machine import machine
from server.cli.commands.bench.measuring import (
    Program,
    Programs,
    Rounds,
    Rows,
    RowsDir,
    measured,
    numbers,
    place,
    tell,
)
from server.progress import ProgressBar


def growth(
    *,
    sizes: Annotated[
        str,
        typer.Option(
            envvar="MARGINALIA_SIZES",
            help="Comments of each product; a million take 6 GB and minutes to fill in.",
        ),
    ] = "1000,10000,100000",
    clients: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_CLIENTS",
            min=1,
            help="How many ask at once.",
        ),
    ] = 16,
    rounds: Rounds = 5,
    seconds: Annotated[
        float,
        typer.Option(
            envvar="MARGINALIA_SECONDS",
            min=0.05,
            help="Of one load in one round.",
        ),
    ] = 2.0,
    marginalia: Program = None,
    rows_dir: RowsDir = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            envvar="MARGINALIA_WRITE",
            help="Make the tables of docs/speed.md anew.",
        ),
    ] = False,
) -> None:
    """Measure pages of products with more and more comments, and of more and more key ranges.

    Exit code 1 if an answer was wrong.
    """
    chosen = sorted(set(numbers("--sizes", sizes)))
    programs = Programs(marginalia, None, rows_dir)
    found = measured(_grown(chosen, programs, (clients, rounds, seconds)))
    wrong = sum(sample.wrong + sample.refused for sample in found.samples)
    answers = sum(sample.pages for sample in found.samples)
    notes = [f"{answers:,} answers were checked, {wrong:,} were wrong. On {machine()}."]
    tell("growth", sections(found), notes, write=write)
    if wrong:
        raise typer.Exit(1)


async def _grown(sizes: list[int], programs: Programs, how: tuple[int, int, float]) -> Growth:
    clients, rounds, seconds = how
    by_size = {load.name: size for size in sizes for load in size_loads(size)}
    loads = [load for size in sizes for load in size_loads(size)]
    loads += fan_out_loads(sizes[-1])
    plan = Plan(loads, [clients], rounds, seconds, programs.token())
    found = Growth()
    rows = Rows(f"growth-{'-'.join(map(str, sizes))}", sum(sizes), grown(sizes))
    async with (
        place(programs, rows) as where,
        line_up([MARGINALIA], where, (), Outcome()) as contestants,
    ):
        with ProgressBar("Measuring", len(loads) * (1 + rounds)) as progress:
            async for step in grow(plan, contestants[0], found, by_size):
                progress.advance(step)
    return found
