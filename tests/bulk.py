"""Many comments at once, straight into a table, for tests that need a large product."""

from collections.abc import Sequence

from dal import counters
from dal.dynamodb import Table
from dal.items import encode_comment
from dal.model import Comment
from dal.statistics import deltas, summed


async def fill(table: Table, comments: Sequence[Comment]) -> None:
    """Store comments of an empty table, and the counters that their writes would have left."""
    counted = summed(deltas(None, comment) for comment in comments)
    await table.put_many([encode_comment(comment) for comment in comments])
    await table.put_many([counters.encode(key, counts) for key, counts in counted.items()])
