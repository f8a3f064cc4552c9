"""The demo's data of our own making, the same on every machine: 5,000 comments and some more."""

import asyncio
from collections.abc import Callable, Sequence

from dal.model import Comment
from dal.stores import Stores
from server.demo.comments import demo_comments, demo_products
from server.demo.orders import demo_orders, demo_profiles
from server.demo.organizations import demo_rosters, demo_tickets
from server.importer.writer import Writer

_MARK = "demo"
_BATCH = 250


async def is_loaded(stores: Stores) -> bool:
    """Return whether the table has had all of the demo's data."""
    return await stores.markers.marked(_MARK)


async def load_demo(stores: Stores, tell: Callable[[int, int], None]) -> bool:
    """Write the demo's data once per table; True when this call wrote it.

    ``tell`` hears how many comments are written, of how many. What was interrupted is completed by
    the next call, which leaves what is there. Once all is, comments that are deleted stay deleted.
    Raises DalError.
    """
    if await is_loaded(stores):
        return False
    comments = await asyncio.to_thread(demo_comments)
    await stores.products.put_many(demo_products())
    await _load_comments(stores, comments, tell)
    await stores.comments.boards.finish()
    await stores.users.put_profiles(demo_profiles())
    await stores.orders.put_many(demo_orders(comments))
    await stores.organizations.put_many(demo_rosters())
    await stores.tickets.put_many(demo_tickets())
    await stores.markers.mark(_MARK)
    return True


async def _load_comments(
    stores: Stores, made: Sequence[Comment], tell: Callable[[int, int], None]
) -> None:
    tell(0, len(made))
    async with Writer(stores.comments.put_many) as writer:
        for start in range(0, len(made), _BATCH):
            batch = {comment.comment_id: comment for comment in made[start : start + _BATCH]}
            await writer.write(batch)
            tell(writer.written, len(made))
        await writer.finish()
        tell(writer.written, len(made))
