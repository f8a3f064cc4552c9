"""The protocol of an analytics store: a database that answers questions about all comments."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import orjson

Question = Callable[[Any], Any]
"""A function that receives the subquery of all comments, and returns the query that answers a
question. Both are sqlglot expressions: see ``features.analytics.sql``."""

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Export:
    """A description of the store's copy of all comments.

    ``name`` is the copy's file or table, and ``rows`` its number of rows. The copying began at
    ``began``, and the copy includes every change before this time.
    """

    began: datetime
    name: str
    rows: int

    def encode(self) -> bytes:
        """Return the export as JSON."""
        return orjson.dumps(asdict(self))

    @classmethod
    def decode(cls, text: bytes | str) -> "Export":
        """Return the export from JSON that ``encode`` returned."""
        fields = orjson.loads(text)
        return cls(datetime.fromisoformat(fields["began"]), fields["name"], fields["rows"])


@dataclass(frozen=True, slots=True)
class Result:
    """The rows that answer a question, their query in SQL, and how many rows the engine read."""

    rows: Sequence[Row]
    sql: str
    rows_read: int


class AnalyticsStore(Protocol):
    """An analytics store. ``export``, ``ask`` and ``fill`` can raise AnalyticsUnavailableError."""

    @property
    def name(self) -> str:
        """Name of the engine."""

    async def export(self) -> Export | None:
        """Return the current export; None if there is none yet."""

    async def ask(self, question: Question, export: Export) -> Result:
        """Answer a question about ``export``, or about the export that has replaced it."""

    async def fill(self, parquet: Path, began: datetime) -> Export:
        """Replace the current export with the rows of a Parquet file, and return the new export.

        ``began`` is the time at which the export to this file began.
        """

    async def aclose(self) -> None:
        """Close files and connections."""
