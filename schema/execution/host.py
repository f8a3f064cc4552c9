"""What the library needs of the program that uses it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from schema.execution.errors import KnownErrors
from schema.execution.facts import ReadLimits


class Account(Protocol):
    """Counts what an operation reads and writes: its requests to DynamoDB and their capacity."""

    requests: int
    rcu: float
    wcu: float


class Pace(Protocol):
    """Gives turns of the event loop to all large results of a process, one after another."""

    async def turn(self) -> None:
        """Wait until the event loop has run other tasks, and earlier waiters had their turns."""


class Context(Protocol):
    """The context value of an operation."""

    @property
    def pace(self) -> Pace:
        """The pace of the process."""
        ...


class Event(Protocol):
    """An event of a subscription, which is the root value of the event's result."""

    @property
    def cursor(self) -> str:
        """The position of the event. A client can subscribe again after it."""
        ...


class Events(Protocol):
    """The events that a subscription's resolver returns."""

    def __aiter__(self) -> AsyncIterator[Event]: ...

    async def aclose(self) -> None:
        """Receive no more events."""


@dataclass(frozen=True, slots=True)
class Host:
    """The program that uses the library.

    - ``limits``: the sizes of its lists, and limits of its reads.
    - ``known_errors``: how clients see its exceptions.
    - ``too_costly``: its exception for an operation that costs too much. It ends the operation.
    - ``account``: opens an account for the ``with`` block, with the maximum numbers ``most_reads``
      and ``most_rcu``. A read above a maximum raises ``too_costly``. The program does not limit the
      reads of a mutation's write, which would otherwise end after a part of its requests.
    - ``deadline``: limits the seconds of the ``with`` block.
    - ``sees_costs``: returns whether the user of a context may see the cost of an operation. Its
      argument ``impersonal`` is whether the operation reads no private object.
    """

    limits: ReadLimits
    known_errors: KnownErrors
    too_costly: type[Exception]
    account: Callable[..., AbstractContextManager[Account]]
    deadline: Callable[[float], AbstractContextManager[None]]
    sees_costs: Callable[..., bool]
