"""An account: the requests to DynamoDB of a piece of work, and the capacity that they consumed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

WRITES = frozenset(
    {"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item"}
)
"""Operations that consume write capacity. If a response is lost, the outcome is unknown."""


@dataclass(slots=True)
class Account:
    """Requests, retries included, and consumed capacity in RCU and WCU."""

    requests: int = 0
    rcu: float = 0.0
    wcu: float = 0.0


_open: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def opened() -> Iterator[Account]:
    """Open an account for all requests in this block, and in tasks that start in it."""
    account = Account()
    before = _open.set(account)
    try:
        yield account
    finally:
        _open.reset(before)


def note_request() -> None:
    """Count a request that is about to be sent."""
    account = _open.get()
    if account is not None:
        account.requests += 1


def note_response(operation: str, response: dict[str, Any]) -> None:
    """Add the capacity that a request consumed."""
    account = _open.get()
    if account is None:
        return
    if operation in WRITES:
        account.wcu += consumed(response)
    else:
        account.rcu += consumed(response)


def note_hidden(capacity: float) -> None:
    """Subtract read capacity that would show a client the size of a hidden item."""
    account = _open.get()
    if account is not None:
        account.rcu -= capacity


def consumed(response: dict[str, Any]) -> float:
    """Return the capacity units in a response, summed over its tables; 0 if it has none."""
    capacity = response.get("ConsumedCapacity", [])
    if isinstance(capacity, dict):
        return float(capacity["CapacityUnits"])
    return float(sum(one["CapacityUnits"] for one in capacity))
