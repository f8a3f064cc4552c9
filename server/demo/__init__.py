"""The demo's comments: 5,000 of our own making, the same on every machine."""

from dal.comments import CommentStore
from server.demo.comments import demo_comments
from server.load.writer import BATCH, Writer
from server.meter import Meter

_MARK = "demo"


async def load_demo(comments: CommentStore) -> bool:
    """Write the demo's comments once per table; True when this call wrote them.

    A load that was interrupted starts over at the next call. Once it is complete, comments that
    are deleted stay deleted. Raises DalError.
    """
    if await comments.marked(_MARK):
        return False
    made = demo_comments()
    with Meter("Demo data", len(made)) as meter:
        async with Writer(comments.put_many) as writer:
            for start in range(0, len(made), BATCH):
                batch = {comment.comment_id: comment for comment in made[start : start + BATCH]}
                await writer.write(batch, len(batch))
                meter.update(writer.written, f"{writer.written:,} comments")
    await comments.mark(_MARK)
    return True
