"""Votes: a vote means that a user found another user's comment helpful."""

from typing import NamedTuple

from dal.model import Comment


class Vote(NamedTuple):
    """A user's vote for a comment. A user has at most one vote per comment."""

    comment_id: str
    product_id: str
    username: str


class RecentVote(NamedTuple):
    """A user's change of a vote that the comment's number of votes may not include yet."""

    comment_id: str
    helpful: bool
    """Whether the comment has the user's vote."""
    others: int
    """The number of the comment's other votes, when the user changed this vote."""

    @property
    def votes(self) -> int:
        """The comment's number of votes for the user."""
        return self.others + self.helpful


class Highlights(NamedTuple):
    """The positive and the critical comment of a product that have the most helpful votes.

    A field is None if the server found no such comment.
    """

    most_helpful_positive: Comment | None = None
    most_helpful_critical: Comment | None = None
