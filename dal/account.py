"""What a piece of work has asked of DynamoDB: requests, and the capacity that they consumed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

_WRITES = frozenset(
    {"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item"}
)


@dataclass(slots=True)
class Account:
    """Requests with their retries, and consumed capacity in RCU and WCU."""

    requests: int = 0
    rcu: float = 0.0
    wcu: float = 0.0


_open: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def opened() -> Iterator[Account]:
    """Open an account for all that is asked from here on, also by tasks that are begun here."""
    account = Account()
    before = _open.set(account)
    try:
        yield account
    finally:
        _open.reset(before)


def note_request() -> None:
    """Note a request that is about to be sent."""
    account = _open.get()
    if account is not None:
        account.requests += 1


def note_answer(operation: str, answer: dict[str, Any]) -> None:
    """Note what an answer says that it consumed; some have one figure for each table."""
    account = _open.get()
    if account is None:
        return
    if is_write(operation):
        account.wcu += consumed(answer)
    else:
        account.rcu += consumed(answer)


def is_write(operation: str) -> bool:
    """Return whether an operation consumes write capacity."""
    return operation in _WRITES


def consumed(answer: dict[str, Any]) -> float:
    """Return the capacity units that an answer tells; 0 where it tells none."""
    told = answer.get("ConsumedCapacity", [])
    if isinstance(told, dict):
        return float(told["CapacityUnits"])
    return float(sum(one["CapacityUnits"] for one in told))
