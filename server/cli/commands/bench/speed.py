"""``marginalia bench speed``: CPU and latency of pages, beside other servers over the same rows."""

from collections.abc import Iterable
from typing import Annotated

import typer

from bench.speed import lineup, report
from bench.speed.comparison import Outcome, Plan, compare, prepare
from bench.speed.comparison import crowd as crowded
from bench.speed.lineup import line_up
from bench.speed.loads import NAMES, Loads
from bench.speed.machine import machine
from bench.speed.picture import picture
from bench.speed.rows import all_comments
from dal.model import Comment
from server.cli.commands.bench.measuring import (
    DOCS,
    Other,
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
from server.errors import CommandError
from server.progress import ProgressBar

_SERVERS = ("marginalia", "yoga", "postgraphile", "plain", "workers")
_ROWS = "speed"
_PICTURED = 16
"""The clients of the picture's lines, where so many were measured."""


def speed(
    *,
    servers: Annotated[
        str,
        typer.Option(
            envvar="MARGINALIA_SERVERS",
            help=f"Which to compare, of {', '.join(lineup.NAMES)}.",
        ),
    ] = ",".join(_SERVERS),
    loads: Annotated[
        str,
        typer.Option(
            envvar="MARGINALIA_LOADS",
            help="Which loads.",
        ),
    ] = ",".join(NAMES),
    clients: Annotated[
        str,
        typer.Option(
            envvar="MARGINALIA_CLIENTS",
            help="How many ask at once.",
        ),
    ] = "1,16,64",
    rounds: Rounds = 5,
    seconds: Annotated[
        float,
        typer.Option(
            envvar="MARGINALIA_SECONDS",
            min=0.05,
            help="Of one server in one round.",
        ),
    ] = 3.0,
    requests: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_REQUESTS",
            min=1,
            help="Different requests of each load that varies.",
        ),
    ] = 3_000,
    crowd: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_CROWD",
            min=0,
            help="Clients that ask at once at the end; 0 is none.",
        ),
    ] = 1_500,
    marginalia: Program = None,
    other: Other = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            envvar="MARGINALIA_WRITE",
            help="Make the tables of docs/speed.md and the picture anew.",
        ),
    ] = False,
    rows_dir: RowsDir = None,
) -> None:
    """Compare pages with those of other servers over the same rows, on this machine.

    Every page is compared between the servers before, and every answer is checked.

    Exit code 1 if an answer was wrong.
    """
    programs = Programs(marginalia, other, rows_dir)
    comments, wanted = all_comments(), _names(loads, NAMES)
    plan = Plan(
        [load for load in Loads(comments, requests).all() if load.name in wanted],
        numbers("--clients", clients),
        rounds,
        seconds,
        programs.token(),
        crowd,
    )
    named = [*_names(servers, lineup.NAMES), *([lineup.OTHER] if other else [])]
    outcome = measured(_outcome(named, plan, programs, comments))
    notes = [report.summary(outcome), f"On {outcome.machine}. {outcome.versions}."]
    tell("speed", report.sections(outcome), notes, write=write)
    if write:
        pictured = _PICTURED if _PICTURED in plan.clients else plan.clients[0]
        svg = picture(outcome, pictured, lineup.MARGINALIA)
        (DOCS / "pictures/speed.svg").write_text(svg, "utf-8")
    if report.wrong(outcome):
        raise typer.Exit(1)


def _names(text: str, known: Iterable[str]) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise CommandError(f"{name} is none of {', '.join(known)}.")
    return names


async def _outcome(
    names: list[str], plan: Plan, programs: Programs, comments: list[Comment]
) -> Outcome:
    outcome = Outcome(machine=machine())
    async with (
        place(programs, Rows(_ROWS, len(comments), comments)) as where,
        line_up(names, where, comments, outcome) as contestants,
    ):
        with ProgressBar("Measuring", plan.most_steps(len(contestants))) as progress:
            for part in (prepare, compare, crowded):
                async for step in part(plan, contestants, outcome):
                    progress.advance(step)
    return outcome
