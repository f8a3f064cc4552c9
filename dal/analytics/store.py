"""What an analytics store does: it holds the rows of one export, and answers questions of them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import orjson

Question = Callable[[Any], Any]
"""From the relation of all comments to an expression of sqlglot; see ``dal.analytics.queries``."""

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Export:
    """An export: when it began, its name in the store, and the number of its rows.

    Every change before ``began`` is in it.
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
    """The rows of a question, its SQL, and how many rows were read for it."""

    rows: Sequence[Row]
    sql: str
    rows_read: int


class AnalyticsStore(Protocol):
    """A columnar store; every method raises AnalyticsUnavailableError where it cannot."""

    @property
    def name(self) -> str:
        """The engine's name."""

    async def export(self) -> Export | None:
        """Return the export that it holds; None before the first."""

    async def ask(self, question: Question, export: Export) -> Result:
        """Answer a question of an export, or of a later one if that is gone."""

    async def fill(self, parquet: Path, began: datetime) -> Export:
        """Replace the export by a Parquet file, at once for all later questions."""

    async def close(self) -> None:
        """Close files and connections."""
