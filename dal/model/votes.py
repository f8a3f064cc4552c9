"""Votes: users find comments of others helpful."""

from typing import NamedTuple


class Vote(NamedTuple):
    """A user's vote for a comment, once for each comment."""

    comment_id: str
    product_id: str
    username: str
