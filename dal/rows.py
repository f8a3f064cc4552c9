"""Rows: the first so many of a query within a range, by the plan that the profile suggests."""

from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import Protocol

from dal.costs import REQUEST, capacity
from dal.indexes import Index
from dal.items import Item
from dal.merge import merge
from dal.planner import plan
from dal.plans import Plan, Profile, Query
from dal.positions import Range
from dal.reading import Reading
from dal.requests import RunQuery
from dal.segments import Wanted, segment_rows
from dal.timelines import Sighting

Row = tuple[str, Item]
"""A position and the item that stands there."""

_PROOF = 1.0 + REQUEST
_EMPTY_SEGMENT = capacity(1, 1) + REQUEST
"""What it costs to prove which segments are empty, and to read one that is."""


class Profiles(Protocol):
    """Knows the data that queries read; what it spends to know it goes into the reading."""

    async def recent(self, query: Query, reading: Reading) -> Profile | None:
        """Return a profile that may lag by seconds; None when nothing is known."""

    async def certain(self, query: Query, reading: Reading) -> Profile | None:
        """Return a profile read now, which proves absence if anything can."""

    def learn(self, query: Query, seen: Sequence[Sighting]) -> None:
        """Take note of what was read."""


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of one kind: plans, streams the segments, merges, drops what does not pass."""

    run: RunQuery
    indexes: Sequence[Index]
    profiles: Profiles | None = None

    async def first(
        self, query: Query, span: Range, reading: Reading, *, descending: bool, count: int
    ) -> list[Row]:
        """Return the first ``count`` rows of ``query`` within ``span``."""
        whole = await self._plan(query, span, reading, descending=descending, count=count)
        reading.begin(whole)
        rows: list[Row] = []
        wanted = Wanted(count)
        reached = await self._collect(whole, reading, rows, wanted)
        if reached is not None:
            exact = plan(
                self.indexes,
                query,
                span.beyond(reached, descending=descending),
                descending=descending,
                limit=wanted.rows,
            )
            await self._collect(exact, reading, rows, wanted)
        if self.profiles is not None:
            self.profiles.learn(query, wanted.seen)
        return rows

    async def any(self, query: Query, span: Range, reading: Reading, *, descending: bool) -> bool:
        """Return whether ``query`` has a row within ``span``."""
        probe = plan(self.indexes, query, span, descending=descending, limit=1)
        rows: list[Row] = []
        await self._collect(probe, reading, rows, Wanted(1))
        return bool(rows)

    async def _plan(
        self, query: Query, span: Range, reading: Reading, *, descending: bool, count: int
    ) -> Plan:
        def planned(profile: Profile | None) -> Plan:
            return plan(
                self.indexes, query, span, descending=descending, limit=count, profile=profile
            )

        plain = planned(None)
        if self.profiles is None or count == 0 or len(plain.segments) <= 1:
            return plain  # there is nothing to choose
        whole = planned(await self.profiles.recent(query, reading))
        if whole.doubtful * _EMPTY_SEGMENT <= _PROOF:
            return whole
        return planned(await self.profiles.certain(query, reading))

    async def _collect(
        self, whole: Plan, reading: Reading, rows: list[Row], wanted: Wanted
    ) -> str | None:
        """Add the rows that are ``wanted``; return the position to plan anew from, if need be.

        It is where patience ended, or where the page was remembered to end, if it goes on now.
        """
        if wanted.rows == 0:
            return None
        patience = whole.patience(wanted.rows)
        async with AsyncExitStack() as stack:
            streams = [
                segment_rows(self.run, whole, one, reading, wanted) for one in whole.segments
            ]
            for stream in streams:
                stack.push_async_callback(stream.aclose)
            merged = merge(streams, descending=whole.descending)
            await stack.enter_async_context(aclosing(merged))
            async for position, row in merged:
                if whole.keeps(row):
                    rows.append((position, row))
                    wanted.rows -= 1
                    if wanted.rows == 0:
                        return None
                else:
                    patience -= 1
                    if patience < 0:
                        return position
        return whole.until
