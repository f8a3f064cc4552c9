"""Votes as items. A vote means that a user found a comment helpful.

The item's PK contains the comment, and its SK the user. In the index ``byAuthor``, its partition
key contains the user, and its sort key contains the product and the comment. If the user withdraws
the vote, the item gets ``data`` and expires: it becomes a tombstone, so that a delayed vote cannot
succeed after its withdrawal. The number of a comment's votes is the number of items without
``data``.

A recent vote has a second item, ``USER#<name>`` / ``VOTED#<comment>``, until the comment's number
of votes and all indexes certainly include the vote. One consistent Query finds the user's recent
votes for comments on all products. Indexes cannot be read consistently.
"""

import time

from dal.entities.comment import BY_AUTHOR
from dal.table.entity import packed, unpacked
from dal.table.index import EXPIRES, TABLE, QueryRequest, tombstone_expiry
from dal.table.items import Item, primary_key
from dal.table.key_parts import LAST_CHARACTER, escape, unescape
from dal.table.ranges import Range
from features.votes.model import RecentVote, Vote

_VOTES = "VOTES#"
_VOTE = "VOTE#"
_USER, _VOTED = "USER#", "VOTED#"

VOTES_A_SECOND = 250
"""The minimum pause between two folds of a comment, in seconds, is the number of its votes divided
by this number: 4 seconds for 1,000 votes. A fold counts the votes twice. At this rate, the folds of
a comment in one process consume at most about 15 RCU per second."""

RECENT_SECONDS = 20
"""Seconds for which a vote is recent, if the comment has few votes. For more votes, two pauses
between folds are added. Until then, the voter does not see later votes of other users."""

MOST_COUNTED = 10_000_000
"""Maximum rows that a Query for all votes of a comment reads. It is so high that no comment has
more votes."""


def vote_key(comment_id: str, username: str) -> Item:
    """Return the primary key of a user's vote for a comment."""
    return primary_key(votes_partition(comment_id), escape(username))


def votes_partition(comment_id: str) -> str:
    """Return the partition key of a comment's votes."""
    return _VOTES + escape(comment_id)


def is_vote(key: Item) -> bool:
    """Return whether a key or an item belongs to a vote, or to a withdrawn vote."""
    return str(key["PK"].get("S", "")).startswith(_VOTES)


def is_counted(item: Item) -> bool:
    """Return whether the item of a vote counts: the user has not withdrawn the vote."""
    return "data" not in item


def voted_id(key: Item) -> str:
    """Return the id of the comment that a vote is for."""
    return unescape(key["PK"]["S"][len(_VOTES) :])


def encode_vote(vote: Vote, *, withdrawn: bool = False) -> Item:
    """Return the table item of a vote. A user has one vote per comment."""
    return {
        **vote_key(vote.comment_id, vote.username),
        BY_AUTHOR.partition_key: {"S": f"DID#{escape(vote.username)}"},
        BY_AUTHOR.sort_key: {"S": vote_position(vote.product_id, vote.comment_id)},
        **(packed({"withdrawn": True}) | tombstone_expiry() if withdrawn else {}),
    }


def vote_position(product_id: str, comment_id: str) -> str:
    """Return the sort key of a vote in the index ``byAuthor``."""
    return f"{_VOTE}{escape(product_id)}#{escape(comment_id)}"


def decode_vote(item: Item) -> Vote:
    """Return the vote that a table item stores."""
    _, product, _ = item[BY_AUTHOR.sort_key]["S"].split("#")
    return Vote(voted_id(item), unescape(product), unescape(item["SK"]["S"]))


def all_votes(comment_id: str) -> QueryRequest:
    """Return the request for the votes of a comment."""
    return QueryRequest(TABLE, votes_partition(comment_id), limit=MOST_COUNTED, consistent=True)


def votes_of_user(username: str, product_id: str) -> QueryRequest:
    """Return the request for a user's votes for comments on a product."""
    start = f"{_VOTE}{escape(product_id)}#"
    return QueryRequest(BY_AUTHOR, f"DID#{escape(username)}", Range(start, start + LAST_CHARACTER))


def recent_key(comment_id: str, username: str) -> Item:
    """Return the primary key of a user's recent vote for a comment."""
    return primary_key(_USER + escape(username), _VOTED + escape(comment_id))


def is_recent_vote(key: Item) -> bool:
    """Return whether a key or an item belongs to a recent vote."""
    return str(key["PK"].get("S", "")).startswith(_USER) and key["SK"]["S"].startswith(_VOTED)


def encode_recent(vote: RecentVote, username: str, votes: int) -> Item:
    """Return the table item of a recent vote for a comment with a number of ``votes``."""
    expires = int(time.time() + RECENT_SECONDS + 2 * votes / VOTES_A_SECOND)
    return {
        **recent_key(vote.comment_id, username),
        **packed({"helpful": vote.helpful, "others": vote.others}),
        EXPIRES: {"N": str(expires)},
    }


def recent_in(item: Item) -> RecentVote | None:
    """Return the recent vote of a table item; None if it has expired.

    DynamoDB deletes expired items up to some days later:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html
    """
    return decode_recent(item) if int(item[EXPIRES]["N"]) > time.time() else None


def decode_recent(item: Item) -> RecentVote:
    """Return the recent vote that a table item stores."""
    return RecentVote(unescape(item["SK"]["S"][len(_VOTED) :]), **unpacked(item))


def recent_votes(username: str) -> QueryRequest:
    """Return the request for a user's recent votes."""
    keys = Range(_VOTED, _VOTED + LAST_CHARACTER)
    return QueryRequest(TABLE, _USER + escape(username), keys, consistent=True)
