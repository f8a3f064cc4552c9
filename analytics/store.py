"""What an analytics store does, and what it says of how fresh it is.

A store holds the rows of an export (*base*), and beside them the changes of comments since, which
a follower of the table's stream appends. The changes of one *run* of following are without a gap:
they begin before the export did, and go up to the run's watermark.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Question = Callable[[Any], Any]
"""From the relation of all comments to an expression of sqlglot; see ``analytics.queries``."""

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Base:
    """An export: when it began, what it is called in the store, and how many rows it has.

    ``stream`` is the table's stream that was followed then, None without one.
    """

    began: datetime
    name: str
    rows: int
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Following:
    """A run of following a stream: of each shard the last record that is kept, and if it is done.

    All changes between ``began`` and ``caught_up`` are kept.
    """

    run: str
    stream: str
    began: datetime
    caught_up: datetime
    shards: Mapping[str, tuple[str | None, bool]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """What a store holds; without a base, nothing that can be asked."""

    base: Base | None = None
    following: Following | None = None

    @property
    def as_of(self) -> datetime | None:
        """The instant up to which every change is surely in; None without a base.

        It stands still while nobody follows the stream.
        """
        if self.base is None:
            return None
        if self.following is None or not self.changed:
            return self.base.began
        return self.following.caught_up

    @property
    def changed(self) -> bool:
        """Whether the changes count: not before they reach beyond the beginning of the export.

        Until then they could take a comment back to what it was before.
        """
        return (
            self.base is not None
            and self.following is not None
            and self.following.stream == self.base.stream
            and self.following.began <= self.base.began <= self.following.caught_up
        )


class ChangedComment(NamedTuple):
    """A comment as a record of the stream left it; ``created_at`` is None of one that is gone.

    Of one comment, the change of the greatest ``sequence`` came last: it is a text of fixed width.
    """

    id: str
    sequence: str
    product_id: str
    rating: int
    language: str
    created_at: datetime | None


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
        """What it is, in a word."""

    async def state(self) -> State:
        """Return what it holds."""

    async def ask(self, question: Question, state: State) -> Result:
        """Answer a question of what it held at ``state``."""

    async def kept(self) -> Collection[str]:
        """Return what holds the changes of now, if that may go once a later export counts."""

    async def fill(
        self,
        parquet: Path,
        began: datetime,
        stream: str | None,
        covered: Collection[str] = (),
    ) -> Base:
        """Put an export in the place of the one before, at once for whoever asks.

        ``covered`` is what was ``kept`` before it began: those changes are in it.
        """

    async def append(self, run: str, changes: Sequence[ChangedComment]) -> None:
        """Keep changes of a run for good; one that comes again changes nothing."""

    async def follow(self, following: Following) -> None:
        """Keep how far a run is; changes of other runs may go."""

    async def close(self) -> None:
        """Let go of what it has open."""
