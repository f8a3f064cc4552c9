"""The rule for votes: the comment's number of votes follows its publication."""

from dal.dynamodb.table import Table
from dal.writes.changes import CommentChange, WriteRule
from features.votes.entity import all_votes
from features.votes.folds import HelpfulFolds


class VoteRule(WriteRule):
    """Counts the votes of a comment that was published or moved to another product."""

    follows_new = False

    def __init__(self, table: Table, folds: HelpfulFolds) -> None:
        self._table = table
        self._folds = folds

    def committed(self, change: CommentChange) -> None:
        """Note the comment if its number of votes or the keys of its votes may be out of date.

        While a comment is not published, its number of votes is not updated. So the votes are
        counted after the comment is published. If the comment now has another product, the keys of
        its votes change too.
        """
        old, new = change.before, change.after
        moved = old is not None and new is not None and old.product_id != new.product_id
        if new is not None and (old is None or (moved and new.votes)):
            self._folds.note(new.comment_id)

    async def deleted(self, comment_id: str) -> None:
        """Delete the votes for a deleted comment."""
        await self._table.delete_all(all_votes(comment_id))
