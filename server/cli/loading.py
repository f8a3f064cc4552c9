"""A load from its first row to its last sentence, or all of it but the writes."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from dal.errors import DalError
from dal.table.pace import Pace
from server.engine.storage import open_store
from server.errors import INTERRUPTED, CommandError
from server.importer.article_rows import Unloaded, article_rows
from server.importer.article_tables import ArticleTable
from server.importer.column_mapping import ColumnMapping, listed
from server.importer.dry_run import DryRun
from server.importer.file_kinds import Put
from server.importer.losses import Losses, counted
from server.importer.opening import Opened
from server.importer.presets import Preset
from server.importer.rejects import RejectsFile, rejects_file
from server.importer.rows import Reject, Row
from server.importer.run import SHOWN_REJECTS, Load, Tally
from server.importer.source import Source, no_lines
from server.importer.workbench_model import ModelTable
from server.progress import ProgressBar
from server.settings import Settings

_NO_REJECTS = Path("/dev/null")


@dataclass(frozen=True, slots=True)
class Loading:
    """Where rows go, how fast, and as what; exits with 1 where some did not get there."""

    settings: Settings
    pace: Pace
    preset: Preset
    mapping: ColumnMapping[Any]
    rejects: Path | None
    dry_run: bool

    def load_file(self, file: Path, opened: Opened) -> None:
        """Load the rows of a file, and say what became of them."""
        if opened.empty:
            typer.echo(f"{opened.source.name} is empty: 0 rows loaded.")
            return
        with closing(Losses(self.preset, self.mapping)) as losses:
            work = self._work(opened.source, opened.rows, file, losses)
            self._report(work, losses, self._run(work, []))

    def load_items(self, tables: Sequence[ArticleTable | ModelTable], place: Path) -> None:
        """Load items laid out as in the articles, and say which were of other kinds."""
        unloaded = Unloaded()
        kind = self.mapping.kind.name
        source = no_lines(str(place))
        rows = chain.from_iterable(
            article_rows(one, kind, unloaded, source.stopped) for one in tables
        )
        with closing(Losses(self.preset, self.mapping)) as losses:
            work = self._work(source, rows, place, losses)
            rehearsal = self._run(work, [one for one in tables if isinstance(one, ArticleTable)])
            if unloaded.counts:
                typer.echo(unloaded.sentence())
            self._report(work, losses, rehearsal)

    def _work(
        self, source: Source, rows: Iterator[Row | Reject], place: Path, losses: Losses
    ) -> Load[Any]:
        unloaded = RejectsFile(_NO_REJECTS) if self.dry_run else rejects_file(self.rejects, place)
        return Load(source, losses.kept(rows), self.mapping, unloaded, note=losses.loaded)

    def _run(self, work: Load[Any], tables: Sequence[ArticleTable]) -> DryRun:
        """Load; what a rehearsal would have written is in the answer."""
        rehearsal = DryRun()
        try:
            asyncio.run(self._load(work, tables, rehearsal))
        except (DalError, CommandError) as error:
            if not work.tally.read or self.dry_run:
                raise
            sentence = str(error).removesuffix(".")
            raise CommandError(f"{sentence}; {_so_far(work.tally)}") from error
        except KeyboardInterrupt:
            so_far = "" if self.dry_run else f"; {_so_far(work.tally)}"
            typer.echo(f"marginalia: stopped{so_far}", err=True)
            raise typer.Exit(INTERRUPTED) from None
        return rehearsal

    async def _load(
        self, work: Load[Any], tables: Sequence[ArticleTable], rehearsal: DryRun
    ) -> None:
        async with AsyncExitStack() as opened:
            put: Put[Any] = rehearsal.put
            if tables or not self.dry_run:
                store = await opened.enter_async_context(open_store(self.settings, share=True))
                store.table.pace = self.pace
                for table in tables:
                    table.beside(store.connection)
                put = put if self.dry_run else self.mapping.kind.put(store.table)
            with ProgressBar(work.source.name, work.source.size) as progress:
                await work.run(put, progress)

    def _report(self, work: Load[Any], losses: Losses, rehearsal: DryRun) -> None:
        tally = work.tally
        if more := max(tally.rejected - SHOWN_REJECTS, 0):
            typer.echo(f"… and {counted(more, 'row')} more.", err=True)
        for line in rehearsal.first():
            typer.echo(line)
        summary = _rehearsed(tally) if self.dry_run else _loaded(work)
        unused = f"; columns not used: {listed(losses.unused)}" if losses.unused else ""
        typer.echo(f"{work.source.name}: {summary}{unused}.")
        for sentence in losses.sentences():
            typer.echo(sentence)
        if tally.rejected or losses.shared:
            raise typer.Exit(1)


def _so_far(tally: Tally) -> str:
    rows = counted(tally.written, "row")
    return f"{rows} written for certain; running the same command again is safe."


def _rehearsed(tally: Tally) -> str:
    return f"{counted(tally.written, 'row')} would load, {tally.rejected:,} would be rejected"


def _loaded(work: Load[Any]) -> str:
    tally = work.tally
    see = f", see {work.rejects.path}" if tally.rejected else ""
    return (
        f"{tally.new:,} new, {tally.changed:,} changed, {tally.unchanged:,} unchanged, "
        f"{tally.rejected:,} rejected{see}"
    )
