"""What votes add to the lists of the core's tests."""

from strawberry.relay.utils import to_base64

from dal.model import Comment
from dal.stores import Stores
from features.votes.model import Vote
from resolvers.context import Viewer

MUTATIONS = dict.fromkeys(("markHelpful", "unmarkHelpful"), 'id: "$COMMENT_ID"')
"""A valid input of each mutation."""

INPUTS = dict.fromkeys(MUTATIONS, "")
"""The mutations by id, with the rest of their input."""

NEVER_FAILING = ("Comment.helpfulCount",)
"""Fields that read, and return a stored value if the read fails."""

OF_COMMENTS = tuple(MUTATIONS)
"""These mutations accept the id of a ``Comment`` only."""

_THE_ONE = f'id: "{to_base64("Comment", "one")}"'
OPPOSITES = ((("markHelpful", _THE_ONE), ("unmarkHelpful", _THE_ONE)),)
"""Pairs of opposite mutations with their inputs."""

HIDDEN_WRITES = {
    "vote": 'markHelpful(input: {id: "$ID"}) { userErrors { code } }',
    "withdrawal": 'unmarkHelpful(input: {id: "$ID"}) { userErrors { code } }',
}
"""Writes by the id of a comment, which must not find a submission."""

OF_PAGE = ("nodes { id viewerFoundHelpful }",)
"""Selections of random pages."""

OF_PRODUCT = ("highlights { mostHelpfulPositive { id } }",)
"""Selections of random products."""

_VOTED = to_base64("Comment", "voted")
RARE = {
    "many votes": (
        Viewer("user1"),
        f'mutation {{ deleteComment(input: {{id: "{_VOTED}"}}) {{ deletedId }} }}',
    ),
}
"""Rare operations, and their users."""


async def fill(stores: Stores) -> None:
    """Store what the examples of access patterns read."""
    await stores.votes.mark("c8", "mo")
    await stores.folds.finish()


async def react(stores: Stores, comment_id: str) -> None:
    """Vote for a published comment."""
    await stores.votes.mark(comment_id, "reader")
    await stores.folds.correct([comment_id])


async def fill_for_costs(stores: Stores) -> None:
    """Store what random and rare operations read."""
    await stores.votes.put_many([Vote("voted", "42", f"u{number}") for number in range(60)])


async def _vote(stores: Stores, of: Comment, number: int) -> Comment:
    """Vote for a comment, and withdraw a vote. Return the changed comment."""
    for person in range(number % 4 + 1):
        await stores.votes.mark(of.comment_id, f"person {person}")
    await stores.votes.mark(of.comment_id, "person 0", helpful=False)
    await stores.folds.finish()
    return of._replace(votes=max(number % 4, of.votes))


CHANGES = {"vote": _vote}
"""Changes of a comment between two pages."""
