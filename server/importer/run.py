"""One load from its first line to its last: read, make, write, reject, count."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic

from dal.errors import InvalidArgumentError
from server.errors import CommandError
from server.importer.column_mapping import ColumnMapping
from server.importer.file_kinds import Put, Thing
from server.importer.rejects import RejectsFile
from server.importer.rows import Reject, Row
from server.importer.source import Source, unreadable
from server.importer.writer import BATCH, Writer
from server.progress import ProgressBar

SHOWN_REJECTS = 20
_BATCH_BYTES = 4_000_000
"""Read for one batch at most, or some lines more: rejects keep their text in memory."""


@dataclass(slots=True)
class Tally:
    """Rows of the file so far; ``written`` counts those that the store has acknowledged."""

    read: int = 0
    written: int = 0
    rejected: int = 0


@dataclass(slots=True)
class _Batch(Generic[Thing]):
    things: dict[str, Thing] = field(default_factory=dict)
    rows: int = 0
    rejects: list[Reject] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Load(Generic[Thing]):
    """One file on its way into the table."""

    source: Source
    rows: Iterator[Row | Reject]
    mapping: ColumnMapping[Thing]
    rejects: RejectsFile
    tally: Tally = field(default_factory=Tally)

    async def run(self, put: Put[Thing], progress: ProgressBar) -> None:
        """Load every row; the tally is right also when this raises DalError or CommandError."""
        writer = Writer(put)
        try:
            async with writer:
                # A thread reads, so that requests under way go on while a pipe has nothing yet.
                while batch := await asyncio.to_thread(self._next_batch):
                    self._reject(batch.rejects, progress)
                    if batch.things:
                        await writer.write(batch.things, batch.rows)
                    progress.update(self.source.lines.bytes_read, self._note(writer.written))
            self._finish_rejects()
        finally:
            self.tally.written = writer.written
            self.source.stopped.set()
            self.rejects.abandon()

    def _next_batch(self) -> _Batch[Thing] | None:
        batch: _Batch[Thing] = _Batch()
        start = self.source.lines.bytes_read
        try:
            for row in islice(self.rows, BATCH):
                self._sort(row, batch)
                if self.source.lines.bytes_read - start > _BATCH_BYTES:
                    break
        except OSError as error:
            raise unreadable(self.source.name, error) from error
        self.tally.read += batch.rows + len(batch.rejects)
        return batch if batch.rows or batch.rejects else None

    def _sort(self, row: Row | Reject, batch: _Batch[Thing]) -> None:
        if isinstance(row, Reject):
            batch.rejects.append(row)
            return
        try:
            thing = self.mapping.make(row.cells)
        except InvalidArgumentError as error:
            batch.rejects.append(row.rejected(str(error)))
            return
        batch.things[self.mapping.kind.identity(thing)] = thing
        batch.rows += 1

    def _reject(self, rejects: Sequence[Reject], progress: ProgressBar) -> None:
        for reject in rejects:
            self.tally.rejected += 1
            if self.tally.rejected <= SHOWN_REJECTS:
                progress.say(f"{self.source.name}:{reject.line}: {reject.reason}")
            try:
                self.rejects.write(reject)
            except OSError as error:
                raise self._unwritable(error) from error

    def _finish_rejects(self) -> None:
        try:
            self.rejects.close()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> CommandError:
        return CommandError(
            f"{self.rejects.path} cannot take the rejected rows ({error.strerror}): "
            "name another file with --rejects."
        )

    def _note(self, written: int) -> str:
        return f"{written:,} rows written, {self.tally.rejected:,} rejected"
