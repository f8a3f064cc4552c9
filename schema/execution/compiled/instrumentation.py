"""Instrumentation of fields: who is told of those whose results are awaited. Mostly nobody."""

from collections.abc import Awaitable
from contextvars import ContextVar
from typing import Any, Protocol


class FieldInstruments(Protocol):
    """Is told of fields that take time; those whose results are there at once cost nothing."""

    async def field(self, type_name: str, name: str, result: Awaitable[Any]) -> Any:
        """Return what is awaited, or raise what it raises: a field with all that is below it."""


FIELD_INSTRUMENTS: ContextVar[FieldInstruments | None] = ContextVar(
    "field_instruments", default=None
)
"""Who is told of the operations under way, set by whoever serves a client."""


def observed(type_name: str, name: str, result: Awaitable[Any]) -> Awaitable[Any]:
    """Return the result of a field, to be awaited as whoever is told of fields has it."""
    instruments = FIELD_INSTRUMENTS.get()
    return result if instruments is None else instruments.field(type_name, name, result)
