"""The commands ``speed`` and ``growth``.

``speed`` compares servers, and ``growth`` compares products of different sizes on this server.
"""

import asyncio
import resource
import signal
import sys
from collections.abc import Coroutine, Iterable
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from server.errors import CommandError
from server.progress import ProgressBar
from tools.bench.report import DOCS, write_report
from tools.bench.speed import tables
from tools.bench.speed.comparison import Outcome, Plan, compare, crowds
from tools.bench.speed.growth import fan_out_loads, grown, sections, size_loads
from tools.bench.speed.loads import NAMES, all_comments, all_loads
from tools.bench.speed.place import Programs, Rows, place
from tools.bench.speed.servers import MARGINALIA, OTHER, line_up, machine
from tools.bench.speed.servers import NAMES as SERVERS

Rounds = Annotated[
    int, typer.Option(min=1, help="Number of rounds. Each figure is the median of all rounds.")
]
Seconds = Annotated[
    float,
    typer.Option(min=0.05, help="Seconds for which a server receives each load in each round."),
]
Program = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="The `marginalia` program to measure, of any checkout. Default: this checkout's.",
    ),
]
Other = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Another checkout's program, to measure in the same rounds.",
    ),
]
RowsDir = Annotated[
    Path | None,
    typer.Option(
        help="Directory that keeps the comments for later measurements. Default: a temporary one."
    ),
]
Write = Annotated[bool, typer.Option("--write", help="Write the tables into docs/speed.md.")]

_PICTURED = 16
"""docs/speed.md and its picture show the measurement with this number of concurrent clients. If
``--clients`` lacks this number, they show the measurement with the first of ``--clients``."""


def speed(
    *,
    servers: Annotated[
        str,
        typer.Option(
            help=f"Servers to compare. Known: {', '.join(SERVERS)}. 'workers' measures Marginalia "
            "and PostGraphile with two processes each, 'observed' Marginalia with the options of "
            "docs/monitoring.md."
        ),
    ] = "marginalia,yoga,postgraphile,plain,go,workers",
    loads: Annotated[
        str, typer.Option(help="Loads (kinds of requests) to send to the servers.")
    ] = ",".join(NAMES),
    clients: Annotated[
        str, typer.Option(help="Numbers of concurrent clients. Each number is measured separately.")
    ] = "1,16,64",
    rounds: Rounds = 5,
    seconds: Seconds = 3.0,
    requests: Annotated[
        int, typer.Option(min=1, help="Number of requests in the loads 'mixed', 'one' and 'add'.")
    ] = 3_000,
    crowd: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of concurrent clients in the measurement after the rounds. 0 omits this "
            "measurement.",
        ),
    ] = 1_500,
    marginalia: Program = None,
    other: Other = None,
    rows_dir: RowsDir = None,
    write: Write = False,
) -> None:
    """Compare the speed of this server's pages with other servers', over the same rows.

    Before the measurement, the command checks that all servers give the same answers. During the
    measurement, it checks every answer.

    Exit code 1 if an answer was wrong.
    """
    programs = _programs(marginalia, other, rows_dir)
    comments, wanted = all_comments(), _names(loads, NAMES)
    plan = Plan(
        [load for load in all_loads(comments, requests) if load.name in wanted],
        _numbers("--clients", clients),
        rounds,
        seconds,
        programs.token(),
        crowd,
    )
    named = [*_names(servers, SERVERS), *([OTHER] if other else [])]
    rows = Rows("speed", len(comments), comments)
    outcome = _run(_measured(named, plan, programs, rows))
    notes = [tables.summary(outcome), f"On {outcome.machine}. {outcome.versions}."]
    pictured = _PICTURED if _PICTURED in plan.clients else plan.clients[0]
    written = tables.page_sections(outcome, pictured)
    write_report("speed", tables.sections(outcome), notes, write=write, written=written)
    if write:
        svg = tables.picture(outcome, pictured, MARGINALIA)
        (DOCS / "pictures/speed.svg").write_text(svg, "utf-8")
    if tables.wrong(outcome):
        raise typer.Exit(1)


def growth(
    *,
    sizes: Annotated[
        str,
        typer.Option(
            help="Numbers of comments, with one product for each number. A million comments "
            "need 6 GB, and minutes to write."
        ),
    ] = "1000,10000,100000",
    clients: Annotated[int, typer.Option(min=1, help="Number of concurrent clients.")] = 16,
    rounds: Rounds = 5,
    seconds: Seconds = 2.0,
    marginalia: Program = None,
    rows_dir: RowsDir = None,
) -> None:
    """Measure pages of products of increasing size, and pages that read 1 to 10 key ranges.

    Exit code 1 if an answer was wrong.
    """
    chosen = sorted(set(_numbers("--sizes", sizes)))
    programs = _programs(marginalia, None, rows_dir)
    loads = [load for size in chosen for load in size_loads(size)]
    loads += fan_out_loads(chosen[-1])
    plan = Plan(loads, [clients], rounds, seconds, programs.token())
    rows = Rows(f"growth-{'-'.join(map(str, chosen))}", sum(chosen), grown(chosen))
    outcome = _run(_measured([MARGINALIA], plan, programs, rows))
    wrong = tables.wrong(outcome)
    answers = sum(sample.pages for sample in outcome.samples)
    notes = [f"{answers:,} answers were checked, {wrong:,} were wrong. On {outcome.machine}."]
    by_size = {load.name: size for size in chosen for load in size_loads(size)}
    write_report("growth", sections(outcome, by_size), notes, write=False)
    if wrong:
        raise typer.Exit(1)


def _programs(marginalia: Path | None, other: Path | None, rows_dir: Path | None) -> Programs:
    own = marginalia or Path(sys.executable).with_name("marginalia")
    return Programs(own.absolute(), other and other.absolute(), rows_dir)


async def _measured(names: list[str], plan: Plan, programs: Programs, rows: Rows) -> Outcome:
    outcome = Outcome(machine=machine())
    async with (
        place(programs, rows) as where,
        line_up(names, where, rows.comments) as (contestants, outcome.versions),
    ):
        begun = count(1)
        with ProgressBar("Measuring", plan.most_steps(len(contestants))) as progress:
            for part in (compare, crowds):
                async for step in part(plan, contestants, outcome):
                    progress.update(next(begun), step)
    return outcome


def _run(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a measurement and return its results.

    SIGTERM cancels the measurement as Ctrl-C does, so that the started servers end too. Raise
    CommandError if the kernel does not report the CPU time of threads.
    """

    async def until_ended() -> Outcome:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this coroutine runs in a task
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    if not Path("/proc/self/schedstat").exists():  # schedstat has the CPU time of threads
        raise CommandError(
            "This kernel has no /proc/PID/schedstat: use a Linux kernel that has it."
        )
    # Raise the limit of open files to the maximum, because each client of a crowd needs a
    # connection.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(until_ended())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _names(text: str, known: Iterable[str]) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise CommandError(f"{name} is unknown: choose among {', '.join(known)}.")
    return names


def _numbers(option: str, text: str) -> list[int]:
    """Return the numbers of an option, which are separated by commas."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise CommandError(f"{option} {text} is not a list of numbers such as 1,16,64.")
    return found
