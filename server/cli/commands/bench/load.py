"""``marginalia bench load``: how fast ``load`` is, beside a writer that only sends."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bench.load import (
    Place,
    Sample,
    Transaction,
    comments,
    recording,
    sample_bare,
    sample_load,
    section,
    write_file,
)
from bench.speed.machine import machine
from dal.repositories.bulk_write import AT_ONCE
from dal.statistics.verify import count_comments, differences
from server.cli.commands.bench.measuring import OWN, Other, Rounds, measured, tell
from server.engine.data_directory import DataDirectory
from server.engine.storage import open_table
from server.errors import CommandError
from server.importer.column_mapping import make_column_mapping
from server.importer.file_kinds import COMMENTS
from server.importer.jsonl import read_jsonl
from server.importer.rejects import rejects_file
from server.importer.run import Load
from server.importer.source import open_source
from server.importer.writer import AT_ONCE as BATCHES_AT_ONCE
from server.progress import ProgressBar
from server.settings import Settings


def load(
    *,
    rows: Annotated[
        int, typer.Option(envvar="MARGINALIA_ROWS", min=100, help="Rows of the file, by date.")
    ] = 10_000,
    products: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_PRODUCTS",
            min=1,
            help="Products that the rows are about, few of which have many.",
        ),
    ] = 200,
    rounds: Rounds = 3,
    other: Other = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            envvar="MARGINALIA_WRITE",
            help="Make the table of docs/speed.md anew.",
        ),
    ] = False,
) -> None:
    """Measure loads of one file, and a writer that only sends the transactions of a load.

    They take turns, each with an engine of its own. Every table is verified. The time that a
    program takes to load one row is its start, and left out.
    """
    programs = {"load": OWN} | ({} if other is None else {"load, other": other.absolute()})
    where = machine()
    samples = measured(_sampled(rows, products, rounds, programs))
    how = f"{rows:,} rows of {products:,} products in {rounds} rounds; every table was exact."
    tell("load", [section(samples)], [f"{how} On {where}."], write=write)


async def _sampled(
    rows: int, products: int, rounds: int, programs: dict[str, Path]
) -> list[Sample]:
    samples = []
    with (
        TemporaryDirectory() as directory,
        ProgressBar("Loading", 1 + rounds * (1 + len(programs))) as progress,
    ):
        files = Path(directory, "one.jsonl"), Path(directory, "many.jsonl")
        made = comments(rows, products)
        write_file(files[0], [made[0]._replace(comment_id="start", product_id="start")])
        write_file(files[1], made)
        progress.advance("the transactions of a load")
        transactions = await _recorded(files[1])
        for number in range(1, rounds + 1):
            progress.advance(f"round {number}: bare writer")
            async with _place(rows) as place:
                samples.append(
                    await sample_bare(place, transactions, AT_ONCE * BATCHES_AT_ONCE, rows)
                )
            for title, program in programs.items():
                progress.advance(f"round {number}: {title}")
                async with _place(rows + 1) as place:
                    samples.append(await sample_load(place, title, program, files, rows))
    return samples


async def _recorded(file: Path) -> Sequence[Transaction]:
    """Return the transactions of a load of ``file``."""
    async with _engine() as (place, url):
        async with recording(url, place.table.name) as (table, transactions):
            with open_source(file) as source, ProgressBar("", None) as progress:
                mapping = make_column_mapping(COMMENTS, [], [])
                work = Load(source, read_jsonl(source), mapping, rejects_file(None, file))
                await work.run(COMMENTS.put(table), progress)
        return transactions


@asynccontextmanager
async def _place(rows: int) -> AsyncIterator[Place]:
    """Run a fresh engine; in the end its table must hold ``rows`` comments, counted exactly."""
    async with _engine() as (place, _):
        yield place
        found = await count_comments(place.table, lambda *_: None)
    counted = sum(counts.of() for counts in found.counts.values())
    if counted != rows or differences(found):
        raise CommandError(f"{counted:,} of {rows:,} rows are there, or their counts are wrong.")


@asynccontextmanager
async def _engine() -> AsyncIterator[tuple[Place, str]]:
    with TemporaryDirectory() as directory:
        data_dir = Path(directory)
        async with open_table(Settings(data_dir=data_dir), share=False) as table:
            record = DataDirectory(data_dir).record()
            assert record is not None  # noqa: S101 - its engine runs
            yield Place(table, record.engine, data_dir), record.endpoint_url
