"""Votes: users mark comments of other users as helpful, at most once per comment.

Each vote is a separate item. The comment's item contains the number of its votes, and a background
task updates this number some seconds after a vote (see ``dal.statistics.helpful``). So a vote never
conflicts with another vote or with an edit of the comment.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dal import errors
from dal.client.table import Table
from dal.entities.comment import COMMENT, HELPFUL
from dal.entities.entity import Row
from dal.entities.vote import encode_vote, vote_key, voted_id, votes_of_user
from dal.model import NEGATIVE, POSITIVE, Comment
from dal.model.standings import Permission
from dal.model.votes import Highlights, Vote
from dal.repositories.bulk_write import Outcome, overwrite
from dal.repositories.reactions import published
from dal.statistics.helpful import HelpfulFolds
from dal.table.index import QueryRequest, query_all
from dal.table.items import ABSENT, PRESENT, Action

_FIRST_ROWS, _FURTHER_ROWS = 12, 28
"""Maximum rows of the first and of the second Query for the highlights of a product."""

_HIGHLIGHTS = dict.fromkeys(POSITIVE, "most_helpful_positive") | dict.fromkeys(
    NEGATIVE, "most_helpful_critical"
)
"""Maps a rating to the field of ``Highlights`` that a comment with this rating can fill."""


class VoteRepository:
    """Reads and writes helpful votes."""

    def __init__(self, table: Table, folds: HelpfulFolds) -> None:
        self._table = table
        self._folds = folds

    async def mark(
        self, comment_id: str, username: str, check: Callable[[Permission], None] = lambda _: None
    ) -> Comment:
        """Store a user's vote, and return the comment with the vote added to its number of votes.

        ``check`` may raise an error to refuse the user. A second vote changes nothing. Raises
        NotFoundError if the comment is not published, and InvalidArgumentError if the comment is
        the user's own.
        """
        comment = await self._comment(comment_id, username, check)
        item = encode_vote(Vote(comment_id, comment.product_id, username))
        voted = await self._write(comment_id, {"Put": {"Item": item, **ABSENT}})
        return comment._replace(votes=comment.votes + voted)

    async def unmark(
        self, comment_id: str, username: str, check: Callable[[Permission], None] = lambda _: None
    ) -> Comment:
        """Delete a user's vote, and return the comment with its number of votes reduced.

        The errors are those of ``mark``.
        """
        comment = await self._comment(comment_id, username, check)
        key = vote_key(comment_id, username)
        removed = await self._write(comment_id, {"Delete": {"Key": key, **PRESENT}})
        return comment._replace(votes=max(0, comment.votes - removed))

    async def marked(self, username: str, comments: Sequence[Comment]) -> set[str]:
        """Return the ids of those ``comments`` that a user has marked as helpful.

        For several comments on one product, one Query reads the user's votes on this product.
        Otherwise one BatchGetItem is sent for each 100 comments. Both kinds of reads are eventually
        consistent.
        """
        products = {comment.product_id for comment in comments}
        if len(products) > 1 or len(comments) == 1:
            keys = [vote_key(comment.comment_id, username) for comment in comments]
            return {voted_id(item) for item in await self._table.get_many(keys, consistent=False)}
        ids = {comment.comment_id for comment in comments}
        found: set[str] = set()
        for product_id in products:
            async for response in query_all(self._table.query, votes_of_user(username, product_id)):
                found.update(map(voted_id, response.items))
        return found & ids

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

    async def _comment(
        self, comment_id: str, username: str, check: Callable[[Permission], None]
    ) -> Comment:
        """Return the comment, if the user may vote for it. The errors are those of ``mark``."""
        comment = await published(self._table, comment_id, username, check)
        if comment.username == username:
            raise errors.InvalidArgumentError(
                "id", "This is your own comment: only others can find it helpful."
            )
        return comment

    async def _write(self, comment_id: str, action: Action) -> bool:
        """Write or delete a vote by ``action``. Return False if its condition fails."""
        try:
            await self._table.write([action])
        except errors.ConditionFailedError:
            return False
        finally:  # after an error too, because the vote may have been written
            self._folds.note(comment_id)
        return True
