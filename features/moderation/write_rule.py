"""The rule for cases: the case of a comment follows its publication."""

from collections.abc import Sequence
from dataclasses import replace

from dal.counts.mode import Maintenance
from dal.dynamodb.table import Table
from dal.entities.submission import stored
from dal.table.index import TABLE, QueryRequest
from dal.table.items import Action
from dal.writes.changes import CommentChange, WriteRule
from features.moderation.cases import case_of
from features.moderation.entity import CASE_ITEMS, case_key, case_partition, commented_id
from features.moderation.model import Case


class CaseRule(WriteRule):
    """Hides, lists or deletes the case of a comment in the transaction that changes the comment.

    The queue lists an open case only while its comment is published. So if a change unpublishes or
    publishes a comment, the rule also hides or lists its open case. Without an open case, the rule
    checks that no report opens one meanwhile. If a change deletes a comment, the rule also deletes
    its case. If the change has further actions of its caller (``beside``), one of these actions
    must write the case, and the rule adds no action.
    """

    follows_new = False

    def __init__(self, table: Table) -> None:
        self._table = table

    async def prepare(self, changes: Sequence[CommentChange]) -> None:
        """Read the cases of the comments that change, and note the actions on these cases."""
        moved: dict[str, CommentChange] = {}
        for change in changes:
            change.notes.pop(self, None)
            one = stored(change.old)
            if one is None or change.beside:
                continue
            deleted = stored(change.image) is None
            if deleted or (change.before is None) is not (change.after is None):
                moved[one.comment_id] = change
        items = await self._table.get_many([case_key(one) for one in moved]) if moved else []
        there = {commented_id(item): item for item in items}
        for comment_id, change in moved.items():
            read = case_of(comment_id, there.get(comment_id))
            hidden = read.case.opened_at is not None and change.after is None
            case = replace(read.case, hidden=hidden)
            if stored(change.image) is None:
                # ``deleted``, which follows, also removes a case that is opened meanwhile.
                if read.item is None:
                    continue
                case = Case(comment_id)
            change.notes[self] = [read.put(case)]

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:  # noqa: ARG002 - equal in all states
        """Return the action on the comment's case."""
        actions: Sequence[Action] = change.notes.get(self, ())
        return actions

    async def deleted(self, comment_id: str) -> None:
        """Delete the case and the reports of a deleted comment."""
        await self._table.delete_all(QueryRequest(TABLE, case_partition(comment_id), CASE_ITEMS))
