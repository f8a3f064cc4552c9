"""The cutover: each statistics item gets the counts of a rebuild's counter, in one transaction.

Where other transactions keep conflicting, counters are cut over one at a time. Each transaction
checks that the counter is as read, and stores the rebuild's number in the item as ``rebuilt`` (N),
so the counter is cut over once. Then the products are put in their places on leaderboards, and
their counters deleted; a cutover that is interrupted before does both again. Writes that still
change the rebuild's counters recreate such a counter, with a part of the counts.
"""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from dal.client.concurrency import batched
from dal.client.retries import MAINTENANCE_DEADLINE, retry_on_conflict
from dal.client.table import Table
from dal.errors import ConditionFailedError, ConflictError, StoreRefusedError
from dal.statistics import counter_items
from dal.statistics.boards import Boards
from dal.statistics.counter_items import REBUILD_PARTS, rebuild_partition
from dal.statistics.counts import StatisticsKey
from dal.statistics.maintenance_mode import Maintenance, unchanged_since
from dal.table.index import TABLE
from dal.table.items import Action, Item, key_of, unchanged
from dal.table.requests import QueryRequest, answers

_TOGETHER = 40
"""Items of a transaction, two actions each."""


async def cut_over(table: Table, announced: Maintenance) -> None:
    """Cut every counter of the announced rebuild over, once.

    Raises StoreRefusedError when another command has changed the maintenance mode since.
    """
    boards = Boards(table)
    keys = [key async for key in counter_keys(table, announced.generation)]
    for batch in batched(keys, _TOGETHER):
        try:
            await _cut_over(table, announced, batch)
        except ConflictError:
            for key in batch:
                await retry_on_conflict(
                    partial(_cut_over, table, announced, [key]), MAINTENANCE_DEADLINE
                )
        await boards.put_right({counter_items.decode(key)[0].product_id for key in batch})
        await table.write([{"Delete": {"Key": key}} for key in batch])


async def counter_keys(table: Table, generation: int) -> AsyncIterator[Item]:
    """Yield the keys of a rebuild's counters."""
    for part in range(REBUILD_PARTS):
        request = QueryRequest(TABLE, rebuild_partition(generation, part), consistent=True)
        async for answer in answers(table.query, request):
            for item in answer.items:
                yield key_of(item)


async def _cut_over(table: Table, announced: Maintenance, keys: Sequence[Item]) -> None:
    counters = [
        item
        for item in await table.get_many(keys)
        if counter_items.decode(item)[0].language is not None
    ]
    shown = [counter_items.item_key(_shown(item)) for item in counters]
    done = {
        (item["PK"]["S"], item["SK"]["S"])
        for item in await table.get_many(shown)
        if int(item.get("rebuilt", {"N": "0"})["N"]) >= announced.generation
    }
    due = [
        item
        for item, key in zip(counters, shown, strict=True)
        if (key["PK"]["S"], key["SK"]["S"]) not in done
    ]
    if not due:
        return
    actions = [action for item in due for action in _actions(item, announced)]
    try:
        await table.write([unchanged_since(announced), *actions])
    except ConditionFailedError as error:
        if 0 in error.failed:
            raise StoreRefusedError(
                "Another command ended this rebuild: run `marginalia stats verify`."
            ) from None
        raise ConflictError("Others keep writing about the same product.") from None


def _shown(counter: Item) -> StatisticsKey:
    return counter_items.decode(counter)[0]._replace(generation=None)


def _actions(counter: Item, announced: Maintenance) -> list[Action]:
    key, generation = _shown(counter), {"N": str(announced.generation)}
    numbers = counter_items.numbers_of(counter_items.decode(counter)[1])
    values = {f":{name}": {"N": str(number)} for name, number in numbers.items()}
    counts = ", ".join(f"{name} = :{name}" for name in numbers)
    return [
        {
            "Update": {  # its place on a leaderboard is moved later
                "Key": counter_items.item_key(key),
                "UpdateExpression": f"SET {counts}, rebuilt = :generation",
                "ConditionExpression": "attribute_not_exists(rebuilt) OR rebuilt < :generation",
                "ExpressionAttributeValues": values | {":generation": generation},
            }
        },
        {
            "ConditionCheck": {
                "Key": key_of(counter),
                **unchanged(counter, counter_items.COUNTS),
            }
        },
    ]
