"""Votes: a vote means that a user found another user's comment helpful."""

from typing import NamedTuple

from dal.model import Comment


class Vote(NamedTuple):
    """A user's vote for a comment. A user has at most one vote per comment."""

    comment_id: str
    product_id: str
    username: str


class Highlights(NamedTuple):
    """The positive and the critical comment of a product that have the most helpful votes.

    A field is None if the server found no such comment.
    """

    most_helpful_positive: Comment | None = None
    most_helpful_critical: Comment | None = None
