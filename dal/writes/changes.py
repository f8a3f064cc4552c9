"""Changes of comments: builds their actions and counter deltas, and groups them in transactions.

A rebuild counts all comments in separate counters, while clients write comments. The attribute
``counted`` (N) of a comment's item is the number of the latest rebuild that has counted the
comment. During a rebuild, a write adds the comment's new image (the item after the write) to the
rebuild's counters, and sets ``counted`` in the new image to the rebuild's number. If ``counted`` in
the old image already has this number, the rebuild's counters include the old image, and the write
also subtracts it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import orjson

from dal.counts.counts import Deltas, StatisticsKey, deltas, in_generation, summed
from dal.counts.mode import Maintenance, MaintenanceMode
from dal.dynamodb.errors import ConditionFailedError
from dal.entities.comment import COMMENT, COUNTED, comment_in, comment_key
from dal.entities.commented import named_actions
from dal.model import Comment
from dal.table.items import ABSENT, Action, Item, key_of

MOST_ACTIONS = 100
"""Maximum actions of TransactWriteItems."""

MOST_BYTES = 900_000
"""Maximum bytes of a transaction's actions, as JSON. DynamoDB counts fewer bytes: text in UTF-8,
and half a byte for a digit. DynamoDB accepts 4 MB, but sending a body of more than 1 MiB blocks the
event loop."""


@dataclass(frozen=True, slots=True)
class CountedWrite:
    """The actions of one transaction, and the deltas of the counters."""

    actions: Sequence[Action]
    changes: Deltas


@dataclass(frozen=True, slots=True)
class Undated:
    """A new comment, which gets the time of its write as its date.

    ``image`` returns the item of the comment. ``published`` is False for a submission (an
    unpublished comment).
    """

    comment: Comment
    image: Callable[[Comment], Item]
    published: bool


@dataclass(eq=False)
class CommentChange:
    """A change of a comment's item from one image to another. The image None means no item.

    The write fails if the item is no longer the image ``old``. ``beside`` has further actions for
    the same transaction. The transaction can also change the author's reservation of the product:
    an item that limits the author to one comment on the product. ``elsewhere`` means that the
    reservation for ``old`` belongs to another comment or does not exist (see ``named_actions``).

    ``before`` and ``after`` are the published comments in the two images, or None. Only these two
    comments affect the counters. An undated comment (see ``Undated``) gets its date when the
    actions of a write are built.
    """

    old: Item | None
    new: Item | Undated | None
    beside: Sequence[Action] = ()
    elsewhere: bool = False
    actions: Sequence[Action] = field(init=False)
    """The actions of the latest write, without counters."""
    image: Item | None = field(init=False, default=None)
    """The new image. For an undated comment, ``prepare`` replaces the image before each write.

    None if the item is deleted, or while a new comment has no date.
    """
    before: Comment | None = field(init=False)
    after: Comment | None = field(init=False)
    changes: Deltas = field(init=False)
    """The deltas of the counters. They do not depend on the date."""
    _next: Sequence[Action] = field(init=False, default=())
    """The result of ``prepare``. Empty before ``prepare`` is called, and after ``write``."""

    def __post_init__(self) -> None:
        self.before = comment_in(self.old)
        if isinstance(self.new, Undated):
            self.after = self.new.comment if self.new.published else None
        else:
            self.image = self.new
            self.after = comment_in(self.new)
        self.changes = deltas(self.before, self.after)

    def prepare(self) -> Sequence[Action]:
        """Build and return the actions of the next write, without counters and reservations.

        An undated comment gets the present time.
        """
        if isinstance(self.new, Undated):
            comment = self.new.comment._replace(created_at=datetime.now(UTC))
            self.image = self.new.image(comment)
            self.after = comment if self.new.published else None
        unchanged = ABSENT if self.old is None else COMMENT.unchanged(self.old)
        if self.image is not None:
            own = {"Put": {"Item": self.image, **unchanged}}
        else:
            assert self.old is not None  # noqa: S101 - a change has at least one image
            own = {"Delete": {"Key": key_of(self.old), **unchanged}}
        self._next = [own, *self.beside]
        return self._next

    @property
    def products(self) -> frozenset[str]:
        """The products with changed counters."""
        return frozenset(key.product_id for key in self.changes)

    @property
    def counters(self) -> frozenset[StatisticsKey]:
        """The counters of the comments before and after the change.

        In any mode, a write changes only these counters, and a rebuild's counters for the same
        products and languages.
        """
        return frozenset({*deltas(self.before, None), *deltas(None, self.after)})

    @property
    def key(self) -> str:
        """The partition key of the comment's item."""
        return self.keys(names=False)[0][0]

    @property
    def naming(self) -> Sequence[Action]:
        """The actions on reservations. They do not depend on the date."""
        new = self.new.comment if isinstance(self.new, Undated) else self.new
        return named_actions(self.old, new, elsewhere=self.elsewhere)

    def keys(self, *, names: bool) -> list[tuple[str, str]]:
        """Return the primary key of each action's item. The comment's key is the first.

        With ``names``, the result includes the keys of the reservations.
        """
        new = self.new
        own = comment_key(new.comment.comment_id) if isinstance(new, Undated) else new or self.old
        assert own is not None  # noqa: S101 - a change has at least one image
        others = [*self.beside, *(self.naming if names else ())]
        entries = [entry for action in others for entry in action.values()]
        keys = [own, *(entry.get("Key", entry.get("Item")) for entry in entries)]
        return [(key["PK"]["S"], key["SK"]["S"]) for key in keys]

    def write(self, maintenance: Maintenance) -> CountedWrite:
        """Return the change's actions and counter deltas in a maintenance mode."""
        own, changes = (self._next or self.prepare())[0], self.changes
        self._next = ()
        if maintenance.mode is MaintenanceMode.STREAM:
            changes = {}
        elif maintenance.dual_writes:
            generation = maintenance.generation
            marked = self.old is not None and generation_of(self.old) == generation
            counted = deltas(self.before if marked else None, self.after)
            changes = summed([changes, in_generation(counted, generation)])
            if self.after is not None:
                put = own["Put"]
                own = {"Put": put | {"Item": put["Item"] | {COUNTED: {"N": str(generation)}}}}
        naming = self.naming if maintenance.names_comments else ()
        self.actions = [own, *self.beside, *naming]
        return CountedWrite(self.actions, changes)

    def is_naming(self, failed: Collection[int]) -> bool:
        """Return whether all failed actions of the latest write are actions on reservations.

        ``failed`` has the numbers of the failed actions within ``actions``.
        """
        return min(failed) > len(self.beside)


