"""The protocol of an analytics store, which holds one export and runs questions on it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import orjson

Question = Callable[[Any], Any]
"""Function from the relation of all comments to a sqlglot expression; see ``dal.analytics.sql``."""

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Export:
    """An export: its start, its name in the store, and its number of rows.

    It includes every change before ``began``.
    """

    began: datetime
    name: str
    rows: int

    def encode(self) -> bytes:
        """Return the export as JSON."""
        return orjson.dumps(asdict(self))

    @classmethod
    def decode(cls, text: bytes | str) -> "Export":
        """Return the export that ``encode`` wrote."""
        fields = orjson.loads(text)
        return cls(datetime.fromisoformat(fields["began"]), fields["name"], fields["rows"])


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of a question, its SQL, and the number of rows that the engine scanned."""

    rows: Sequence[Row]
    sql: str
    rows_read: int


class AnalyticsStore(Protocol):
    """A columnar store. Every method can raise AnalyticsUnavailableError."""

    @property
    def name(self) -> str:
        """Name of the engine."""

    async def export(self) -> Export | None:
        """Return the current export; None before the first."""

    async def ask(self, question: Question, export: Export) -> Result:
        """Run a question on an export, or on a later one that has replaced it."""

    async def fill(self, parquet: Path, began: datetime) -> Export:
        """Make the Parquet file's rows the export that later questions read."""

    async def close(self) -> None:
        """Close files and connections."""
