"""Reshard: moves rows of comments, and counters, to other numbers of shards beside servers.

``dal/entities/shard_layout.py`` has the steps. Whoever writes a comment after a step was announced
and waited for gives it the keys of that step, so a scan finds whatever still has others. An update
of a row holds on condition that its keys are as the scan saw them: where they are not, its writer
has moved it. Interrupted, the move goes on with the step that it was in.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from dal.entities.comment import is_comment
from dal.entities.shard_layout import MOST_SHARDS, ShardLayout
from dal.errors import ConditionFailedError, StoreRefusedError
from dal.statistics.comment_changes import MOST_ACTIONS
from dal.statistics.counter_shards import CounterShards
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.table.abilities import NO_TRANSACTIONS
from dal.table.client import Table
from dal.table.concurrency import batched, in_parallel
from dal.table.item import Action, Item, key_of
from dal.table.parallel_scan import SCAN_SEGMENTS, Progress, ProgressCount, scan_pages

WaitForAll: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once every reader and writer acts on what was announced."""


async def reshard(table: Table, shards: int, wait_for_all: WaitForAll, seen: Progress) -> bool:
    """Spread the comments over ``shards``; False where they are already.

    ``seen`` is told how many items the two scans have seen. Raises StoreRefusedError where another
    move is under way or a rebuild runs, or the endpoint has no transactions, and any DalError;
    begun again, it goes on.
    """
    maintenance = MaintenanceStore(table)
    state, count = await maintenance.read(), ProgressCount(seen)
    _check(state.layout, shards)
    if state.layout == ShardLayout(shards):
        return False
    if not await table.has_transactions():
        raise StoreRefusedError(NO_TRANSACTIONS)
    if not state.layout.step:
        state = await maintenance.announce(state, layout=state.layout.next(shards))
    while state.layout.step:
        await wait_for_all()
        if state.layout.moves:
            await move(table, state.layout, count)
            await wait_for_all()  # so long no index lags
        state = await maintenance.announce(state, layout=state.layout.next(shards))
    return True


async def reshard_counters(table: Table, shards: int, wait_for_all: WaitForAll) -> bool:
    """Have the counters spread over ``shards`` from now on; False where they are already.

    Nothing is moved: ``dal/statistics/counter_shards.py`` says why. Raises StoreRefusedError where
    another move is under way, a rebuild or an upgrade runs, or the endpoint has no transactions,
    and any DalError; begun again, it goes on.
    """
    _check_number(shards)
    maintenance = MaintenanceStore(table)
    state = await maintenance.read()
    if state.counters.moving and state.counters.counter_target != shards:
        raise StoreRefusedError(
            f"Counters change to {state.counters.counter_target} shards: let that end first, by "
            f"`marginalia table reshard --counter-shards {state.counters.counter_target}`."
        )
    if state.counters == CounterShards(shards):
        return False
    if not await table.has_transactions():
        raise StoreRefusedError(NO_TRANSACTIONS)
    if not state.counters.moving:
        state = await maintenance.announce(state, counters=state.counters.next(shards))
    while state.counters.moving:
        await wait_for_all()
        state = await maintenance.announce(state, counters=state.counters.next(shards))
    return True


def _check(layout: ShardLayout, shards: int) -> None:
    _check_number(shards)
    if layout.step and layout.target != shards:
        raise StoreRefusedError(
            f"Comments move from {layout.shards} to {layout.target} shards: let that end first, by "
            f"`marginalia table reshard --shards {layout.target}`."
        )


def _check_number(shards: int) -> None:
    if not 1 <= shards <= MOST_SHARDS:
        raise StoreRefusedError(f"{shards} shards are none of 1 to {MOST_SHARDS}.")


async def move(table: Table, layout: ShardLayout, count: ProgressCount) -> None:
    """Move what still has the keys of another layout, of the indexes that move in this step."""

    async def segment(number: int) -> None:
        async for items, _ in scan_pages(table, number):
            for batch in batched([one for one in items if is_comment(one)], MOST_ACTIONS):
                await _move(table, layout, batch)
            count.add(items)

    await in_parallel([segment(number) for number in range(SCAN_SEGMENTS)])


async def _move(table: Table, layout: ShardLayout, items: Sequence[Item]) -> None:
    left = [action for item in items if (action := _action(layout, item)) is not None]
    while left:
        try:
            async with table.pace.turn():
                await table.write(left)
        except ConditionFailedError as error:
            left = [one for number, one in enumerate(left) if number not in error.failed]
        else:
            return


def _action(layout: ShardLayout, item: Item) -> Action | None:
    """Return the update that gives an item its keys; None where it has them."""
    keys = layout.keys(item, layout.moves)
    if all(item[name] == key for name, key in keys.items()):
        return None
    update: Item = {
        "Key": key_of(item),
        "UpdateExpression": "SET " + ", ".join(f"{name} = :new_{name}" for name in keys),
        "ConditionExpression": " AND ".join(f"{name} = :old_{name}" for name in keys),
        "ExpressionAttributeValues": {
            **{f":new_{name}": key for name, key in keys.items()},
            **{f":old_{name}": item[name] for name in keys},
        },
    }
    return {"Update": update}
