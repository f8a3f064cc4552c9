"""Deferred work: a process works on changed objects some seconds after their changes.

The subclass ``Boards`` works on products, and ``HelpfulFolds`` works on comments. Each process
collects the names (ids) of changed objects for WORK_SECONDS, and then works once on each object. In
each period of WORK_SECONDS, a process works on at most MOST_AT_ONCE objects. If more objects
change, the work on the other objects waits for a later period. Clients' requests do not wait for
this work.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from dal.dynamodb.concurrency import batched, in_parallel
from dal.dynamodb.deadline import deadline_in
from dal.dynamodb.table import Table
from dal.table.errors import DalError, StoreRefusedError

WORK_SECONDS = 2.0
"""Seconds in which a process collects changed objects before it works on them."""

MOST_AT_ONCE = 100
"""Maximum objects that a process works on in WORK_SECONDS."""

ONE_SECONDS = 5.0
"""The maximum seconds of the work on one object, so that a process can end while DynamoDB does not
answer."""

_TOGETHER = 16
"""Number of objects that are worked on in parallel."""

_ROUNDS = 10
"""Maximum rounds of ``finish`` and ``correct``. Each round works on all objects that are left."""

_log = logging.getLogger(__name__)


class DeferredWork(ABC):
    """Works in the background on objects of one table, by their names."""

    undone: ClassVar[str]
    """The beginning of the log's sentence about work that failed."""
    repaired_by: ClassVar[str]
    """The end of the log's sentence about work that failed. This part names the event that repeats
    the work."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._pending: dict[str, None] = {}
        self._noted = asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    @property
    def pending(self) -> frozenset[str]:
        """The names of the objects on which this process still has to work."""
        return frozenset(self._pending)

    @abstractmethod
    async def work(self, name: str) -> bool:
        """Work on one object. Return True if the work must be repeated. Raises DalError."""

    def is_due(self, name: str) -> bool:  # noqa: ARG002 - subclasses need the name
        """Return whether a pending object can be worked on now."""
        return True

    def note(self, name: str) -> None:
        """Remember an object to work on."""
        self._pending[name] = None
        self._noted.set()
        self._table.unfinished.add(self.finish)

    def start(self) -> None:
        """Work on noted objects in the background, until ``finish``."""
        self._table.unfinished.add(self.finish)
        self._working = asyncio.create_task(self._follow())

    async def finish(self) -> None:
        """Stop the work in the background, then work on all pending objects.

        If objects become pending again meanwhile, another round follows, up to ``_ROUNDS`` rounds.
        A round with a failure is the last round. A round works on batches of MOST_AT_ONCE objects.
        If all work of a batch fails, this method skips the remaining batches, because the store is
        probably unavailable. A failure is logged.
        """
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])
            self._working = None
        try:
            if not await self._work_on_pending():
                _log.warning("%s: %s.", self.undone, self.repaired_by)
        finally:
            self._table.unfinished.discard(self.finish)

    async def correct(self, names: Iterable[str]) -> None:
        """Work on objects until no work is left. Raises DalError if the work on an object fails.

        If other processes keep changing an object, this method returns after ``_ROUNDS`` rounds
        without an error. Those processes then work on the object.
        """
        left = list(names)
        for _ in range(_ROUNDS):
            for some in batched(left, _TOGETHER):
                again = await in_parallel([self.work(one) for one in some])
                left = [*left[len(some) :], *(one for one, n in zip(some, again, strict=True) if n)]
            if not left:
                return

    async def _work_on_pending(self) -> bool:
        """Work on all pending objects, as ``finish`` describes. Return True if no work failed."""
        for _ in range(_ROUNDS):
            left, failed = len(self._pending), 0
            while left > 0:
                names = list(self._pending)[: min(left, MOST_AT_ONCE)]
                left -= len(names)
                failures = await self._work_on_all(names)
                failed += failures
                if failures == len(names):
                    return False
            if failed or not self._pending:
                return not failed
        return True

    async def _follow(self) -> None:
        while True:
            await self._noted.wait()
            await asyncio.sleep(WORK_SECONDS)
            due = [name for name in self._pending if self.is_due(name)]
            try:
                await self._work_on_all(due[:MOST_AT_ONCE])
            except Exception:  # noqa: BLE001 - an unforeseen error must not stop later work
                _log.exception("%s.", self.undone)

    async def _work_on_all(self, names: Sequence[str]) -> int:
        """Work on objects, and return the number of failures.

        An object becomes pending again if its work must be repeated, or has failed and can succeed
        later.
        """
        free, failed = asyncio.Semaphore(_TOGETHER), 0
        for name in names:
            del self._pending[name]
        if not self._pending:
            self._noted.clear()

        async def work(name: str) -> None:
            nonlocal failed
            try:
                async with free, self._table.pace.turn():
                    with deadline_in(ONE_SECONDS):
                        again = await self.work(name)
            except DalError as error:
                again = not isinstance(error, StoreRefusedError)
                failed += 1
            if again:
                self.note(name)

        try:
            await in_parallel([work(name) for name in names])
        except BaseException:
            # All these objects become pending again. For example, ``finish`` cancels this work, and
            # then works on the pending objects.
            for name in names:
                self.note(name)
            raise
        return failed
