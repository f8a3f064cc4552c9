"""Changes of comments: each as a write with its deltas, and how many fit into one transaction.

During a rebuild the mark ``counted`` (N) of a comment's item is the number of the rebuild that has
counted the comment. A write adds the new image to the rebuild's counters, and subtracts the old
image if it was marked.
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
"""The most bytes of a transaction's actions, in JSON as they are sent. DynamoDB takes 4 MB, but
sending a body of more than 1 MiB blocks the event loop."""


class CommentObserver(Protocol):
    """Receives writes of comments; the writes of one comment in their order."""

    def changed(self, old: Comment | None, new: Comment | None) -> None:
        """Receive an acknowledged write; None: no comment."""

    def uncertain(self, product_id: str) -> None:
        """Receive the product of a write that may have been done or not."""


@dataclass(frozen=True, slots=True)
class CountedWrite:
    """Actions that are done together or not at all, and the deltas of the counters."""

    actions: Sequence[Action]
    changes: Deltas


@dataclass(eq=False)
class CommentChange:
    """A comment's item ``old`` becomes ``new``; None: no comment.

    The write's condition is that ``old`` has not changed since it was read. ``mark`` are additional
    attributes of a new item; an item that replaces ``old`` keeps its marks. A comment that is not
    ``dated`` gets the instant of each ``write``; then ``new`` is the comment of the latest write.
    Everything else is computed once for all attempts.
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
        """The change of the counters."""
        return deltas(self.before, self.new)

    @property
    def products(self) -> frozenset[str]:
        """The products with changed counters."""
        return frozenset(key.product_id for key in self.changes)

    @property
    def counters(self) -> frozenset[StatisticsKey]:
        """The counters that a write may change in any maintenance mode, except a rebuild's."""
        if self.before is None:
            return frozenset(self.changes)
        return frozenset({*deltas(self.before, None), *deltas(None, self.new)})

    @cached_property
    def _plain(self) -> Action:
        """The action while no rebuild runs."""
        unchanged = ABSENT if self.old is None else COMMENT.unchanged(self.old)
        if self.new is not None:
            mark = self.mark if self.old is None else idempotency.kept_mark(self.old)
            return {"Put": {"Item": COMMENT.encode(self.new) | mark, **unchanged}}
        assert self.old is not None  # noqa: S101 - without either comment there is no change
        tombstone = idempotency.tombstone(self.old)
        if tombstone is not None:
            return {"Put": {"Item": tombstone, **unchanged}}
        return {"Delete": {"Key": key_of(self.old), **unchanged}}

    @property
    def key(self) -> tuple[str, str]:
        """The primary key of the comment's item."""
        (entry,) = self._plain.values()
        key = entry.get("Key", entry.get("Item"))
        return key["PK"]["S"], key["SK"]["S"]

    @property
    def size(self) -> int:
        """The bytes of the action, as it is sent."""
        return len(orjson.dumps(self._plain))

    def write(self, maintenance: Maintenance) -> CountedWrite:
        """Return the write in a maintenance mode: one action, and the change of the counters."""
        if self.new is not None and not self.dated:
            self.new = self.new._replace(created_at=datetime.now(UTC))
            self.__dict__.pop("_plain", None)  # its action has the earlier date
        action = self._plain
        if maintenance.mode is MaintenanceMode.STREAM:
            return CountedWrite([action], {})
        if not maintenance.dual_writes:
            return CountedWrite([action], self.changes)
        generation = maintenance.generation
        marked = self.old is not None and generation_of(self.old) == generation
        of_rebuild = in_generation(deltas(self.before if marked else None, self.new), generation)
        if self.new is not None:
            put = action["Put"]
            counted = put["Item"] | {COUNTED: {"N": str(generation)}}
            action = {"Put": put | {"Item": counted}}
        return CountedWrite([action], summed([self.changes, of_rebuild]))


def generation_of(item: Item) -> int:
    """Return the number of the latest rebuild that has counted a comment; 0: none."""
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

    Besides the ``counters`` of its changes, a transaction has room for ``actions_each`` actions of
    each change, and for one more action.
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
    """Collects changes as long as one transaction can do them all, in any maintenance mode."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()
        self._counters: set[StatisticsKey] = set()
        self._bytes = 0

    def add(self, change: CommentChange) -> bool:
        """Add a change and return True, or return False if it does not fit.

        The first change always fits. Two changes of one item never share a transaction: DynamoDB
        refuses two actions on one item. There is room for a rebuild's counters.
        """
        key, counters = change.key, self._counters | change.counters
        size = self._bytes + change.size
        fits = len(self._keys) + 1 + 2 * len(counters) <= MOST_ACTIONS and size <= MOST_BYTES
        if self._keys and (not fits or key in self._keys):
            return False
        self._keys.add(key)
        self._counters = counters
        self._bytes = size
        return True