def generation_of(item: Item) -> int:
    """Return the number of the latest rebuild that counted the comment; 0 if none counted it."""
    return int(item[COUNTED]["N"]) if COUNTED in item else 0


def joined(writes: Sequence[CountedWrite]) -> CountedWrite:
    """Join several writes into one."""
    actions = [action for write in writes for action in write.actions]
    return CountedWrite(actions, summed(write.changes for write in writes))


def failures(
    changes: Iterable[CommentChange], error: ConditionFailedError
) -> list[ConditionFailedError | None]:
    """Return the error of each change, or None for a change that has not failed.

    ``error`` numbers the failed actions within the transaction of all changes. A returned error
    numbers the failed actions within its own change.
    """
    own: list[ConditionFailedError | None] = []
    first = 0
    for change in changes:
        numbers = range(len(change.actions))
        failed = [number for number in numbers if first + number in error.failed]
        items = {one: error.items[first + one] for one in failed if first + one in error.items}
        own.append(ConditionFailedError(failed, items) if failed else None)
        first += len(numbers)
    return own


Counted = TypeVar("Counted")


def fitting(
    changes: Iterable[Counted],
    counters: Callable[[Counted], Collection[StatisticsKey]],
    *,
    actions_each: int,
) -> Iterator[list[Counted]]:
    """Yield groups of changes, in order. Each group fits in one transaction.

    ``counters`` returns the counters that a change updates. A transaction has one action for each
    of these counters, ``actions_each`` actions for each change, and one more action of the caller.
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
    """Collects changes that fit in one transaction, in any maintenance mode.

    ``names``: whether the writes include reservations.
    """

    def __init__(self, *, names: bool = False) -> None:
        self._names = names
        self._keys: set[tuple[str, str]] = set()
        self._counters: set[StatisticsKey] = set()
        self._bytes = 0

    def add(self, change: CommentChange) -> bool:
        """Add a change and return True; return False if it does not fit.

        The first change always fits. A change does not fit if another change of the batch writes
        the same item, because DynamoDB allows one action per item in a transaction. The batch
        leaves space for a rebuild's counters.
        """
        own = change.keys(names=self._names)
        keys, counters = self._keys.union(own), self._counters | change.counters
        alone = len(keys) == len(self._keys) + len(own)
        if self._keys and not (alone and len(keys) + 2 * len(counters) <= MOST_ACTIONS):
            return False
        # ``prepare`` runs after these checks, because it takes longer. It encodes the item, and
        # gives an undated comment its date.
        size = self._bytes + len(orjson.dumps(change.prepare()))
        if self._keys and size > MOST_BYTES:
            return False
        self._keys = keys
        self._counters = counters
        self._bytes = size
        return True
