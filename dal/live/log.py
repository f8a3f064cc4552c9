"""A process's log of comment changes, and the listeners that receive them as events."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from dal.limits import MAX_WAITING_BYTES, MAX_WAITING_EVENTS
from dal.live.changes import (
    Change,
    CommentEvent,
    CommentEventKind,
    EventPosition,
    LogEntry,
    UncertainWrite,
    change_of,
    event_for,
    new_epoch,
    version,
)
from dal.model import Comment
from dal.repositories.comments import Selection

MAX_KEPT = 10_000
MAX_KEPT_BYTES = 16_000_000
"""Maximum number and maximum bytes of the changes that the log keeps, for all products together. On
a busy server, the log keeps the changes of about one minute. A client that reconnects can continue
after any change that the log still has."""


class SlowListenerError(Exception):
    """The queue of a listener overflowed, because its client reads events too slowly."""


class Listener:
    """An async iterator of the events of one selection (a product's comments, with filters).

    The queue holds a limited number and limited bytes of events.
    """

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
        """Add an event to the queue. A RELOAD event replaces all queued events.

        If the queue is full, the listener discards the queued events and closes. Events up to the
        constructor's position ``after`` are skipped, because the client has already received them,
        possibly from another process.
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
        """Receive no more events. The iteration ends after the events that are in the queue."""
        self._closed = True
        self._leave(self)
        self._wake.set()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> CommentEvent:
        """Return the next event. Raise SlowListenerError after an overflow of the queue."""
        while not self._waiting:
            if self._slow:
                raise SlowListenerError(
                    "Events arrived faster than the client read them: subscribe again with the "
                    "last event's cursor."
                )
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        event = self._waiting.popleft()
        self._bytes -= event.size
        return event

    async def aclose(self) -> None:
        """Close the listener. ``contextlib.aclosing`` requires a method with this name."""
        self.close()


class Log:
    """The latest changes with their numbers. ``append`` also delivers a change to listeners.

    If two processes write the same comment, an older change can arrive after a newer change. Every
    change contains the version that it replaced. If a change in the log has replaced the version
    that an arriving change produced, the arriving change is older. The log then delivers the
    arriving change with the comment's newest state.
    """

    def __init__(self, *, kept: int = MAX_KEPT, kept_bytes: int = MAX_KEPT_BYTES) -> None:
        self._kept = kept
        self._kept_bytes = kept_bytes
        self._listeners: dict[str, dict[Listener, None]] = {}
        self.begin(new_epoch(), 0)

    @property
    def floor(self) -> EventPosition:
        """The position of the last entry that the log has dropped.

        If the log has dropped no entry, this is the position before its first entry. A
        client can continue after this position, or after a later position.
        """
        return EventPosition(self.last.epoch, self._floor)

    def begin(self, epoch: int, number: int) -> None:
        """Drop all entries, begin an epoch, and send RELOAD to all listeners.

        The next events have higher numbers than ``number``. For epochs, see ``EventPosition``.
        """
        self.last = EventPosition(epoch, number)
        self._floor = number
        self._entries: deque[tuple[int, LogEntry]] = deque()
        self._bytes = 0
        self._next: dict[tuple[str, str], Change] = {}
        """Maps a comment's position and version to the change that replaced this version."""
        reload = CommentEvent(CommentEventKind.RELOAD, self.last)
        for listeners in list(self._listeners.values()):
            for listener in list(listeners):
                listener.offer(reload)

    def append(self, number: int, entry: LogEntry) -> None:
        """Add an entry, and deliver it to the listeners of its product."""
        if isinstance(entry, Change):
            entry = self._latest(entry)
        self.last = EventPosition(self.last.epoch, number)
        self._entries.append((number, entry))
        self._bytes += entry.size
        if isinstance(entry, Change) and entry.was is not None:
            before = entry.was.version
            # A load from a file may change a comment without a new version. Such a change is not
            # added to ``_next``, because versions do not show whether it is newer.
            if entry.now is None or version(entry.now) != before:
                self._next[entry.position, before] = entry
        while len(self._entries) > self._kept or self._bytes > self._kept_bytes:
            self._floor, oldest = self._entries.popleft()
            self._bytes -= oldest.size
            if isinstance(oldest, Change) and oldest.was is not None:
                replaced = oldest.position, oldest.was.version
                if self._next.get(replaced) is oldest:
                    del self._next[replaced]
        for listener in list(self._listeners.get(entry.product_id, ())):
            event = event_for(listener.selection, self.last, entry)
            if event is not None:
                listener.offer(event)

    def listen(self, selection: Selection, after: EventPosition | None) -> Listener:
        """Return a listener to future changes, or to all changes after the position ``after``.

        Without ``after``, the first event is READY. With ``after``, the first event is RELOAD in
        three cases: the log no longer has all changes after ``after``, another epoch has begun, or
        the events after ``after`` do not fit in a listener's queue.
        """
        listener = Listener(selection, self._forget, after)
        for event in self._backlog(selection, after):
            listener.offer(event)
        self._listeners.setdefault(selection.product_id, {})[listener] = None
        return listener

    def end(self) -> None:
        """Close all listeners."""
        for listeners in list(self._listeners.values()):
            for listener in list(listeners):
                listener.close()

    def _forget(self, listener: Listener) -> None:
        product_id = listener.selection.product_id
        listeners = self._listeners.get(product_id, {})
        listeners.pop(listener, None)
        if not listeners:
            self._listeners.pop(product_id, None)

    def _backlog(self, selection: Selection, after: EventPosition | None) -> list[CommentEvent]:
        if after is None:
            return [CommentEvent(CommentEventKind.READY, self.last)]
        reload = [CommentEvent(CommentEventKind.RELOAD, self.last)]
        if after.epoch != self.last.epoch or after.number < self._floor:
            return reload
        events = []
        for number, entry in self._entries:
            if number > after.number and entry.product_id == selection.product_id:
                event = event_for(selection, EventPosition(after.epoch, number), entry)
                events += [] if event is None else [event]
        fits = sum(event.size for event in events) <= MAX_WAITING_BYTES
        return events if len(events) < MAX_WAITING_EVENTS and fits else reload

    def _latest(self, change: Change) -> Change:
        """Return the change, with the comment's latest state.

        Later changes of the same comment may have arrived before this change.
        """
        now, seen = change.now, set[str]()
        # If a clock was set back, versions can form a cycle. In this case, ``seen`` prevents an
        # endless loop.
        while now is not None and version(now) not in seen:
            seen.add(version(now))
            later = self._next.get((change.position, version(now)))
            if later is None:
                break
            now = later.now
        return change if now is change.now else replace(change, now=now)


class Broker(ABC):
    """Publishes the changes of this process. ``log`` receives the changes of all processes."""

    def __init__(self, log: Log | None = None) -> None:
        self.log = log or Log()

    def changed(self, old: Comment | None, new: Comment | None) -> None:
        """Publish a write that DynamoDB acknowledged, as a change from ``old`` to ``new``.

        ``old`` is None for a new comment, and ``new`` is None for a deleted comment.
        """
        self.publish(change_of(old, new))

    def uncertain(self, product_id: str) -> None:
        """Publish that the outcome of a write to this product's comments is unknown."""
        self.publish(UncertainWrite(product_id))

    @abstractmethod
    def publish(self, entry: LogEntry) -> None:
        """Deliver an entry to the log of every process."""


class InProcessBroker(Broker):
    """The broker of a server with a single process: it publishes to this process's log only."""

    def publish(self, entry: LogEntry) -> None:
        """Append the entry to the log, so that listeners receive it before the write returns."""
        self.log.append(self.log.last.number + 1, entry)
