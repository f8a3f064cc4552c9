"""Edits: what becomes of one comment, and the write that does it by whoever counts just now.

While a rebuild runs, a comment's item carries ``counted`` (N), the number of the rebuild whose own
counters it is in; a write puts its new image in and takes out the old one if that was in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dal.conditions import ABSENT, unchanged
from dal.counters import Action
from dal.counting import Counting, Mode
from dal.items import COUNTED, Item, comment_in, encode_comment
from dal.model import Comment
from dal.statistics import Deltas, StatisticsKey, deltas, recounted, summed


@dataclass(frozen=True, slots=True)
class Write:
    """Actions that are done together or not at all, and what they change of the counters."""

    actions: Sequence[Action]
    changes: Deltas


@dataclass(frozen=True, slots=True)
class Edit:
    """A comment's item ``old`` becomes ``new``; None is no comment.

    It holds on condition that ``old`` is still as it was read. ``beside`` are actions that are done
    with it or not at all.
    """

    old: Item | None
    new: Comment | None
    beside: Sequence[Action] = ()

    @property
    def changes(self) -> Deltas:
        """What it changes of the counters."""
        return deltas(comment_in(self.old), self.new)

    @property
    def products(self) -> frozenset[str]:
        """The products whose counters change."""
        return frozenset(key.product_id for key in self.changes)

    @property
    def counters(self) -> frozenset[StatisticsKey]:
        """The counters that any write of it may touch, those of a rebuild aside."""
        parts = deltas(comment_in(self.old), None), deltas(None, self.new)
        return frozenset(key for part in parts for key in part)

    def write(self, counting: Counting) -> Write:
        """Return the write: the comment's action first, then those beside it."""
        actions = [self._action(counting), *self.beside]
        if counting.mode is Mode.STREAM:
            return Write(actions, {})
        if not counting.recounts:
            return Write(actions, self.changes)
        generation = counting.generation
        stamped = self.old is not None and generation_of(self.old) == generation
        taken = comment_in(self.old) if stamped else None
        recount = recounted(deltas(taken, self.new), generation)
        return Write(actions, summed([self.changes, recount]))

    def _action(self, counting: Counting) -> Action:
        condition = ABSENT if self.old is None else unchanged(self.old)
        if self.new is not None:
            item = encode_comment(self.new)
            if counting.recounts:
                item[COUNTED] = {"N": str(counting.generation)}
            return {"Put": {"Item": item, **condition}}
        assert self.old is not None  # noqa: S101 - an edit of nothing into nothing is none
        return {"Delete": {"Key": {"PK": self.old["PK"], "SK": self.old["SK"]}, **condition}}


def generation_of(item: Item) -> int:
    """Return the number of the rebuild that a comment was last counted by; 0 is none."""
    return int(item[COUNTED]["N"]) if COUNTED in item else 0
