"""Votes: a vote means that a user found another user's comment helpful."""

from typing import NamedTuple


class Vote(NamedTuple):
    """A user's vote for a comment. A user has at most one vote per comment."""

    comment_id: str
    product_id: str
    username: str
