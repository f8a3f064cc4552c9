"""Counting modes: what ``marginalia stats`` and ``serve --check`` know of a maintenance mode."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dal.counts.mode import MaintenanceMode, MaintenanceStore, WaitForWriters
from dal.dynamodb.scan import Progress
from dal.dynamodb.table import Table, TableAddress


async def _nothing(_: Table) -> None:
    """Leave a mode that needs nothing outside the table's items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingMode:
    """A maintenance mode: how a command changes a table to it, and sentences for operators."""

    mode: MaintenanceMode
    explained: str
    """What updates the counters, for the help of ``stats rebuild``."""
    updated: str
    """A clause of a sentence: what updates the counters."""
    if_wrong: str
    """The command that corrects wrong statistics."""
    rebuild: Callable[[MaintenanceStore, TableAddress, WaitForWriters, Progress], Awaitable[None]]
    """Makes the statistics exact, and changes the table to this mode. Raises DalError."""
    leave: Callable[[Table], Awaitable[None]] = _nothing
    """Ends what only this mode needs, after a change of the table to another mode."""
