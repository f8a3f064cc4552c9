"""What moderation adds to the lists of the core's tests."""

from dal.stores import Stores


async def fill(stores: Stores) -> None:
    """Store what the examples of access patterns read."""
    await stores.blocks.block("eve", "Spam", by="mo")
