"""One reading of a stream for the counters and for a log beside them.

Each has checkpoints of its own, and takes of what is read what it does not have yet. The counters
come first: where the log fails or takes long they go on as if it had never been there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dal.errors import DalError
from stream.checkpoints import Checkpoint
from stream.records import Record
from stream.sink import CheckpointStore, Sink

PATIENCE = 10.0
"""Seconds that the counters wait for the log; one that takes longer has failed."""

NOT_KEPT = "Changes are counted, but not kept for analytics: %s"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class FanOut:
    """Two sinks as one, which is as far as the one that is behind; ``beside`` may fail."""

    counters: Sink
    beside: Sink
    failed: bool = False
    """Whether ``beside`` failed: from then on it gets nothing, and nothing depends on it."""
    _held: dict[str, tuple[Checkpoint, Checkpoint]] = field(default_factory=dict)

    @property
    def checkpoints(self) -> CheckpointStore:
        """How far both are."""
        return self

    async def check(self) -> None:
        """Raise where the counters may not be changed any more."""
        await self.counters.check()

    async def apply(self, held: Checkpoint, records: Sequence[Record]) -> Checkpoint:
        """Let each apply what it has not."""
        counted, logged = self._held[held.shard]
        counted = await self.counters.apply(counted, records)
        return await self._moved(counted, logged, lambda: self.beside.apply(logged, records))

    async def skip(self, held: Checkpoint, sequence: str) -> Checkpoint:
        """Move both over records that change nothing of either."""
        counted, logged = self._held[held.shard]
        if not counted.covers(sequence):
            counted = await self.counters.skip(counted, sequence)
        return await self._moved(counted, logged, lambda: self.beside.skip(logged, sequence))

    async def finish(self, held: Checkpoint) -> Checkpoint:
        """Close a shard that both have applied to its end."""
        counted, logged = self._held[held.shard]
        counted = await self.counters.finish(counted)
        return await self._moved(counted, logged, lambda: self.beside.finish(logged))

    async def read(self, shards: Sequence[str]) -> dict[str, Checkpoint]:
        """Return of each shard the checkpoint of the one that is behind."""
        counted = await self.counters.checkpoints.read(shards)
        logged = await self.beside.checkpoints.read(shards)
        self._held |= {shard: (counted[shard], logged[shard]) for shard in shards}
        return {shard: self._least(*self._held[shard]) for shard in shards}

    async def watermark(self) -> datetime | None:
        """Return an instant before which both have every record; the counters, without a log."""
        reached = await self.counters.checkpoints.watermark()
        if self.failed:
            return reached
        kept = await self.beside.checkpoints.watermark()
        return reached and kept and min(reached, kept)

    async def raise_watermark(self, instant: datetime) -> None:
        """Let both keep a later such instant."""
        await self.counters.checkpoints.raise_watermark(instant)
        await self._try(lambda: self.beside.checkpoints.raise_watermark(instant))

    async def _moved(
        self,
        counted: Checkpoint,
        logged: Checkpoint,
        log: Callable[[], Awaitable[Checkpoint | None]],
    ) -> Checkpoint:
        self._held[counted.shard] = counted, logged  # should this be cancelled
        self._held[counted.shard] = counted, await self._try(log) or logged
        return self._least(*self._held[counted.shard])

    async def _try(self, log: Callable[[], Awaitable[Checkpoint | None]]) -> Checkpoint | None:
        """Log unless it has failed; a failure is told once."""
        if not self.failed:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await log()
            except (DalError, TimeoutError) as error:
                self.failed = True
                _log.warning(NOT_KEPT, str(error) or f"no answer in {PATIENCE:.0f} s.")
        return None

    def _least(self, counted: Checkpoint, logged: Checkpoint) -> Checkpoint:
        if self.failed or logged.done:
            return counted
        if counted.done:
            return logged
        if counted.sequence is None or logged.sequence is None:
            return Checkpoint(counted.shard)
        return min(counted, logged, key=lambda one: int(one.sequence or 0))
