"""Fills a table with comments and their counters at once, as one load of them would leave it.

The loader reads what each id holds, and counts in every transaction: in a table that is empty and
that nobody else uses, the comments can be written as they are, and their counters at the end.
"""

from collections.abc import Callable, Iterable
from itertools import islice

from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.repositories.markers import MarkerRepository
from dal.statistics import counter_items
from dal.statistics.comment_changes import MOST_ACTIONS
from dal.statistics.counts import Deltas, deltas, summed
from dal.table.client import Table


async def filled(table: Table, name: str) -> bool:
    """Return whether ``fill`` has come to its end here before, under this name."""
    return await MarkerRepository(table).marked(name)


async def fill(
    table: Table, comments: Iterable[Comment], name: str, progress: Callable[[int], None]
) -> None:
    """Write comments of products that have none yet; ``progress`` gets how many are written.

    Each hundred is one transaction: the embedded engine waits for the disk once for each.
    """
    left, written = iter(comments), 0
    counts: Deltas = {}
    while batch := list(islice(left, MOST_ACTIONS)):
        await table.write([{"Put": {"Item": COMMENT.encode(one)}} for one in batch])
        counts = summed([counts, *(deltas(None, one) for one in batch)])
        written += len(batch)
        progress(written)
    await table.put_many([counter_items.encode(key, held) for key, held in counts.items()])
    await MarkerRepository(table).mark(name)
