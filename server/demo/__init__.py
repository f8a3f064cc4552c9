"""The demo's data of our own making, the same on every machine: 5,000 comments and some more."""

from collections.abc import Sequence

from dal.model import Comment
from dal.stores import Stores
from server.demo.comments import demo_comments, demo_products
from server.demo.orders import demo_orders, demo_profiles
from server.demo.organizations import demo_rosters, demo_tickets
from server.importer.writer import Writer

_MARK = "demo"
_BATCH = 500


async def load_demo(stores: Stores) -> bool:
    """Write the demo's data once per table; True when this call wrote it.

    A load that was interrupted starts over at the next call. Once it is complete, comments that
    are deleted stay deleted. Raises DalError.
    """
    if await stores.markers.marked(_MARK):
        return False
    comments = demo_comments()
    await stores.products.put_many(demo_products())
    await _load_comments(stores, comments)
    await stores.comments.boards.finish()
    await stores.users.put_profiles(demo_profiles())
    await stores.orders.put_many(demo_orders(comments))
    await stores.organizations.put_many(demo_rosters())
    await stores.tickets.put_many(demo_tickets())
    await stores.markers.mark(_MARK)
    return True


async def _load_comments(stores: Stores, made: Sequence[Comment]) -> None:
    from server.progress import ProgressBar  # noqa: PLC0415 - rich is a twentieth of every start

    with ProgressBar("Demo data", len(made)) as progress:
        async with Writer(stores.comments.put_many) as writer:
            for start in range(0, len(made), _BATCH):
                batch = {comment.comment_id: comment for comment in made[start : start + _BATCH]}
                await writer.write(batch)
                progress.update(writer.written, f"{writer.written:,} comments")
