"""A load from its first row to its summary, or a dry run of it."""

import asyncio
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from dal.client.concurrency import Pace
from dal.errors import DalError
from server.engine.storage import open_store
from server.errors import INTERRUPTED, CommandError, exit_code
from server.importer.column_mapping import ColumnMapping, listed
from server.importer.dry_run import DryRun
from server.importer.file_kinds import Put
from server.importer.losses import Losses, counted
from server.importer.opening import Opened
from server.importer.presets import Preset
from server.importer.rejects import RejectsFile, rejects_file
from server.importer.run import SHOWN_REJECTS, Load, Tally
from server.progress import ProgressBar
from server.settings import Settings

_NO_REJECTS = Path("/dev/null")


@dataclass(frozen=True, slots=True)
class Loading:
    """One load of a file: its settings, pace and mapping. Exits with 1 if a row was rejected."""

    settings: Settings
    pace: Pace
    preset: Preset
    mapping: ColumnMapping[Any]
    rejects: Path | None
    dry_run: bool

    def load_file(self, file: Path, opened: Opened) -> None:
        """Load the rows of a file and print a summary."""
        if opened.empty:
            typer.echo(f"{opened.source.name} is empty: 0 rows loaded.")
            return
        rejects = RejectsFile(_NO_REJECTS) if self.dry_run else rejects_file(self.rejects, file)
        with closing(Losses(self.preset, self.mapping)) as losses:
            rows = losses.kept(opened.rows)
            work = Load(opened.source, rows, self.mapping, rejects, note=losses.loaded)
            self._report(work, losses, self._run(work))

    def _run(self, work: Load[Any]) -> DryRun:
        """Load all rows; return the dry run, which is empty if rows were written."""
        rehearsal = DryRun()
        try:
            asyncio.run(self._load(work, rehearsal))
        except (DalError, CommandError) as error:
            if not work.tally.read or self.dry_run:
                raise
            sentence = str(error).removesuffix(".")
            raise CommandError(f"{sentence}; {_so_far(work.tally)}", exit_code(error)) from error
        except KeyboardInterrupt:
            so_far = "" if self.dry_run else f"; {_so_far(work.tally)}"
            typer.echo(f"marginalia: stopped{so_far}", err=True)
            raise typer.Exit(INTERRUPTED) from None
        return rehearsal

    async def _load(self, work: Load[Any], rehearsal: DryRun) -> None:
        async with AsyncExitStack() as opened:
            put: Put[Any] = rehearsal.put
            if not self.dry_run:
                store = await opened.enter_async_context(open_store(self.settings, share=True))
                store.table.pace = self.pace
                put = self.mapping.kind.put(store.table)
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
