"""Rules of the writes of comments. The pipeline of writes calls the rules by their hooks."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

from dal.counts.counts import CounterRule
from dal.counts.mode import Maintenance
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.table.errors import DalError
from dal.table.items import Action
from dal.writes.changes import CommentChange, part_of

KEEPS_CHANGING = "Other requests keep changing this comment: try again in a moment."


class WriteRule(CounterRule):
    """One concern of the writes of comments, such as the leaderboards.

    A rule can add actions to the transaction of a write, decide what a failed condition of these
    actions means, and follow the outcome. The pipeline calls the rules in their order, and knows
    none of them by name. Each method does nothing by default. ``change.notes[self]`` keeps what a
    rule has read or learned about a write, over the attempts of this write.
    """

    follows_new: ClassVar[bool] = True
    """Whether the pipeline calls ``actions`` and ``committed`` for new comments, too."""

    async def prepare(self, changes: Sequence[CommentChange]) -> None:
        """Read what ``actions`` needs, before each attempt to change stored comments.

        A bulk write passes a batch of changes.
        """

    def compares(self, state: Maintenance) -> bool:  # noqa: ARG002 - overridden
        """Return whether a bulk write must read the stored comments before it writes."""
        return False

    async def refused(
        self,
        changes: Sequence[CommentChange],  # noqa: ARG002 - overridden
        state: Maintenance,  # noqa: ARG002 - overridden
    ) -> Collection[str]:
        """Return the ids of comments that a bulk write must not write."""
        return ()

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:  # noqa: ARG002 - overridden
        """Return actions for the transaction of a change.

        They must not depend on the comment's date, because a new comment gets its date later.
        """
        return ()

    async def failed(self, change: CommentChange, error: ConditionFailedError) -> DalError:  # noqa: ARG002 - overridden
        """Return the error of a write in which an action of this rule failed.

        ``error`` numbers the failed actions within the actions of this rule. After ConflictError,
        the write is tried again: the comment is read, and the rules prepare its change.
        """
        return ConflictError(KEEPS_CHANGING)

    def committed(self, change: CommentChange) -> None:
        """Receive an acknowledged change, before the client gets its response.

        The changes of one comment arrive in the order of writing.
        """

    def uncertain(self, changes: Sequence[CommentChange]) -> None:
        """Receive the changes of a write with an unknown outcome."""

    async def deleted(self, comment_id: str) -> None:
        """Remove what belongs to a deleted comment."""


class WriteRules:
    """For each hook, the rules that override it, in their order.

    So a write calls no hook that does nothing.
    """

    def __init__(self, rules: Sequence[CounterRule] = ()) -> None:
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


async def explained(change: CommentChange, error: ConditionFailedError) -> DalError:
    """Return the error of a write in which the action of the comment itself did not fail.

    If an action in ``change.beside`` failed, this is ``error``. Otherwise, the first rule with a
    failed action decides.
    """
    start = len(change.actions) - len(change.rules)
    first = min(error.failed) - start
    if first < 0:
        return error
    rule = change.rules[first]
    start += change.rules.index(rule)
    own = part_of(error, range(start, start + change.rules.count(rule)))
    assert own is not None  # noqa: S101 - one of them failed
    return await rule.failed(change, own)
