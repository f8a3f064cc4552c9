"""Runs one load: reads rows, parses them, writes batches, and collects the rejected rows."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from time import monotonic
from typing import Generic

from dal.kinds.item_kind import Put, Thing
from dal.table.errors import InvalidArgumentError
from dal.writes.overwrite import NOTHING, Outcome, compared
from features.loading.column_mapping import ColumnMapping
from features.loading.rows import Reject, RejectsFile, Row
from features.loading.source import Source, unreadable
from features.loading.writer import Writer
from server.progress import ProgressBar

SHOWN_REJECTS = 20
_ANOTHER = (
    "the author has another comment on the product, and the table allows one comment per person "
    "and product: delete the other comment, or leave this row out."
)
_BATCH_BYTES = 2_000_000
"""Maximum bytes that are read for one batch. A batch may exceed this maximum by a few lines. The
limit exists because a batch keeps the text of its rejected rows in memory."""
_BATCH_SECONDS = 2.0
"""Maximum seconds for reading the rows of one batch. The limit exists so that rows from a slow pipe
are written soon."""


@dataclass(slots=True)
class _Batch(Generic[Thing]):
    things: dict[str, Thing] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    """The row of each object in ``things``, by the same id."""
    before: Outcome = NOTHING
    """Counts the rows that are not in ``things``, because a later row of the batch replaces
    them."""
    rejects: list[Reject] = field(default_factory=list)


@dataclass(slots=True)
class Load(Generic[Thing]):
    """Loads one file, and counts its rows.

    ``run`` calls ``note`` with each valid row, its id and its object.
    """

    source: Source
    rows: Iterator[Row | Reject]
    mapping: ColumnMapping[Thing]
    rejects: RejectsFile
    note: Callable[[Row, str, object], None] | None = None
    read: int = 0
    rejected: int = 0
    outcome: Outcome = NOTHING
    """The numbers of new, changed and unchanged rows among the stored rows. A row is compared with
    the stored object, or with the previous row of the batch that has the same id."""

    async def run(self, put: Put[Thing], progress: ProgressBar) -> None:
        """Load every row. After an error, ``outcome`` counts the rows that are certainly stored."""
        writer = Writer(put)
        try:
            async with writer:
                # A thread reads the rows, so that writes continue while a pipe has no new rows.
                while batch := await asyncio.to_thread(self._next_batch, writer.room):
                    self._reject(progress, batch.rejects)
                    if batch.things:
                        refused = partial(self._refuse, progress, batch)
                        await writer.write(batch.things, batch.before, refused)
                    note = f"{writer.outcome.total:,} rows, {self.rejected:,} rejected"
                    progress.update(self.source.stored.count, note)
            self.rejects.close()
        finally:
            self.outcome = writer.outcome
            self.source.stopped.set()
            self.rejects.abandon()

    def _reject(self, progress: ProgressBar, rejects: Sequence[Reject]) -> None:
        for reject in rejects:
            self.rejected += 1
            if self.rejected <= SHOWN_REJECTS:
                progress.say(f"{self.source.name}:{reject.line}: {reject.reason}")
            self.rejects.write(reject)

    def _refuse(self, progress: ProgressBar, batch: _Batch[Thing], ids: Sequence[str]) -> None:
        """Reject the rows that a table with one comment per person and product has refused."""
        self._reject(progress, [batch.rows[one].rejected(_ANOTHER) for one in ids])

    def _next_batch(self, most: int) -> _Batch[Thing] | None:
        batch: _Batch[Thing] = _Batch()
        start, end = self.source.content.count, monotonic() + _BATCH_SECONDS
        try:
            for row in islice(self.rows, most):
                self._sort(row, batch)
                if self.source.content.count - start > _BATCH_BYTES or monotonic() > end:
                    break
        except OSError as error:
            raise unreadable(self.source.name, error) from error
        self.read += len(batch.things) + batch.before.total + len(batch.rejects)
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
        if self.note is not None:
            self.note(row, identity, thing)
        if identity in batch.things:
            earlier = batch.things[identity]
            thing = self.mapping.kind.after(earlier, thing)
            batch.before = batch.before.plus(compared(earlier, thing))
        batch.things[identity] = thing
        batch.rows[identity] = row
