"""Swaps: each statistics item gets the counts that a rebuild came to, in one transaction each.

The rebuild's counter goes in the same transaction, on condition that its counts are as read, and
the item keeps the rebuild's number, ``rebuilt`` (N): writers that still count for the rebuild make
the counter anew, and what is in it then must never be taken for the whole.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial

from dal import counters
from dal.concurrency import batched
from dal.conditions import unchanged
from dal.contention import contend
from dal.counters import RECOUNT_PARTS, Action, recount_partition
from dal.counting import Counting, still
from dal.dynamodb import Table
from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.items import Item
from dal.positions import Range
from dal.requests import QueryRequest, answers
from dal.statistics import StatisticsKey

PATIENCE = 60.0
"""Seconds that one item is tried while others keep writing about its product."""

_TOGETHER = 40
"""Items of a transaction, two actions each."""

_PAGE = 1_000


async def swap(table: Table, said: Counting) -> None:
    """Give every item its counts, once.

    Raises StoreRefusedError when another command has announced something else than ``said``.
    """
    keys = [key async for key in recount_keys(table, said.generation)]
    for batch in batched(keys, _TOGETHER):
        try:
            await _swap(table, said, batch)
        except ConflictError:
            for key in batch:
                await contend(partial(_swap, table, said, [key]), PATIENCE)


async def recount_keys(table: Table, generation: int) -> AsyncIterator[Item]:
    """Yield the keys of a rebuild's counters."""
    for part in range(RECOUNT_PARTS):
        request = QueryRequest(
            index=None,
            partition=("PK", recount_partition(generation, part)),
            sort_key="SK",
            range=Range(),
            descending=False,
            limit=_PAGE,
            consistent=True,
        )
        async for answer in answers(table.query, request):
            for item in answer.items:
                yield {"PK": item["PK"], "SK": item["SK"]}


async def _swap(table: Table, said: Counting, keys: Sequence[Item]) -> None:
    found = await table.get_many(keys)
    shown = [counters.item_key(_shown(item)) for item in found]
    done = {
        (item["PK"]["S"], item["SK"]["S"])
        for item in await table.get_many(shown)
        if int(item.get("rebuilt", {"N": "0"})["N"]) >= said.generation
    }
    due = [
        item
        for item, key in zip(found, shown, strict=True)
        if (key["PK"]["S"], key["SK"]["S"]) not in done
    ]
    if not due:
        return
    actions = [action for item in due for action in _actions(item, said.generation)]
    try:
        await table.write([still(said), *actions])
    except ConditionFailedError as error:
        if 0 in error.failed:
            raise StoreRefusedError(
                "Another command ended this rebuild: run `marginalia stats verify`."
            ) from None
        raise ConflictError("Others keep writing about the same product.") from None


def _shown(recounted: Item) -> StatisticsKey:
    return replace(counters.decode(recounted)[0], generation=None)


def _actions(recounted: Item, generation: int) -> list[Action]:
    number = {"N": str(generation)}
    item = counters.encode(_shown(recounted), counters.decode(recounted)[1])
    return [
        {
            "Put": {
                "Item": item | {"rebuilt": number},
                "ConditionExpression": "attribute_not_exists(rebuilt) OR rebuilt < :generation",
                "ExpressionAttributeValues": {":generation": number},
            }
        },
        {
            "Delete": {
                "Key": {"PK": recounted["PK"], "SK": recounted["SK"]},
                **unchanged(recounted, counters.COUNTS),
            }
        },
    ]
