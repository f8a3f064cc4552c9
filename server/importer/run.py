"""One load from its first line to its last: read, make, write, reject, count."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Generic

from dal.errors import InvalidArgumentError
from dal.repositories.bulk_write import NOTHING, Outcome, compared
from server.errors import CommandError
from server.importer.column_mapping import ColumnMapping
from server.importer.file_kinds import Put, Thing
from server.importer.rows import Reject, RejectsFile, Row
from server.importer.source import Source, unreadable
from server.importer.writer import Writer
from server.progress import ProgressBar

SHOWN_REJECTS = 20
_BATCH_BYTES = 2_000_000
"""Read for one batch at most, or some lines more: rejects keep their text in memory."""
_BATCH_SECONDS = 2.0
"""For which one batch is read: what comes slowly by a pipe is written as it comes."""


@dataclass(slots=True)
class Tally:
    """Rows of the file so far; ``written`` counts those that the store has acknowledged.

    They are ``new``, ``changed`` or ``unchanged`` by what the store held of them. A row whose place
    in its batch a later one took is compared with that one alone.
    """

    read: int = 0
    written: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0


@dataclass(slots=True)
class _Batch(Generic[Thing]):
    things: dict[str, Thing] = field(default_factory=dict)
    before: Outcome = NOTHING
    rejects: list[Reject] = field(default_factory=list)


def _unnoted(_row: Row, _identity: str, _thing: object) -> None:
    """Do nothing, for loads whose losses nobody asks for."""


@dataclass(frozen=True, slots=True)
class Load(Generic[Thing]):
    """One file on its way into the table; ``note`` is told of each row that becomes a thing."""

    source: Source
    rows: Iterator[Row | Reject]
    mapping: ColumnMapping[Thing]
    rejects: RejectsFile
    tally: Tally = field(default_factory=Tally)
    note: Callable[[Row, str, object], None] = _unnoted

    async def run(self, put: Put[Thing], progress: ProgressBar) -> None:
        """Load every row; the tally is right also when this raises DalError or CommandError."""
        writer = Writer(put)
        try:
            async with writer:
                # A thread reads, so that requests under way go on while a pipe has nothing yet.
                while batch := await asyncio.to_thread(self._next_batch, writer.room):
                    self._reject(batch.rejects, progress)
                    if batch.things:
                        await writer.write(batch.things, batch.before)
                    progress.update(self.source.position, self._note(writer.written))
            self._finish_rejects()
        finally:
            self._sum_up(writer)
            self.source.stopped.set()
            self.rejects.abandon()

    def _sum_up(self, writer: Writer[Thing]) -> None:
        tally = self.tally
        tally.written = writer.written
        tally.new, tally.changed, tally.unchanged = writer.outcome

    def _next_batch(self, most: int) -> _Batch[Thing] | None:
        batch: _Batch[Thing] = _Batch()
        start, end = self.source.bytes_read, monotonic() + _BATCH_SECONDS
        try:
            for row in islice(self.rows, most):
                self._sort(row, batch)
                if self.source.bytes_read - start > _BATCH_BYTES or monotonic() > end:
                    break
        except OSError as error:
            raise unreadable(self.source.name, error) from error
        self.tally.read += len(batch.things) + batch.before.total + len(batch.rejects)
        return batch if batch.things or batch.rejects else None

    def _sort(self, row: Row | Reject, batch: _Batch[Thing]) -> None:
        if isinstance(row, Reject):
            batch.rejects.append(row)
            return
        try:
            thing = self.mapping.make(row.cells)
        except InvalidArgumentError as error:
            batch.rejects.append(row.rejected(str(error)))
            return
        identity = self.mapping.kind.identity(thing)
        self.note(row, identity, thing)
        if identity in batch.things:
            batch.before = batch.before.plus(compared(batch.things[identity], thing))
        batch.things[identity] = thing

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
        return f"{written:,} rows, {self.tally.rejected:,} rejected"
