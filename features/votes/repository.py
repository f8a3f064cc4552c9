"""Votes: users mark comments of other users as helpful, at most once per comment.

Each vote is a separate item. The comment's item contains the number of its votes, and a background
task updates this number some seconds after a vote (see ``features.votes.folds``). So a vote never
conflicts with another user's vote or with an edit of the comment. Until then, only the voter's own
reads count the votes (see ``VoteRepository.recent``).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, HELPFUL
from dal.model import NEGATIVE, POSITIVE, Comment
from dal.model.standings import Permission
from dal.repositories.reactions import published
from dal.table.entity import Row
from dal.table.errors import DalError, InvalidArgumentError
from dal.table.index import QueryRequest, query_all
from dal.table.items import Item, replacement
from dal.writes.overwrite import Outcome, overwrite
from features.votes.entity import (
    encode_recent,
    encode_vote,
    is_counted,
    is_vote,
    recent_in,
    recent_key,
    recent_votes,
    vote_key,
    voted_id,
    votes_of_user,
)
from features.votes.folds import HelpfulFolds, read_votes
from features.votes.model import Highlights, RecentVote, Vote

_FIRST_ROWS, _FURTHER_ROWS = 12, 28
"""Maximum rows of the first and of the second Query for the highlights of a product."""

MOST_EXACT = 250
"""Maximum votes of a comment that are counted for the voter. If the comment has more votes, the
voter sees the number of other votes that was stored before the voter's change, and the vote."""

_HIGHLIGHTS = dict.fromkeys(POSITIVE, "most_helpful_positive") | dict.fromkeys(
    NEGATIVE, "most_helpful_critical"
)
"""Maps a rating to the field of ``Highlights`` that a comment with this rating can fill."""


class VoteRepository:
    """Reads and writes helpful votes."""

    def __init__(self, table: Table, folds: HelpfulFolds) -> None:
        self._table = table
        self._folds = folds

    async def marked(self, username: str, comments: Sequence[Comment]) -> set[str]:
        """Return the ids of those ``comments`` that a user has marked as helpful.

        For several comments on one product, one Query reads the user's votes on this product.
        Otherwise one BatchGetItem is sent for each 100 comments. Both kinds of reads are eventually
        consistent.
        """
        products = {comment.product_id for comment in comments}
        if len(products) > 1 or len(comments) == 1:
            keys = [vote_key(comment.comment_id, username) for comment in comments]
            items = await self._table.get_many(keys, consistent=False)
            return {voted_id(item) for item in items if is_counted(item)}
        ids = {comment.comment_id for comment in comments}
        found: set[str] = set()
        for product_id in products:
            async for response in query_all(self._table.query, votes_of_user(username, product_id)):
                found.update(map(voted_id, filter(is_counted, response.items)))
        return found & ids

    async def recent(self, username: str) -> dict[str, RecentVote]:
        """Return a user's recent votes, by comment id, by one consistent Query.

        Other comments already count the user's votes.
        """
        found: dict[str, RecentVote] = {}
        async for response in query_all(self._table.query, recent_votes(username)):
            for one in filter(None, map(recent_in, response.items)):
                found[one.comment_id] = one
        return found

    def shown(self, comment: Comment, recent: RecentVote) -> int:
        """Return the number of a comment's votes for the user with this recent vote.

        If the comment has another number, fold its votes, because the process that stored the vote
        may have been killed before its fold.
        """
        if recent.votes != comment.votes:
            self._folds.note(comment.comment_id)
        return recent.votes

    async def highlights(self, product_id: str) -> Highlights:
        """Return a product's most helpful positive comment and its most helpful critical comment.

        These are the comments with the most votes. If several comments have the same number of
        votes, the newest is returned. If the first Query finds only one of the two comments or
        none, a second Query reads further rows. A comment that neither Query finds is None in the
        result.
        """
        values = {"product": product_id}
        request = QueryRequest(HELPFUL, HELPFUL.partition_of(values), descending=True)
        found = Highlights()
        for limit in (_FIRST_ROWS, _FURTHER_ROWS):
            response = await self._table.query(replace(request, limit=limit))
            for item in response.items:
                name = _HIGHLIGHTS.get(int(item["rating"]["N"]))
                if name is not None and getattr(found, name) is None:
                    row = Row(item[HELPFUL.sort_key]["S"], item, values)
                    found = found._replace(**{name: COMMENT.decode_row(row)})
            if None not in found or response.last_key is None:
                break
            request = replace(request, start=response.last_key)
        return found

    async def put_many(self, votes: Sequence[Vote]) -> Outcome:
        """Write votes. The comments show the new numbers of votes some seconds later."""
        outcome = await overwrite(self._table, [[encode_vote(vote)] for vote in votes])
        for vote in votes:
            self._folds.note(vote.comment_id)
        return outcome

    async def erased(self, item: Item) -> None:
        """Count the votes of a comment again, after an erasure of the item of a vote."""
        self._folds.note(voted_id(item))

    async def mark(
        self,
        comment_id: str,
        username: str,
        check: Callable[[Permission], None] = lambda _: None,
        *,
        helpful: bool = True,
    ) -> Comment:
        """Store a user's vote, and return the comment with its present number of votes.

        If ``helpful`` is False, the vote is withdrawn. ``check`` may raise an error to refuse the
        user. A second vote does not count, but is written as a new version. Otherwise an earlier
        withdrawal that the network delays could still succeed.

        Raises NotFoundError if the comment is not published, InvalidArgumentError if the comment is
        the user's own, and ConflictError if other requests keep changing the vote.
        """
        again = False

        async def attempt() -> Comment:
            nonlocal again
            keys = [vote_key(comment_id, username), recent_key(comment_id, username)]
            found = published(self._table, comment_id, username, check, keys, consistent=again)
            comment, own = await found
            again = True
            if comment.username == username:
                raise InvalidArgumentError(
                    "id", "This is your own comment: only others can find it helpful."
                )
            held = next(filter(is_vote, own), None)
            touched = next((item for item in own if not is_vote(item)), None)
            vote = Vote(comment_id, comment.product_id, username)
            try:
                new = encode_vote(vote, withdrawn=not helpful)
                await self._table.write([replacement(held, new)])
            finally:  # after an error too, because the vote may have been written
                self._folds.note(comment_id)
            recent = None if touched is None else recent_in(touched)
            if recent is not None:  # the comment's number may or may not include the earlier vote
                others = recent.others
            else:
                others = comment.votes - (held is not None and is_counted(held))
            with suppress(DalError):  # the vote is stored, so the answer must not be an error
                counted, _, complete = await read_votes(self._table, comment, MOST_EXACT)
                others = counted - helpful if complete else others
            recent = RecentVote(comment_id, helpful, max(0, others))
            # Not in one transaction with the vote, because its condition would not cover the count,
            # and a transaction costs twice the WCU.
            item = encode_recent(recent, username, comment.votes)
            await self._table.write([replacement(touched, item)])
            return comment._replace(votes=recent.votes)

        return await retry_on_change(attempt, "your vote")
