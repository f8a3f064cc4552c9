"""What a follower hands records to, and where that keeps how far it is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from stream.checkpoints import Checkpoint
from stream.records import Record


class CheckpointStore(Protocol):
    """Where it is kept how far the shards are applied: see ``stream.checkpoints``."""

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return the checkpoint of each shard."""

    async def watermark(self) -> datetime | None:
        """Return an instant before which every record was applied."""

    async def raise_watermark(self, instant: datetime) -> None:
        """Keep a later watermark."""


class Sink(Protocol):
    """What records are applied to, each once and in its shard's order: see ``stream.applier``."""

    @property
    def checkpoints(self) -> CheckpointStore:
        """How far the shards are applied."""

    async def check(self) -> None:
        """Raise where nothing may be applied any more."""

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Apply what follows a checkpoint and return the next one."""

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move over records that change nothing."""

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Close a shard that is applied to its end."""
