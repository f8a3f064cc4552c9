"""``marginalia bench speed``: CPU and latency of pages, beside other servers over the same rows."""

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from bench.speed import lineup, report
from bench.speed.comparison import Outcome, Plan, compare, prepare
from bench.speed.comparison import crowd as crowded
from bench.speed.errors import BenchError
from bench.speed.filling import fill, filled
from bench.speed.lineup import Place, line_up
from bench.speed.loads import NAMES, Loads
from bench.speed.processes import allow_descriptors, check_counters
from bench.speed.rows import all_comments
from dal.model import Comment
from server.auth.jwt import make_token
from server.engine.data_directory import DataDirectory
from server.engine.storage import open_table
from server.errors import CommandError
from server.progress import ProgressBar
from server.settings import Settings

_SERVERS = ("marginalia", "yoga", "postgraphile", "plain", "workers")
_WIDTH = 140
"""Columns of what is printed where no terminal says how many it has."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    servers: list[str]
    plan: Plan
    program: Path
    other: Path | None
    data_dir: Path | None
    secret: str


def speed(
    *,
    servers: Annotated[
        str, typer.Option(help=f"Which to compare, of {', '.join(lineup.NAMES)}.")
    ] = ",".join(_SERVERS),
    loads: Annotated[str, typer.Option(help="Which loads.")] = ",".join(NAMES),
    clients: Annotated[str, typer.Option(help="How many ask at once.")] = "1,16,64",
    rounds: Annotated[int, typer.Option(min=1, help="A figure is the median of these.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.05, help="Of one server in one round.")] = 3.0,
    requests: Annotated[
        int, typer.Option(min=1, help="Different requests of each load that varies.")
    ] = 3_000,
    crowd: Annotated[
        int, typer.Option(min=0, help="Clients that ask at once at the end; 0 is none.")
    ] = 1_500,
    marginalia: Annotated[
        Path | None,
        typer.Option(help="The program to measure, of any checkout; this one if not given."),
    ] = None,
    other: Annotated[
        Path | None,
        typer.Option(help="Another checkout's program, measured beside it in the same rounds."),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Keep the rows here, and take them from here the next time."),
    ] = None,
) -> None:
    """Compare pages with those of other servers over the same rows, on this machine.

    Every page is compared between the servers before, and every answer is checked.

    Exit code 1 if an answer was wrong.
    """
    secret = secrets.token_hex()
    token = make_token(secret, username="bench", roles=[], lifetime=timedelta(days=1))
    comments = all_comments()
    wanted = _names(loads, NAMES)
    chosen = _Chosen(
        servers=[*_names(servers, lineup.NAMES), *([lineup.OTHER] if other else [])],
        plan=Plan(
            [load for load in Loads(comments, requests).all() if load.name in wanted],
            _numbers(clients),
            rounds,
            seconds,
            token,
            crowd,
        ),
        program=marginalia or Path(sys.executable).with_name("marginalia"),
        other=other,
        data_dir=data_dir,
        secret=secret,
    )
    outcome = _run(chosen, comments)
    console = Console()
    report.show(console if console.is_terminal else Console(width=_WIDTH), outcome)
    if report.wrong(outcome):
        raise typer.Exit(1)


def _names(text: str, known: Iterable[str]) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise CommandError(f"{name} is none of {', '.join(known)}.")
    return names


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise CommandError(f"--clients {text} are no numbers such as 1,16,64.")
    return numbers


def _run(chosen: _Chosen, comments: list[Comment]) -> Outcome:
    try:
        check_counters()
        allow_descriptors()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_outcome(chosen, comments))
    except BenchError as error:
        raise CommandError(str(error)) from error


async def _outcome(chosen: _Chosen, comments: list[Comment]) -> Outcome:
    outcome, plan = Outcome(), chosen.plan
    async with (
        _place(chosen, comments) as place,
        line_up(chosen.servers, place, comments) as contestants,
    ):
        with ProgressBar("Measuring", plan.most_steps(len(contestants))) as progress:
            for part in (prepare, compare, crowded):
                async for step in part(plan, contestants, outcome):
                    progress.advance(step)
    return outcome


@asynccontextmanager
async def _place(chosen: _Chosen, comments: list[Comment]) -> AsyncIterator[Place]:
    """Run an engine that holds the comments until the block ends."""
    with TemporaryDirectory() as directory:
        settings = Settings(data_dir=chosen.data_dir or Path(directory))
        async with open_table(settings, share=False) as table:
            if not await filled(table):
                with ProgressBar("Filling", len(comments)) as progress:
                    await fill(table, comments, lambda done: progress.update(done, "comments"))
            record = DataDirectory(settings.data_dir).record()
            assert record is not None  # noqa: S101 - its engine runs
            yield Place(
                endpoint_url=record.endpoint_url,
                engine_pid=record.engine,
                table=settings.table,
                data_dir=settings.data_dir,
                secret=chosen.secret,
                program=chosen.program,
                other=chosen.other,
            )
