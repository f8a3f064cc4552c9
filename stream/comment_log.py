"""A log of comments as a sink of a follower: it is handed what each record made of a comment.

The log keeps for itself how far it is: first the changes, then that they are kept. So after a crash
records come again, and none is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from dal.entities.comment import comment_in, id_in, is_comment
from dal.model import Comment
from stream.checkpoints import Checkpoint
from stream.records import Record, sequence_of

WIDTH = 40
"""Digits of the longest sequence number of DynamoDB; others are filled up, to sort as text."""

MARGIN = timedelta(seconds=2)
"""By how much a record may be told after it was made: one empty answer proves little."""

RecordedChange: TypeAlias = tuple[str, str, Comment | None]
"""The id of a comment, the number of a record, and the comment as it left it: None is gone."""


class Log(Protocol):
    """Keeps changes for good, and how far they go: see ``analytics.change_log``."""

    def positions(self) -> Mapping[str, tuple[str | None, bool]]:
        """Return of each shard the last record that is kept, and whether it is done."""

    def caught_up(self) -> datetime:
        """Return an instant before which every change is kept."""

    async def keep(
        self, shard: str, sequence: str | None, changes: Sequence[RecordedChange], *, done: bool
    ) -> None:
        """Keep changes, then that the shard is read so far; one that comes again says the same."""

    async def catch_up(self, instant: datetime) -> None:
        """Keep a later instant of ``caught_up``."""


class CommentLog:
    """Hands a log the changes of comments of every shard, each at least once."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def checkpoints(self) -> "CommentLog":
        """How far the shards are kept: the log knows."""
        return self

    async def check(self) -> None:
        """Go on: a log takes changes in any maintenance mode."""

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Keep what the records beyond the checkpoint changed."""
        fresh = [record for record in records if not held.covers(sequence_of(record))]
        if not fresh:
            return held
        changes = [_change(record) for record in fresh if is_comment(record["dynamodb"]["Keys"])]
        return await self._move(replace(held, sequence=sequence_of(fresh[-1])), changes)

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move over records that change no comment."""
        return held if held.covers(sequence) else await self._move(replace(held, sequence=sequence))

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Close a shard that is kept to its end."""
        return await self._move(replace(held, done=True))

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return the checkpoint of each shard."""
        positions = self._log.positions()
        return {shard: Checkpoint(shard, *positions.get(shard, (None, False))) for shard in shards}

    async def watermark(self) -> datetime | None:
        """Return an instant before which every change is kept."""
        return self._log.caught_up()

    async def raise_watermark(self, instant: datetime) -> None:
        """Keep a later such instant, less the time by which a record may come late."""
        await self._log.catch_up(instant - MARGIN)

    async def _move(self, to: Checkpoint, changes: Sequence[RecordedChange] = ()) -> Checkpoint:
        await self._log.keep(to.shard, to.sequence, changes, done=to.done)
        return to


def _change(record: Record) -> RecordedChange:
    images = record["dynamodb"]
    return (
        id_in(images["Keys"]),
        sequence_of(record).rjust(WIDTH, "0"),
        comment_in(images.get("NewImage")),
    )
