"""The k-way merge: several sorted streams become one, in total order.

It sees only async iterators. Every stream's first row is awaited at once, so the reads behind the
streams run in parallel; when one fails, the others are cancelled and its error is raised.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import TypeVar

from dal.concurrency import in_parallel

Row = TypeVar("Row")
_Head = tuple[str, int, Row]


async def merge(
    streams: Sequence[AsyncIterator[tuple[str, Row]]], *, descending: bool
) -> AsyncGenerator[tuple[str, Row], None]:
    """Yield ``(position, row)`` of all streams in order; a position met twice is one row.

    A row moves between segments when its rating or language changes. Read while it moves, it can
    stand in both: it is the same position, so it is yielded once.
    """
    foremost = max if descending else min
    heads = [head for head in await _first_heads(streams) if head is not None]
    latest = None
    while heads:
        head = foremost(heads, key=_position)
        position, number, row = head
        if position != latest:
            latest = position
            yield position, row
        heads.remove(head)
        following = await _next_head(streams, number)
        if following is not None:
            heads.append(following)


def _position(head: _Head[Row]) -> str:
    return head[0]


async def _next_head(
    streams: Sequence[AsyncIterator[tuple[str, Row]]], number: int
) -> _Head[Row] | None:
    async for position, row in streams[number]:
        return position, number, row
    return None


async def _first_heads(
    streams: Sequence[AsyncIterator[tuple[str, Row]]],
) -> list[_Head[Row] | None]:
    return await in_parallel([_next_head(streams, number) for number in range(len(streams))])
