"""The latest changes in their order, and who listens to the next ones."""

from collections import deque
from dataclasses import replace

from dal.limits import MAX_WAITING_BYTES, MAX_WAITING_EVENTS
from dal.live.changes import Change, News, version
from dal.live.events import CommentEvent, CommentEventKind, event_for
from dal.live.listener import Listener
from dal.live.positions import EventPosition, new_epoch
from dal.repositories.comments import Selection

MAX_KEPT = 10_000
MAX_KEPT_BYTES = 16_000_000
"""Changes that listeners may resume from, of all products: a minute of very many writes."""


class Log:
    """One process's copy of the changes, numbered upwards; whatever is appended is told at once.

    Two writes of one comment by two processes may arrive here in the other order. Every change says
    which version it replaced. So the one that was overtaken is known, and leads to what the comment
    is now instead of to what it was in between.
    """

    def __init__(self, *, kept: int = MAX_KEPT, kept_bytes: int = MAX_KEPT_BYTES) -> None:
        self._kept = kept
        self._kept_bytes = kept_bytes
        self._listeners: dict[str, dict[Listener, None]] = {}
        self.begin(new_epoch(), 0)

    @property
    def floor(self) -> EventPosition:
        """The last event that is not kept: whoever has heard of it can resume."""
        return EventPosition(self.last.epoch, self._floor)

    def begin(self, epoch: int, number: int) -> None:
        """Begin an epoch after an event's number: something may be missing before it."""
        self.last = EventPosition(epoch, number)
        self._floor = number
        self._changes: deque[tuple[int, News]] = deque()
        self._bytes = 0
        self._next: dict[tuple[str, str], Change] = {}
        """The change that replaced a version of a comment."""
        reload = CommentEvent(CommentEventKind.RELOAD, self.last)
        for listeners in list(self._listeners.values()):
            for listener in list(listeners):
                listener.offer(reload)

    def append(self, number: int, news: News) -> None:
        """Keep a change, and tell it to those whose product it is about."""
        if isinstance(news, Change):
            news = self._settled(news)
        self.last = EventPosition(self.last.epoch, number)
        self._keep(number, news)
        for listener in list(self._listeners.get(news.product_id, ())):
            event = event_for(listener.selection, self.last, news)
            if event is not None:
                listener.offer(event)

    def listen(self, selection: Selection, after: EventPosition | None) -> Listener:
        """Listen from an event on, or from now on; the first event says whether that holds.

        READY comes where ``after`` is None, RELOAD where what followed it is not kept any more.
        """
        listener = Listener(selection, self._forget, after)
        for event in self._backlog(selection, after):
            listener.offer(event)
        self._listeners.setdefault(selection.product_id, {})[listener] = None
        return listener

    def end(self) -> None:
        """End all listening."""
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
        found = []
        for number, news in self._changes:
            if number > after.number and news.product_id == selection.product_id:
                event = event_for(selection, EventPosition(after.epoch, number), news)
                found += [] if event is None else [event]
        most = sum(event.size for event in found) <= MAX_WAITING_BYTES
        return found if len(found) < MAX_WAITING_EVENTS and most else reload

    def _settled(self, change: Change) -> Change:
        """Return a change that leads to what its comment is now, though a later one came before."""
        now, seen = change.now, set[str]()
        while now is not None and version(now) not in seen:  # clocks may go back
            seen.add(version(now))
            later = self._next.get((change.position, version(now)))
            if later is None:
                break
            now = later.now
        return change if now is change.now else replace(change, now=now)

    def _keep(self, number: int, news: News) -> None:
        self._changes.append((number, news))
        self._bytes += news.size
        if isinstance(news, Change) and news.was is not None:
            self._next[news.position, news.was.version] = news
        while len(self._changes) > self._kept or self._bytes > self._kept_bytes:
            self._drop()

    def _drop(self) -> None:
        self._floor, news = self._changes.popleft()
        self._bytes -= news.size
        if isinstance(news, Change) and news.was is not None:
            replaced = news.position, news.was.version
            if self._next.get(replaced) is news:
                del self._next[replaced]
