"""A write of one item: it needs no transaction, in which the item would cost twice as much.

A lost answer leaves open whether it was done, and no request token tells when it is sent again. Its
condition does: where it holds nothing was done, and where it does not, what is under the key says
whether that was this very write.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from dal.errors import CircuitOpenError, ConditionFailedError, StoreUnavailableError
from dal.table.item import Action, Item, key_of
from dal.table.retries import retry

Once: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
"""Does an operation on the table without retries: its name, and its arguments by name."""

OPERATIONS: Mapping[str, str] = {"Put": "put_item", "Delete": "delete_item"}
"""The operation of each kind of action that leaves the same when it is done twice."""


async def write_alone(once: Once, action: Action) -> None:
    """Do one Put or Delete; ConditionFailedError when its condition did not hold."""
    ((kind, entry),) = action.items()
    operation = OPERATIONS[kind]
    unanswered = False

    async def attempt() -> None:
        nonlocal unanswered
        try:
            await once(operation, **entry, ReturnConsumedCapacity="TOTAL")
        except StoreUnavailableError as error:
            unanswered |= not isinstance(error, CircuitOpenError)  # that was never sent
            raise
        except ConditionFailedError:
            if not (unanswered and await _done(once, entry)):
                raise

    await retry(attempt, operation)


async def _done(once: Once, entry: Mapping[str, Any]) -> bool:
    """Return whether the table holds what a Put or Delete leaves."""
    item: Item | None = entry.get("Item")
    key = entry["Key"] if item is None else key_of(item)
    answer = await once("get_item", Key=key, ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
    return bool(answer.get("Item") == item)
