"""Writes many comments directly into a table, for tests that need a large product."""

from collections.abc import Sequence

from dal.counts import counter_items
from dal.counts.counts import deltas, summed
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.model import Comment


async def fill(table: Table, comments: Sequence[Comment]) -> None:
    """Store comments in an empty table, together with their counters."""
    counted = summed(deltas(None, comment) for comment in comments)
    await table.put_many([COMMENT.encode(comment) for comment in comments])
    await table.put_many(list(counter_items.encode_all(counted)))
