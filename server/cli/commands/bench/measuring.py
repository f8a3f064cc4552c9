"""What the benchmarks of speed share: an engine with rows, the loop, and where figures go."""

import asyncio
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

import typer
import uvloop
from rich.console import Console

from bench.speed import document, report
from bench.speed.errors import BenchError
from bench.speed.filling import export, filled, import_export
from bench.speed.lineup import Place
from bench.speed.processes import allow_descriptors, check_counters
from bench.speed.report import Section
from dal.model import Comment
from server.auth.jwt import make_token
from server.engine.data_directory import DataDirectory
from server.engine.program import engine_binary
from server.engine.storage import open_table
from server.errors import CommandError
from server.progress import ProgressBar
from server.settings import Settings

Result = TypeVar("Result")

DOCS = Path(__file__).parents[4] / "docs"

Rounds = Annotated[
    int,
    typer.Option(
        envvar="MARGINALIA_ROUNDS",
        min=1,
        help="A figure is the median of these.",
    ),
]

Program = Annotated[
    Path | None,
    typer.Option(
        envvar="MARGINALIA_MARGINALIA",
        exists=True,
        dir_okay=False,
        help="The program to measure, of any checkout; this one if not given.",
    ),
]

Other = Annotated[
    Path | None,
    typer.Option(
        envvar="MARGINALIA_OTHER",
        exists=True,
        dir_okay=False,
        help="Another checkout's program, measured beside it in the same rounds.",
    ),
]

RowsDir = Annotated[
    Path | None,
    typer.Option(
        envvar="MARGINALIA_ROWS_DIR",
        help="Keep the rows here, and take them from here the next time.",
    ),
]

OWN = Path(sys.executable).with_name("marginalia")
"""This environment's program."""

_WIDTH = 140
"""Columns of what is printed where no terminal says how many it has."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs that are measured, and where their rows stay."""

    marginalia: Path | None
    """None is this environment's own."""
    other: Path | None
    rows_dir: Path | None
    """None is a directory that is gone afterwards."""
    secret: str = field(default_factory=secrets.token_hex)

    def token(self) -> str:
        """Return a JWT to write with."""
        return make_token(self.secret, username="bench", roles=[], lifetime=timedelta(days=1))


@dataclass(frozen=True, slots=True)
class Rows:
    """Comments to measure with, under a name by which a directory's are known again."""

    name: str
    count: int
    comments: Iterable[Comment]


def measured(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a measurement; CommandError where it cannot be made."""
    try:
        check_counters()
        allow_descriptors()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_until_told(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except BenchError as error:
        raise CommandError(str(error)) from error


async def _until_told(work: Coroutine[Any, Any, Result]) -> Result:
    """Let SIGTERM end a measurement as Ctrl-C does: with the servers that it has started."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - the runner made it
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


@asynccontextmanager
async def place(programs: Programs, rows: Rows) -> AsyncIterator[Place]:
    """Run an engine that holds the rows until the block ends."""
    with TemporaryDirectory() as directory:
        settings = Settings(data_dir=programs.rows_dir or Path(directory))
        data = DataDirectory(settings.data_dir)
        if not data.database.exists():
            await _fill(data, rows)
        async with open_table(settings, share=False) as table:
            if not await filled(table, rows.name):
                raise CommandError(
                    f"{settings.data_dir} holds other rows: name another with --rows-dir."
                )
            record = data.record()
            assert record is not None  # noqa: S101 - its engine runs
            yield Place(
                endpoint_url=record.endpoint_url,
                engine_pid=record.engine,
                table=settings.table,
                data_dir=settings.data_dir.resolve(),
                secret=programs.secret,
                program=(programs.marginalia or OWN).absolute(),
                other=programs.other and programs.other.absolute(),
            )


async def _fill(data: DataDirectory, rows: Rows) -> None:
    """Make the data file of a directory that has none."""
    data.prepare()
    with (
        TemporaryDirectory(dir=data.path) as directory,
        ProgressBar("Filling", 2 * rows.count) as progress,
    ):
        scratch = Path(directory)
        settings = Settings(data_dir=scratch / "new")
        async with open_table(settings, share=False) as table:
            await export(
                table,
                rows.comments,
                rows.name,
                scratch / "export",
                lambda done: progress.update(done, "comments"),
            )
        progress.update(rows.count, "the engine imports them")
        await asyncio.to_thread(import_export, engine_binary(), scratch / "export", data.database)


def tell(
    name: str,
    sections: Sequence[Section],
    notes: Sequence[str],
    *,
    write: bool,
    page: str = "speed.md",
) -> None:
    """Print what was measured, and write it between the marks of ``name`` in a page of docs."""
    console = Console()
    report.show(console if console.is_terminal else Console(width=_WIDTH), sections)
    for note in notes:
        typer.echo(note)
    if not write:
        return
    path = DOCS / page
    try:
        path.write_text(document.page(path.read_text("utf-8"), name, sections, notes), "utf-8")
    except (OSError, BenchError) as error:
        raise CommandError(f"{path} cannot be made anew: {error}") from error


def numbers(option: str, text: str) -> list[int]:
    """Return the numbers of an option, which commas divide."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise CommandError(f"{option} {text} are no numbers such as 1,16,64.")
    return found
