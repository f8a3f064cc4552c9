"""Changes of comments: each as a write with its deltas, and how many fit one transaction.

While a rebuild runs, the mark ``counted`` (N) of a comment's item is the number of the rebuild that
has counted it. A write adds the new image to the rebuild's counters, and takes the old one out if
that was marked.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Protocol, TypeVar

import orjson

from dal.entities import idempotency
from dal.entities.comment import COMMENT, COUNTED, comment_in
from dal.model import Comment
from dal.statistics.counts import Deltas, StatisticsKey, deltas, in_generation, summed
from dal.statistics.mode import Maintenance, MaintenanceMode
from dal.table.items import ABSENT, Action, Item, key_of

MOST_ACTIONS = 100
"""The most that TransactWriteItems takes."""

MOST_BYTES = 900_000
"""Of a transaction's actions, in JSON as they are sent. DynamoDB takes four times as much,
but a body of more than 1 MiB would keep the event loop from everything else while it is sent."""


class CommentObserver(Protocol):
    """Is told of writes of comments, of one comment in the order in which they were done."""

    def changed(self, old: Comment | None, new: Comment | None) -> None:
        """Take note that a write was acknowledged; None is no comment."""

    def uncertain(self, product_id: str) -> None:
        """Take note that a write about a product was perhaps done."""


class NoObserver:
    """Takes note of nothing."""

    def changed(self, old: Comment | None, new: Comment | None) -> None:
        """Ignore it."""

    def uncertain(self, product_id: str) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True)
class CountedWrite:
    """Actions that are done together or not at all, and the deltas of the counters."""

    actions: Sequence[Action]
    changes: Deltas


@dataclass(eq=False)
class CommentChange:
    """A comment's item ``old`` becomes ``new``; None is no comment.

    The condition is that ``old`` is still as it was read. ``mark`` are attributes that a new item
    has beside those of its comment; one that takes another's place keeps what that had. ``dated``
    is whether the comment has its date: otherwise it becomes the instant of each ``write``, and
    ``new`` is what the latest one has built. All else is worked out once, however often it is
    tried.
    """

    old: Item | None
    new: Comment | None
    mark: Item = field(default_factory=dict)
    dated: bool = True

    @cached_property
    def before(self) -> Comment | None:
        """The comment of ``old``."""
        return comment_in(self.old)

    @cached_property
    def changes(self) -> Deltas:
        """What it changes of the counters."""
        return deltas(self.before, self.new)

    @property
    def products(self) -> frozenset[str]:
        """The products whose counters change."""
        return frozenset(key.product_id for key in self.changes)

    @property
    def counters(self) -> frozenset[StatisticsKey]:
        """The counters that any write of it may change, those of a rebuild aside."""
        if self.before is None:
            return frozenset(self.changes)
        parts = deltas(self.before, None), deltas(None, self.new)
        return frozenset(key for part in parts for key in part)

    @cached_property
    def _plain(self) -> Action:
        """The action while no rebuild runs."""
        if self.new is not None:
            return {"Put": {"Item": COMMENT.encode(self.new) | self._mark, **self._condition}}
        assert self.old is not None  # noqa: S101 - a change of nothing into nothing is none
        left = idempotency.tombstone(self.old)
        if left is not None:
            return {"Put": {"Item": left, **self._condition}}
        return {"Delete": {"Key": key_of(self.old), **self._condition}}

    @property
    def _mark(self) -> Item:
        return self.mark if self.old is None else idempotency.kept_mark(self.old)

    @property
    def _condition(self) -> Item:
        return ABSENT if self.old is None else COMMENT.unchanged(self.old)

    @property
    def partition(self) -> str:
        """The partition key of its comment's item."""
        return _item(self._plain)[0]

    @property
    def items(self) -> frozenset[tuple[str, str]]:
        """The primary keys of the items that it writes."""
        return frozenset({_item(self._plain)})

    @property
    def size(self) -> int:
        """The bytes of its action, as it is sent."""
        return len(orjson.dumps(self._plain))

    def write(self, maintenance: Maintenance) -> CountedWrite:
        """Return the write: one action, and what it changes of the counters."""
        if self.new is not None and not self.dated:
            self.new = self.new._replace(created_at=datetime.now(UTC))
            self.__dict__.pop("_plain", None)  # it has another date
        action = self._plain
        if maintenance.mode is MaintenanceMode.STREAM:
            return CountedWrite([action], {})
        if not maintenance.dual_writes:
            return CountedWrite([action], self.changes)
        generation = maintenance.generation
        marked = self.old is not None and generation_of(self.old) == generation
        of_rebuild = in_generation(deltas(self.before if marked else None, self.new), generation)
        action = action if self.new is None else _marked(action, generation)
        return CountedWrite([action], summed([self.changes, of_rebuild]))


def _marked(action: Action, generation: int) -> Action:
    """Return the putting of a comment with the mark of the rebuild that counts it."""
    put = action["Put"]
    return {"Put": {**put, "Item": {**put["Item"], COUNTED: {"N": str(generation)}}}}


def generation_of(item: Item) -> int:
    """Return the number of the rebuild that a comment was last counted by; 0 is none."""
    return int(item[COUNTED]["N"]) if COUNTED in item else 0


def joined(writes: Sequence[CountedWrite]) -> CountedWrite:
    """Return several writes as one."""
    actions = [action for write in writes for action in write.actions]
    return CountedWrite(actions, summed(write.changes for write in writes))


Counted = TypeVar("Counted")


def fitting(
    changes: Iterable[Counted],
    counters: Callable[[Counted], Collection[StatisticsKey]],
    *,
    actions_each: int,
) -> Iterator[list[Counted]]:
    """Yield the changes that one transaction each can do, in order.

    Beside the ``counters`` that they change, a transaction has room for ``actions_each`` of a
    change, and for one action more.
    """
    taken: list[Counted] = []
    keys: frozenset[StatisticsKey] = frozenset()
    for change in changes:
        more = keys.union(counters(change))
        if taken and len(more) + 1 + actions_each * (len(taken) + 1) > MOST_ACTIONS:
            yield taken
            taken, more = [], frozenset(counters(change))
        taken.append(change)
        keys = more
    if taken:
        yield taken


class TransactionBatch:
    """Takes in changes for as long as one transaction can do them all, in any mode."""

    def __init__(self) -> None:
        self._items: set[tuple[str, str]] = set()
        self._counters: set[StatisticsKey] = set()
        self._bytes = 0

    def add(self, change: CommentChange) -> bool:
        """Take a change in and return True, or return False when it does not fit.

        Changes of one item never share a transaction. A first change is always taken. There is room
        for the counters of a rebuild beside the others.
        """
        items, counters = change.items, change.counters
        size = self._bytes + change.size
        number = len(self._items) + len(items) + 2 * len(self._counters | counters)
        fits = number <= MOST_ACTIONS and size <= MOST_BYTES
        if self._items and not (fits and self._items.isdisjoint(items)):
            return False
        self._items |= items
        self._counters |= counters
        self._bytes = size
        return True


def _item(action: Action) -> tuple[str, str]:
    """Return which item an action writes."""
    (entry,) = action.values()
    key = entry.get("Key", entry.get("Item"))
    return key["PK"]["S"], key["SK"]["S"]
