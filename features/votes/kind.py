"""What exports, loads, erasures and ``stats verify`` know of votes."""

from collections import Counter
from collections.abc import Collection, Sequence

from dal.catalogue import AccessPattern
from dal.dynamodb.table import Table
from dal.entities.comment import BY_AUTHOR
from dal.kinds import field_parsers
from dal.kinds.item_kind import Field, FileKind, ItemKind
from dal.model import Comment
from dal.table.items import Item
from dal.table.key_parts import escape
from features.votes.entity import (
    decode_recent,
    decode_vote,
    is_counted,
    is_recent_vote,
    is_vote,
    vote_position,
    voted_id,
)
from features.votes.folds import HelpfulFolds
from features.votes.model import Vote
from features.votes.repository import VoteRepository

PATTERNS = (
    AccessPattern("most helpful", "a product's comment with the most helpful votes"),
    AccessPattern("own votes", "the comments of a page that a user found helpful"),
)

FILE = FileKind(
    name="votes",
    fields=(
        Field("comment_id", field_parsers.identifier),
        Field("product_id", field_parsers.identifier),
        Field("username", field_parsers.account),
    ),
    make=lambda values: Vote(**values),
    cells=lambda one: one,
    identity=lambda one: f"{escape(one.comment_id)}#{escape(one.username)}",
    put=lambda stores: stores.votes.put_many,
    contains=is_counted,
)

KIND = ItemKind(
    name="votes",
    noun="helpful vote",
    holds=is_vote,
    decode=decode_vote,
    erased=lambda table: VoteRepository(table, HelpfulFolds(table)).erased,
    file=FILE,
    labels={"VOTES": "votes"},
)

RECENT = ItemKind(
    name="recentVotes", noun="recent helpful vote", holds=is_recent_vote, decode=decode_recent
)


class VoteCorrection:
    """Stores the numbers of votes in the comments whose votes are not counted."""

    corrects = "the numbers of helpful votes"
    removes = "votes"

    def __init__(self, table: Table) -> None:
        self.folds = HelpfulFolds(table)
        self._votes: Counter[tuple[str, str]] = Counter()
        """Maps a comment's id, and the key of a vote for it in ``byAuthor``, to a difference: the
        number of the comment's vote items with this key, minus the number of votes that the
        comment's own item stores."""

    def scanned(self, items: Sequence[Item], comments: Sequence[Comment]) -> None:
        """Add the votes, and subtract the numbers of votes in comments."""
        self._votes.subtract(
            {
                (one.comment_id, vote_position(one.product_id, one.comment_id)): one.votes
                for one in comments
                if one.votes
            }
        )
        self._votes.update(
            (voted_id(item), item.get(BY_AUTHOR.sort_key, {}).get("S", ""))
            for item in items
            if is_vote(item) and is_counted(item)
        )

    def suspects(self) -> Collection[str]:
        """Return the ids of comments that show a wrong number of votes, or are deleted."""
        return {comment_id for (comment_id, _), left in self._votes.items() if left}

    async def correct(self, suspects: Collection[str]) -> None:
        """Fold the votes of the comments that this correction suspects."""
        del suspects
        await self.folds.correct(self.suspects())

    def report(self) -> str:
        """Return how many comments showed a wrong number."""
        folded = self.folds.folded
        sentences = (
            f"{folded:,} comments showed a wrong number of helpful votes. "
            "The numbers are correct now."
        )
        return sentences if folded else ""
