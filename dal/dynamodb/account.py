"""Counts a task's requests to DynamoDB, and the read and write capacity that they consumed.

An account can have a limit. Above the limit, reads raise QueryTooCostlyError. While a read has no
response, its maximum RCU are reserved. If reads in parallel could together consume more than twice
the limit, some of them wait for the responses of the others. Writes, and the reads of a ``writing``
block, have no limit. Retries do not count towards the limit, because the store causes them.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from typing import Any, Self

from dal.dynamodb.errors import QueryTooCostlyError

MAX_REQUESTS = 250
"""Maximum requests to DynamoDB that an operation usually sends. Above the maximum, the operation
fails."""

ROW_RCU = 20
"""Maximum RCU to read a row consistently. The largest row has about 80,000 bytes."""

RESPONSE_RCU = 256
"""Maximum RCU of a consistent Query or Scan, whose response has at most 1 MB.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html"""

WRITES = frozenset(
    {"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item"}
)
"""Operations that consume write capacity. If the response to such an operation is lost, it is
unknown whether the write happened."""


@dataclass(slots=True)
class Account:
    """The number of requests, including retries, and the consumed capacity.

    ``rcu`` and ``wcu`` are DynamoDB's read and write capacity units. An account counts the requests
    of its ``with`` block, and of the tasks that the block starts. In the block, an account of an
    outer block counts nothing.
    """

    requests: int = 0
    rcu: float = 0.0
    wcu: float = 0.0
    most_reads: float = field(default=inf, compare=False)
    """The maximum number of reads without their retries."""
    most_rcu: float = field(default=inf, compare=False)
    """The maximum RCU. The response that exceeds it ends the operation. The account then has
    consumed at most twice as much, if no single read consumes more than this maximum."""
    reads: int = field(default=0, compare=False)
    """The number of reads without their retries."""
    reserved: float = field(default=0.0, compare=False)
    """The maximum RCU of the reads that have no response yet."""
    released: asyncio.Event | None = field(default=None, compare=False)
    """The next response sets the event. None if no read waits for it."""
    _before: Any = field(default=None, init=False, repr=False, compare=False)

    # Every operation opens one. A generator with ``contextmanager`` takes twice as long.
    def __enter__(self) -> Self:
        self._before = OPEN.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        OPEN.reset(self._before)

    def add(self, operation: str, response: dict[str, Any]) -> None:
        """Add the capacity that a response reports."""
        if operation in WRITES:
            self.wcu += consumed(response)
        else:
            self.rcu += consumed(response)

    def check(self, further: int) -> None:
        """Raise QueryTooCostlyError if the account, with ``further`` reads, exceeds its limit."""
        if self.reads + further > self.most_reads or self.rcu > self.most_rcu:
            raise QueryTooCostlyError(
                f"The operation ended after {self.reads:,} requests to DynamoDB and "
                f"{self.rcu:,.0f} RCU, because it read more than predicted: select fewer rows, or "
                "other filters."
            )


OPEN: ContextVar[Account] = ContextVar("account", default=Account())  # noqa: B039 - see below
"""The account of the current task. Outside of all ``with`` blocks, all tasks have the default
account. Its numbers have no effect, because it has no maximum."""

WRITING: ContextVar[bool] = ContextVar("writing", default=False)
"""Whether the current task is in a ``writing`` block."""


@contextmanager
def writing() -> Iterator[None]:
    """Let no read of the ``with`` block, and of the tasks it starts, end at the account's limit.

    So a write never ends after a part of its requests. If the account is already above its limit,
    the block does not begin, and QueryTooCostlyError is raised.
    """
    OPEN.get().check(0)
    before = WRITING.set(True)
    try:
        yield
    finally:
        WRITING.reset(before)


def check_search() -> None:
    """Raise QueryTooCostlyError if the account is at its limit, also in a ``writing`` block.

    A search of any length calls this before each of its reads, if nothing has been written yet.
    """
    OPEN.get().check(1)


def note_hidden(capacity: float) -> None:
    """Subtract ``capacity`` RCU from the account, after a read of an item hidden from the viewer.

    ``capacity`` is the difference between the RCU of this read and the RCU of a read that finds no
    item. Responses to clients can show the account's RCU. Without the subtraction, a viewer could
    see that a hidden item of more than 4 kB exists.
    """
    OPEN.get().rcu -= capacity


def consumed(response: dict[str, Any]) -> float:
    """Return the sum of the capacity units that a response reports; 0 if it reports none."""
    capacity = response.get("ConsumedCapacity", [])
    if isinstance(capacity, dict):
        return float(capacity["CapacityUnits"])
    return float(sum(map(itemgetter("CapacityUnits"), capacity)))
