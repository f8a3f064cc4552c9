"""The k-way merge: several sorted streams become one, in total order.

It sees only async iterators of rows, tuples that begin with a position. Every stream's first row is
awaited at once, so the reads behind the streams run in parallel; when one fails, the others are
cancelled and its error is raised.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any, TypeVar

from dal.table.concurrency import in_parallel

Row = TypeVar("Row", bound=tuple[Any, ...])
_Head = tuple[Row, int]


async def merge(
    streams: Sequence[AsyncIterator[Row]], *, descending: bool
) -> AsyncGenerator[Row, None]:
    """Yield the rows of all streams in order; a position met twice is one row.

    A row moves between segments when its rating or language changes. Read while it moves, it can
    stand in both. Its position is the same in both, so it is yielded once.
    """
    foremost = max if descending else min
    heads = [head for head in await _first_heads(streams) if head is not None]
    latest = None
    while heads:
        head = foremost(heads, key=_position)
        row, number = head
        if row[0] != latest:
            latest = row[0]
            yield row
        heads.remove(head)
        following = await _next_head(streams, number)
        if following is not None:
            heads.append(following)


def _position(head: _Head[Row]) -> str:
    return str(head[0][0])


async def _next_head(streams: Sequence[AsyncIterator[Row]], number: int) -> _Head[Row] | None:
    async for row in streams[number]:
        return row, number
    return None


async def _first_heads(streams: Sequence[AsyncIterator[Row]]) -> list[_Head[Row] | None]:
    return await in_parallel([_next_head(streams, number) for number in range(len(streams))])
