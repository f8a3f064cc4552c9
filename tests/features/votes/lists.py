"""What votes add to the lists of the core's tests."""

from dal.stores import Stores


async def fill(stores: Stores) -> None:
    """Store what the examples of access patterns read."""
    await stores.votes.mark("c8", "mo")
    await stores.folds.finish()


async def react(stores: Stores, comment_id: str) -> None:
    """Vote for a published comment."""
    await stores.votes.mark(comment_id, "reader")
    await stores.folds.correct([comment_id])
