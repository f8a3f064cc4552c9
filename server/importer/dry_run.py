"""What a load would store, without a store."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime

from dal.repositories.bulk_write import Outcome

SHOWN = 3


class DryRun:
    """Takes what a load writes, and keeps the first of it to be shown."""

    def __init__(self) -> None:
        self._first: list[object] = []

    async def put(self, things: Sequence[object]) -> Outcome:
        """Write nothing; what is new cannot be known without the table."""
        self._first += things[: SHOWN - len(self._first)]
        return Outcome(new=len(things))

    def first(self) -> Iterator[str]:
        """Yield the first things as they would be stored, each a line of JSON."""
        for thing in self._first:
            yield json.dumps(_plain(thing), ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | bool | int | None) else str(value)
