"""Writes with conditions, and the outcome of a write after a lost answer.

A write of one item runs without a transaction, which would cost twice as much. If an answer is
lost, the write is repeated. If the first attempt was done, the condition of the second fails: a
single write has no request token, and the embedded engine forgets tokens when it is killed. So the
items are read. If they are as the write leaves them, the write was done. If they differ, the
outcome stays unknown, since other writes may have changed them.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dal.client.retries import retry
from dal.errors import CircuitOpenError, ConditionFailedError, StoreUnavailableError
from dal.table.items import Action, Item, key_of

Once: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
"""Does an operation without retries: its name, and its arguments by name."""

_ALONE: Mapping[str, str] = {"Put": "put_item", "Delete": "delete_item"}
"""The operation of each kind of action that leaves the same when it is done twice."""

_ACCOUNT = {"ReturnConsumedCapacity": "TOTAL"}


async def write(once: Once, table: str, actions: Sequence[Action]) -> None:
    """Do all actions, or none of them; ConditionFailedError when a condition did not hold."""
    operation, arguments = _request(table, actions)
    lost: StoreUnavailableError | None = None

    async def attempt() -> None:
        nonlocal lost
        try:
            await once(operation, **arguments, **_ACCOUNT)
        except StoreUnavailableError as error:
            if not isinstance(error, CircuitOpenError):  # that was never sent
                lost = error
            raise
        except ConditionFailedError:
            if lost is None or not await _done(once, table, actions):
                raise

    try:
        await retry(attempt, operation)
    except ConditionFailedError:
        if lost is not None:
            raise lost from None
        raise


def _request(table: str, actions: Sequence[Action]) -> tuple[str, dict[str, Any]]:
    """Return an operation and its arguments; one request token covers a transaction's retries."""
    named = [
        {kind: {"TableName": table, **action} for kind, action in entry.items()}
        for entry in actions
    ]
    if len(named) == 1 and named[0].keys() <= _ALONE.keys():
        ((kind, arguments),) = named[0].items()
        return _ALONE[kind], arguments
    return "transact_write_items", {
        "TransactItems": named,
        "ClientRequestToken": str(uuid.uuid4()),
    }


async def _done(once: Once, table: str, actions: Sequence[Action]) -> bool:
    """Return whether the table holds what the Puts and Deletes of a write leave, if it has any."""
    shown = False
    for entry in actions:
        ((kind, action),) = entry.items()
        if kind in _ALONE:
            item: Item | None = action.get("Item")
            key = action["Key"] if item is None else key_of(item)
            answer = await once(
                "get_item", TableName=table, Key=key, ConsistentRead=True, **_ACCOUNT
            )
            shown = answer.get("Item") == item
            if not shown:
                break
    return shown
