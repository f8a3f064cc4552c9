"""Changes of comments, and the rules that add actions to their transactions.

A change builds its actions and counter deltas. Changes are grouped in transactions.

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
from typing import Any, ClassVar, TypeVar

import orjson

from dal.counts.counts import CounterRule, Deltas, StatisticsKey, deltas, in_generation, summed
from dal.counts.mode import Maintenance
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.entities.comment import COMMENT, COUNTED, comment_in, comment_key
from dal.model import Comment
from dal.table.errors import DalError
from dal.table.items import ABSENT, Action, Item, key_of, key_pair

KEEPS_CHANGING = "Other requests keep changing this comment: try again in a moment."

MOST_ACTIONS = 100
"""Maximum actions of TransactWriteItems."""

MOST_BYTES = 900_000
"""Maximum bytes of a transaction's actions, as JSON. DynamoDB counts fewer bytes: text in UTF-8,
and half a byte for a digit. DynamoDB accepts 4 MB, but sending a body of more than 1 MiB blocks the
event loop."""


@dataclass(frozen=True, slots=True)
class Undated:
    """A new comment, which gets the time of its write as its date.

    ``image`` returns the item of the comment. ``published`` is False for a submission (an
    unpublished comment).
    """

    comment: Comment
    image: Callable[[Comment], Item]
    published: bool


class WriteRule(CounterRule):
    """One concern of the writes of comments, such as the leaderboards.

    A rule can add actions to the transaction of a write, decide what a failed condition of these
    actions means, and follow the outcome. The pipeline calls the rules in their order, and knows
    none of them by name. Each method does nothing by default. ``change.notes[self]`` keeps what a
    rule has read or learned about a write, over the attempts of this write.
    """

    follows_new: ClassVar[bool] = True
    """Whether the pipeline calls ``actions`` and ``committed`` for new comments, too."""

    async def prepare(self, changes: Sequence["CommentChange"]) -> None:
        """Read what ``actions`` needs, before each attempt to change stored comments.

        A bulk write passes a batch of changes.
        """

    def compares(self, state: Maintenance) -> bool:  # noqa: ARG002 - overridden
        """Return whether a bulk write must read the stored comments before it writes."""
        return False

    async def refused(
        self,
        changes: Sequence["CommentChange"],  # noqa: ARG002 - overridden
        state: Maintenance,  # noqa: ARG002 - overridden
    ) -> Collection[str]:
        """Return the ids of comments that a bulk write must not write."""
        return ()

    def actions(self, change: "CommentChange", state: Maintenance) -> Sequence[Action]:  # noqa: ARG002 - overridden
        """Return actions for the transaction of a change.

        They must not depend on the comment's date, because a new comment gets its date later.
        """
        return ()

    async def failed(self, change: "CommentChange", error: ConditionFailedError) -> DalError:  # noqa: ARG002 - overridden
        """Return the error of a write in which an action of this rule failed.

        ``error`` numbers the failed actions within the actions of this rule. After ConflictError,
        the write is tried again: the comment is read, and the rules prepare its change.
        """
        return ConflictError(KEEPS_CHANGING)

    def committed(self, change: "CommentChange") -> None:
        """Receive an acknowledged change, before the client gets its response.

        The changes of one comment arrive in the order of writing.
        """

    def uncertain(self, changes: Sequence["CommentChange"]) -> None:
        """Receive the changes of a write with an unknown outcome."""

    async def deleted(self, comment_id: str) -> None:
        """Remove what belongs to a deleted comment."""


@dataclass(eq=False)
class CommentChange:
    """A change of a comment's item from one image to another. The image None means no item.

    The write fails if the item is no longer the image ``old``. ``beside`` has the caller's further
    actions for the same transaction. Rules add more actions, and keep ``notes`` for themselves.

    ``before`` and ``after`` are the published comments in the two images, or None. Only these two
    comments affect the counters. An undated comment (see ``Undated``) gets its date when the
    actions of a write are built.
    """

    old: Item | None
    new: Item | Undated | None
    beside: Sequence[Action] = ()
    notes: dict[object, Any] = field(default_factory=dict)
    actions: Sequence[Action] = field(init=False)
    """The actions of the latest write, without counters: of the comment, of ``beside``, and of the
    rules."""
    rules: list[WriteRule] = field(init=False, default_factory=list)
    """For each action of the rules, its rule."""
    image: Item | None = field(init=False, default=None)
    """The new image. For an undated comment, ``prepare`` replaces the image before each write.

    None if the item is deleted, or while a new comment has no date.
    """
    before: Comment | None = field(init=False)
    after: Comment | None = field(init=False)
    changes: Deltas = field(init=False)
    """The deltas of the counters. They do not depend on the date."""
    products: frozenset[str] = field(init=False)
    """The products with changed counters."""
    key: str = field(init=False)
    """The partition key of the comment's item."""
    keys: list[tuple[str, str]] = field(init=False)
    """The primary key of each action's item, after ``extend``. The comment's key is the first."""
    _further: list[Action] = field(init=False, default_factory=list)
    """The actions of the rules, for the maintenance state ``_state``."""
    _state: Maintenance | None = field(init=False, default=None)
    _next: Sequence[Action] = field(init=False, default=())
    """The result of ``prepare``. Empty before ``prepare`` is called, and after ``write``."""

    def __post_init__(self) -> None:
        self.before = comment_in(self.old)
        if isinstance(self.new, Undated):
            item = comment_key(self.new.comment.comment_id)
            self.after = self.new.comment if self.new.published else None
        else:
            item = self.new or self.old or {}
            self.image = self.new
            self.after = comment_in(self.new)
        self.changes = deltas(self.before, self.after)
        self.products = frozenset([key.product_id for key in self.changes])
        self.keys = [key_pair(item)]
        self.key = self.keys[0][0]

    def extend(self, rules: Sequence[WriteRule], state: Maintenance) -> None:
        """Build the actions of the rules in a maintenance state, unless they are built already."""
        if self._state is state:
            return
        self._state, self._further, self.rules = state, [], []
        for rule in rules:
            if rule.follows_new or self.old is not None:
                actions = rule.actions(self, state)
                self._further += actions
                self.rules += [rule] * len(actions)
        del self.keys[1:]
        for action in (*self.beside, *self._further):
            for entry in action.values():
                self.keys.append(key_pair(entry.get("Key") or entry["Item"]))

    def prepare(self) -> Sequence[Action]:
        """Build and return the actions of the next write, without counters.

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
        self._next = [own, *self.beside, *self._further]
        return self._next

    @property
    def counters(self) -> Collection[StatisticsKey]:
        """The counters of the comments before and after the change.

        In any mode, a write changes only these counters, and a rebuild's counters for the same
        products and languages.
        """
        if self.before is None or self.after is None:
            return self.changes.keys()
        return {*deltas(self.before, None), *deltas(None, self.after)}

    def write(self, maintenance: Maintenance, rules: Sequence[WriteRule] = ()) -> Deltas:
        """Build ``actions`` in a maintenance state, and return the deltas of the counters."""
        self.extend(rules, maintenance)
        own, changes = (self._next or self.prepare())[0], self.changes
        self._next = ()
        if not maintenance.counts_in_writes:
            changes = {}
        elif maintenance.rebuilding:
            generation = maintenance.generation
            marked = self.old is not None and generation_of(self.old) == generation
            counted = deltas(self.before if marked else None, self.after)
            changes = summed([changes, in_generation(counted, generation)])
            if self.after is not None:
                put = own["Put"]
                own = {"Put": put | {"Item": put["Item"] | {COUNTED: {"N": str(generation)}}}}
        self.actions = [own, *self.beside, *self._further]
        return changes

    async def explained(self, error: ConditionFailedError) -> DalError:
        """Return the error of a write in which the action of the comment itself did not fail.

        If an action in ``beside`` failed, this is ``error``. Otherwise, the first rule with a
        failed action decides.
        """
        start = len(self.actions) - len(self.rules)
        first = min(error.failed) - start
        if first < 0:
            return error
        rule = self.rules[first]
        start += self.rules.index(rule)
        own = part_of(error, range(start, start + self.rules.count(rule)))
        assert own is not None  # noqa: S101 - one of them failed
        return await rule.failed(self, own)


class WriteRules:
    """For each hook, the rules that override it, in their order.

    So a write calls no hook that does nothing.
    """

    def __init__(self, rules: Sequence[CounterRule]) -> None:
        def overriding(hook: Callable[..., object]) -> list[Any]:
            return [one for one in rules if getattr(type(one), hook.__name__, hook) is not hook]

        self.prepare: Sequence[WriteRule] = overriding(WriteRule.prepare)
        self.compares: Sequence[WriteRule] = overriding(WriteRule.compares)
        self.refused: Sequence[WriteRule] = overriding(WriteRule.refused)
        self.actions: Sequence[WriteRule] = overriding(WriteRule.actions)
        self.counted: Sequence[CounterRule] = overriding(CounterRule.counted)
        self.ended: Sequence[CounterRule] = overriding(CounterRule.ended)
        self.committed: Sequence[WriteRule] = overriding(WriteRule.committed)
        self.uncertain: Sequence[WriteRule] = overriding(WriteRule.uncertain)
        self.deleted: Sequence[WriteRule] = overriding(WriteRule.deleted)


def generation_of(item: Item) -> int:
    """Return the number of the latest rebuild that counted the comment; 0 if none counted it."""
    return int(item[COUNTED]["N"]) if COUNTED in item else 0


def part_of(error: ConditionFailedError, numbers: range) -> ConditionFailedError | None:
    """Return the error of some consecutive actions, numbered from 0; None if none has failed."""
    failed = [one - numbers.start for one in numbers if one in error.failed]
    items = {one - numbers.start: error.items[one] for one in numbers if one in error.items}
    return ConditionFailedError(failed, items) if failed else None


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

    ``rules`` add actions to the changes, in the maintenance state ``state``.
    """

    def __init__(self, rules: Sequence[WriteRule], state: Maintenance) -> None:
        self._rules, self._state = rules, state
        self._keys: set[tuple[str, str]] = set()
        self._counters: set[StatisticsKey] = set()
        self._bytes = 0

    def add(self, change: CommentChange) -> bool:
        """Add a change and return True; return False if it does not fit.

        The first change always fits. A change does not fit if another change of the batch writes
        the same item, because DynamoDB allows one action per item in a transaction. The batch
        leaves space for a rebuild's counters.
        """
        change.extend(self._rules, self._state)
        own = change.keys
        keys, counters = self._keys.union(own), self._counters.union(change.counters)
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
