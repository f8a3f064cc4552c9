"""Writes many comments directly into a table, for tests that need a large product."""

from collections.abc import Sequence

from dal.client.table import Table
from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.statistics import counter_items
from dal.statistics.counts import deltas, summed


async def fill(table: Table, comments: Sequence[Comment]) -> None:
    """Store comments in an empty table, together with their counters."""
    counted = summed(deltas(None, comment) for comment in comments)
    await table.put_many([COMMENT.encode(comment) for comment in comments])
    await table.put_many(list(counter_items.encode_all(counted)))
