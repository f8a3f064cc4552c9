"""One client's events that it has not taken yet, bounded in number and bytes."""

import asyncio
from collections import deque
from collections.abc import Callable

from dal.limits import MAX_WAITING_BYTES, MAX_WAITING_EVENTS
from dal.live.events import CommentEvent, CommentEventKind
from dal.live.positions import EventPosition
from dal.repositories.comments import Selection


class SlowListenerError(Exception):
    """A client takes its events more slowly than they come."""


class Listener:
    """An async iterator of the events of one selection; ``close`` ends it."""

    def __init__(
        self,
        selection: Selection,
        leave: Callable[["Listener"], None],
        after: EventPosition | None = None,
    ) -> None:
        self.selection = selection
        self._after = after
        self._leave = leave
        self._waiting: deque[CommentEvent] = deque()
        self._bytes = 0
        self._slow = False
        self._closed = False
        self._wake = asyncio.Event()

    def offer(self, event: CommentEvent) -> None:
        """Add an event; a reload stands for all that was to come before it.

        What another process has told the client before this one heard of it is not told again.
        """
        if event.kind is CommentEventKind.RELOAD:
            self._waiting.clear()
            self._bytes = 0
        elif self._after is not None and event.position.is_up_to(self._after):
            return
        if len(self._waiting) >= MAX_WAITING_EVENTS or self._bytes > MAX_WAITING_BYTES:
            self._slow = True
            self._waiting.clear()
            self.close()
            return
        self._waiting.append(event)
        self._bytes += event.size
        self._wake.set()

    def close(self) -> None:
        """Listen no more: the iteration ends after what waits."""
        self._closed = True
        self._leave(self)
        self._wake.set()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> CommentEvent:
        """Return the next event; SlowListenerError when too many have waited for too long."""
        while not self._waiting:
            if self._slow:
                raise SlowListenerError(
                    "The events came faster than you took them: connect again with the cursor of "
                    "the last one."
                )
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        event = self._waiting.popleft()
        self._bytes -= event.size
        return event

    async def aclose(self) -> None:
        """Close, as generators are closed."""
        self.close()
