"""The commands ``speed`` and ``growth``: pages of servers, and pages of growing products."""

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import uvloop

from dal.model import Comment
from server.errors import CommandError
from server.progress import ProgressBar
from tools.bench.report import DOCS, tell
from tools.bench.speed import growth as growing
from tools.bench.speed import lineup, tables
from tools.bench.speed.comparison import Outcome, Plan, compare, crowds, prepare
from tools.bench.speed.lineup import line_up
from tools.bench.speed.loads import NAMES, Loads, all_comments
from tools.bench.speed.place import Programs, Rows, place
from tools.bench.speed.processes import allow_descriptors, check_counters
from tools.bench.speed.servers import machine

Result = TypeVar("Result")

Rounds = Annotated[int, typer.Option(min=1, help="A figure is the median of these.")]
Seconds = Annotated[float, typer.Option(min=0.05, help="Of one load of one server in one round.")]
Program = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="The program to measure, of any checkout; this one if not given.",
    ),
]
Other = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Another checkout's program, measured in the same rounds.",
    ),
]
RowsDir = Annotated[
    Path | None,
    typer.Option(help="Keep the rows here, and take them from here the next time."),
]
Write = Annotated[bool, typer.Option("--write", help="Write the tables into docs/speed.md.")]

_SERVERS = ("marginalia", "yoga", "postgraphile", "plain", "workers")
_PICTURED = 16
"""The clients of the picture's lines, where so many were measured."""


def speed(
    *,
    servers: Annotated[
        str, typer.Option(help=f"Which to compare, of {', '.join(lineup.NAMES)}.")
    ] = ",".join(_SERVERS),
    loads: Annotated[str, typer.Option(help="Which loads.")] = ",".join(NAMES),
    clients: Annotated[str, typer.Option(help="How many ask at once.")] = "1,16,64",
    rounds: Rounds = 5,
    seconds: Seconds = 3.0,
    requests: Annotated[
        int, typer.Option(min=1, help="Different requests of each load that varies.")
    ] = 3_000,
    crowd: Annotated[
        int, typer.Option(min=0, help="Clients that ask at once at the end; 0 is none.")
    ] = 1_500,
    marginalia: Program = None,
    other: Other = None,
    rows_dir: RowsDir = None,
    write: Write = False,
) -> None:
    """Compare pages with those of other servers over the same rows, on this machine.

    Every page is compared between the servers before, and every answer is checked.

    Exit code 1 if an answer was wrong.
    """
    programs = Programs(marginalia, other, rows_dir)
    comments, wanted = all_comments(), _names(loads, NAMES)
    plan = Plan(
        [load for load in Loads(comments, requests).all() if load.name in wanted],
        _numbers("--clients", clients),
        rounds,
        seconds,
        programs.token(),
        crowd,
    )
    named = [*_names(servers, lineup.NAMES), *([lineup.OTHER] if other else [])]
    outcome = _measured(_compared(named, plan, programs, comments))
    notes = [tables.summary(outcome), f"On {outcome.machine}. {outcome.versions}."]
    tell("speed", tables.sections(outcome), notes, write=write)
    if write:
        pictured = _PICTURED if _PICTURED in plan.clients else plan.clients[0]
        svg = tables.picture(outcome, pictured, lineup.MARGINALIA)
        (DOCS / "pictures/speed.svg").write_text(svg, "utf-8")
    if tables.wrong(outcome):
        raise typer.Exit(1)


async def _compared(
    names: list[str], plan: Plan, programs: Programs, comments: list[Comment]
) -> Outcome:
    outcome = Outcome(machine=machine())
    async with (
        place(programs, Rows("speed", len(comments), comments)) as where,
        line_up(names, where, comments, outcome) as contestants,
    ):
        with ProgressBar("Measuring", plan.most_steps(len(contestants))) as progress:
            for part in (prepare, compare, crowds):
                async for step in part(plan, contestants, outcome):
                    progress.advance(step)
    return outcome


def growth(
    *,
    sizes: Annotated[
        str,
        typer.Option(help="Comments of each product; a million take 6 GB and minutes to fill in."),
    ] = "1000,10000,100000",
    clients: Annotated[int, typer.Option(min=1, help="How many ask at once.")] = 16,
    rounds: Rounds = 5,
    seconds: Seconds = 2.0,
    marginalia: Program = None,
    rows_dir: RowsDir = None,
    write: Write = False,
) -> None:
    """Measure pages of products with more and more comments, and of more and more key ranges.

    Exit code 1 if an answer was wrong.
    """
    chosen = sorted(set(_numbers("--sizes", sizes)))
    programs = Programs(marginalia, None, rows_dir)
    loads = [load for size in chosen for load in growing.size_loads(size)]
    loads += growing.fan_out_loads(chosen[-1])
    plan = Plan(loads, [clients], rounds, seconds, programs.token())
    found = _measured(_grown(chosen, plan, programs))
    wrong = sum(sample.wrong + sample.refused for sample in found.samples)
    answers = sum(sample.pages for sample in found.samples)
    notes = [f"{answers:,} answers were checked, {wrong:,} were wrong. On {machine()}."]
    tell("growth", growing.sections(found), notes, write=write)
    if wrong:
        raise typer.Exit(1)


async def _grown(sizes: list[int], plan: Plan, programs: Programs) -> growing.Growth:
    by_size = {load.name: size for size in sizes for load in growing.size_loads(size)}
    found = growing.Growth()
    rows = Rows(f"growth-{'-'.join(map(str, sizes))}", sum(sizes), growing.grown(sizes))
    async with (
        place(programs, rows) as where,
        line_up([lineup.MARGINALIA], where, (), Outcome()) as contestants,
    ):
        with ProgressBar("Measuring", len(plan.loads) * (1 + plan.rounds)) as progress:
            async for step in growing.grow(plan, contestants[0], found, by_size):
                progress.advance(step)
    return found


def _measured(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a measurement; SIGTERM ends it as Ctrl-C does, with the servers that it has started."""

    async def until_ended() -> Result:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the runner made it
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    check_counters()
    allow_descriptors()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(until_ended())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _names(text: str, known: Iterable[str]) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise CommandError(f"{name} is none of {', '.join(known)}.")
    return names


def _numbers(option: str, text: str) -> list[int]:
    """Return the numbers of an option, which commas divide."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise CommandError(f"{option} {text} must be numbers such as 1,16,64.")
    return found
