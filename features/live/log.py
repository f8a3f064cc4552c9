"""A process's log of comment changes, and the listeners that receive them as events."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from dal.model import Comment
from dal.repositories.comments import Selection
from features.live.changes import (
    Change,
    CommentEvent,
    CommentEventKind,
    EventPosition,
    LogEntry,
    UncertainWrite,
    event_for,
    new_epoch,
    version,
)

MAX_WAITING_EVENTS = 500
MAX_WAITING_BYTES = 1_000_000
"""Maximum number, and maximum bytes, of a subscription's events that wait to be sent. Above either
maximum, the subscription ends. The client must then read the list again, which is faster than
receiving so many events."""

MAX_KEPT = 10_000
MAX_KEPT_BYTES = 16_000_000
"""Maximum number and maximum bytes of the changes that the log keeps, for all products together. On
a busy server, the log keeps the changes of about one minute. A client that reconnects can continue
after any change that the log still has."""


class SlowListenerError(Exception):
    """The queue of a listener overflowed, because its client reads events too slowly."""


class Listener:
    """An async iterator of the events of one selection (a product's comments, with filters).

    The queue holds a limited number and limited bytes of events. It has at most one event of each
    comment, with the comment's newest state: a change replaces the comment's queued event by an
    event for both changes. So a client never receives a text that was removed meanwhile.
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
        self._waiting: dict[str, CommentEvent] = {}
        """The queued events by the position of their comments. READY and RELOAD have the key ''."""
        self._merged = 0
        """The number of the latest change that has replaced a queued event."""
        self._bytes = 0
        self._slow = False
        self._closed = False
        self._wake = asyncio.Event()

    def begin(self, kind: CommentEventKind, position: EventPosition) -> None:
        """Replace all queued events by READY or RELOAD."""
        self._waiting = {"": CommentEvent(kind, position)}
        self._merged = self._bytes = 0
        self._slow = False
        self._wake.set()

    def offer(self, position: EventPosition, entry: LogEntry) -> None:
        """Add the event of a log entry to the queue, if the entry changes the listener's list.

        If the queue is full, the listener discards the queued events and closes. Entries up to the
        constructor's position ``after`` are skipped, because the client has already received them,
        possibly from another process.
        """
        event = event_for(self.selection, position, entry)
        if event is not None and event.kind is CommentEventKind.RELOAD:
            self.begin(event.kind, position)
            return
        if self._after is not None and position.is_up_to(self._after):
            return
        assert isinstance(entry, Change)  # noqa: S101 - an uncertain write causes RELOAD
        queued = self._waiting.pop(entry.position, None)
        if queued is not None and queued.change is not None:
            if queued.change.became != entry.was:
                # The changes arrived in another order, so the client's state is unknown.
                self.begin(CommentEventKind.RELOAD, position)
                return
            self._bytes -= queued.size
            self._merged = position.number
            if event is None or event.kind is CommentEventKind.CHANGED:
                # A client may have read the list between the changes. So the comment's DELETED or
                # ADDED event stays necessary, even if the changes together have no effect.
                event = CommentEvent(queued.kind, position, entry)
        if event is None:
            return
        if len(self._waiting) >= MAX_WAITING_EVENTS or self._bytes > MAX_WAITING_BYTES:
            self._slow = True
            self._waiting.clear()
            self.close()
            return
        self._waiting[entry.position] = event
        self._bytes += event.size
        self._wake.set()

    @property
    def incomplete(self) -> bool:
        """Whether the queue has overflowed, or lacks the text of a comment."""
        return self._slow or any(event.lacks_text for event in self._waiting.values())

    def close(self) -> None:
        """Receive no more events. The iteration ends after the events that are in the queue."""
        self._closed = True
        self._leave(self)
        self._wake.set()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> CommentEvent:
        """Return the next event. Raise SlowListenerError after an overflow of the queue."""
        while (event := next(iter(self._waiting.values()), None)) is None or event.lacks_text:
            if self._slow:
                raise SlowListenerError(
                    "Events arrived faster than the client read them: subscribe again with the "
                    "last event's cursor."
                )
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        del self._waiting["" if event.change is None else event.change.position]
        self._bytes -= event.size
        if event.position.number < self._merged:
            # A later event includes changes from before this event, so a client cannot continue
            # after this event. No epoch has the number 0, so a client that tries receives RELOAD.
            unusable = event.position._replace(epoch=0)
            last = event.position._replace(number=self._merged)
            event = replace(event, position=unusable if self._waiting else last)
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

    The log has only the newest text of each comment. A change removes the comment's older texts.
    """

    missing: ClassVar[str] = "This server has no subscriptions: query the list again instead."

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
        self._next: dict[tuple[str, str], int] = {}
        """Maps a comment's position and version to the number of the change that replaced this
        version."""
        self._texts: dict[str, int] = {}
        """Maps a comment's position to the number of the change that has its text."""
        for listeners in list(self._listeners.values()):
            for listener in list(listeners):
                listener.begin(CommentEventKind.RELOAD, self.last)

    def append(self, number: int, entry: LogEntry) -> None:
        """Add an entry, and deliver it to the listeners of its product."""
        if isinstance(entry, Change):
            entry = self._latest(entry)
        entry = self._with_newest_text(entry)
        self.last = EventPosition(self.last.epoch, number)
        self._entries.append((number, entry))
        self._bytes += entry.size
        if isinstance(entry, Change):
            if entry.was is not None:
                before = entry.was.version
                # A load from a file may change a comment without a new version. Such a change is
                # not added to ``_next``, because versions do not show whether it is newer.
                if entry.became_version != before:
                    self._next[entry.position, before] = number
            if entry.now is not None:
                self._texts[entry.position] = number
        while len(self._entries) > self._kept or self._bytes > self._kept_bytes:
            self._drop_oldest()
        for listener in list(self._listeners.get(entry.product_id, ())):
            listener.offer(self.last, entry)

    def listen(self, selection: Selection, after: EventPosition | None) -> Listener:
        """Return a listener to future changes, or to all changes after the position ``after``.

        Without ``after``, the first event is READY. With ``after``, the first event is RELOAD in
        three cases: the log no longer has all changes after ``after``, another epoch has begun, or
        the events after ``after`` do not fit in a listener's queue.
        """
        listener = Listener(selection, self._forget, after)
        if after is None:
            listener.begin(CommentEventKind.READY, self.last)
        elif after.epoch != self.last.epoch or after.number < self._floor:
            listener.begin(CommentEventKind.RELOAD, self.last)
        else:
            for number, entry in self._entries:
                if number > after.number and entry.product_id == selection.product_id:
                    listener.offer(EventPosition(after.epoch, number), entry)
            if listener.incomplete:
                listener = Listener(selection, self._forget, after)
                listener.begin(CommentEventKind.RELOAD, self.last)
        self._listeners.setdefault(selection.product_id, {})[listener] = None
        return listener

    def _forget(self, listener: Listener) -> None:
        product_id = listener.selection.product_id
        listeners = self._listeners.get(product_id, {})
        listeners.pop(listener, None)
        if not listeners:
            self._listeners.pop(product_id, None)

    def _drop_oldest(self) -> None:
        self._floor, oldest = self._entries.popleft()
        self._bytes -= oldest.size
        if not isinstance(oldest, Change):
            return
        if oldest.was is not None:
            replaced = oldest.position, oldest.was.version
            if self._next.get(replaced) == self._floor:
                del self._next[replaced]
        if oldest.now is not None:
            del self._texts[oldest.position]

    def _change(self, number: int) -> Change:
        _, entry = self._entries[number - self._entries[0][0]]
        assert isinstance(entry, Change)  # noqa: S101 - ``_next`` and ``_texts`` refer to changes
        return entry

    def _text(self, position: str) -> Comment | None:
        return self._change(self._texts[position]).now if position in self._texts else None

    def _with_newest_text(self, entry: LogEntry) -> LogEntry:
        """Remove the texts that an entry replaces. The changes stay in the log without texts.

        If the log has a newer text, return the entry without a text.
        """
        if isinstance(entry, UncertainWrite):
            # The write may have removed any comment of the product. All clients must reload, so
            # they need no text.
            for number in list(self._texts.values()):
                if self._change(number).product_id == entry.product_id:
                    self._forget_text(number)
        elif (text := self._text(entry.position)) is not None:
            states = [one.version for one in (entry.was, entry.became) if one is not None]
            if entry.became is not None and version(text) > max(states):
                return entry.without_text()
            self._forget_text(self._texts[entry.position])
        return entry

    def _forget_text(self, number: int) -> None:
        change = self._change(number)
        shorter = change.without_text()
        self._bytes += shorter.size - change.size
        self._entries[number - self._entries[0][0]] = number, shorter
        del self._texts[change.position]

    def _latest(self, change: Change) -> Change:
        """Return the change, with the comment's latest state.

        Later changes of the same comment may have arrived before this change. If the log lacks the
        latest text, clients must reload.
        """
        became, later, seen = change.became_version, change, set[str]()
        # If a clock was set back, versions can form a cycle. In this case, ``seen`` prevents an
        # endless loop.
        while became is not None and became not in seen:
            seen.add(became)
            number = self._next.get((change.position, became))
            if number is None:
                break
            later = self._change(number)
            became = later.became_version
        if later is change:
            return change
        now = later.now
        if now is None and became is not None:
            # The log has not received all changes of the comment yet. Take the newest text.
            now = self._text(change.position)
            if now is None or version(now) < became:
                return replace(change, now=None, replaced=later.became, late=True)
        return replace(change, now=now, replaced=None)
