"""Stages: a list in another order than by date is a concatenation of lists by date.

HIGHEST_RATING lists the comments rated 5 by date, then those rated 4, and so on. A stage is one of
these lists. Its query is planned and read like any other list, so an order needs no index. A
position is the stage's prefix and the position by date. The positions of every order descend:

    h5#2024-02-01…#b    h5#2024-01-01…#a    h4#2024-03-01…#c

A comment that keeps its rank is in a walk exactly once. A comment whose rank changes meanwhile may
be missing, or occur twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from dal.client.concurrency import in_parallel
from dal.entities.entity import Row
from dal.model import RATINGS
from dal.model.key_parts import LAST_CHARACTER
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import rank_prefix
from dal.query.plan import WITHOUT_STATISTICS, Order, PlanBasis, Query
from dal.query.trace import ExecutionStatistics, Trace
from dal.table.ranges import Range


class Stage(NamedTuple):
    """The rows of one rank: their query, and the prefix of their positions."""

    prefix: str
    query: Query

    def part(self, span: Range) -> Range:
        """Return the part of ``span`` in this stage, as positions of the stage's query."""
        whole = Range(self.prefix, self.prefix + LAST_CHARACTER)
        within = span & whole
        size = len(self.prefix)
        low = None if within.low == whole.low else within.low
        high = None if within.high == whole.high else within.high
        if within.empty:
            return Range("", "", high_open=True)
        return Range(low and low[size:], high and high[size:], within.low_open, within.high_open)


@lru_cache(maxsize=500)
def stages(query: Query) -> Sequence[Stage]:
    """Return the stages of a list, in descending order of positions."""
    order, ratings = query.order, query.filters.get("rating")
    assert order is not None  # noqa: S101 - lists by date have no stages
    wanted = [rating for rating in RATINGS if ratings is None or str(rating) in ratings]
    found = []
    for rating in wanted:
        filters = {**query.filters, "rating": frozenset({str(rating)})}
        rank = rating if order is Order.HIGHEST_RATING else max(RATINGS) + 1 - rating
        found.append(Stage(rank_prefix(order, rank), query_of(filters, query.within)))
    # A list of no rating has a plan too: it reads nothing.
    nothing = Stage(rank_prefix(order, 0), query_of(query.filters, query.within))
    return sorted(found, key=itemgetter(0), reverse=True) or [nothing]


def by_date(row: Row) -> Row:
    """Return a row of a list with stages at its position by date."""
    return row._replace(position=row.position.partition("#")[2])


@dataclass(frozen=True, slots=True)
class StageReader:
    """Reads lists with stages. It has the interface of ``Executor``, which reads each stage."""

    executor: Executor

    async def first(
        self,
        query: Query,
        span: Range,
        stats: ExecutionStatistics,
        *,
        descending: bool,
        count: int,
        plan_by: PlanBasis | None = None,
    ) -> list[Row]:
        """Return the first ``count`` rows of ``query`` within ``span``.

        The page begins in one stage. If that stage does not fill the page, the counts tell how many
        of the next stages to read in parallel. The counts never skip a stage.
        """
        left = _parts(query, span, descending=descending)
        rows: dict[str, Row] = {}
        missing, together = count, 1
        while left:
            batch, left = left[:together], left[together:]
            costs = [_statistics(stage, stats) for stage, _ in batch]
            found = await in_parallel(
                [
                    self.executor.first(
                        stage.query,
                        part,
                        cost,
                        descending=descending,
                        count=missing,
                        plan_by=plan_by,
                    )
                    for (stage, part), cost in zip(batch, costs, strict=True)
                ]
            )
            for (stage, _), cost in zip(batch, costs, strict=True):
                stats.add(cost, stage.prefix)
            for number, ((stage, part), read) in enumerate(zip(batch, found, strict=True)):
                for row in read:
                    ranked = row._replace(position=stage.prefix + row.position)
                    rows.setdefault(row.position, ranked)
                if len(rows) < count and len(read) == missing:
                    # A row whose rank has just changed was in two stages, and the page shows it
                    # once. So this stage may have further rows before those of the next stage.
                    rest = part.beyond(read[-1].position, descending=descending)
                    left = [(stage, rest), *batch[number + 1 :], *left]
                    break
            missing, together = count - len(rows), 1
            if missing <= 0:
                break
            if len(left) > 1:
                together = await self._together(query, left, missing, stats, plan_by)
        return list(rows.values())[:count]

    async def any(
        self, query: Query, span: Range, stats: ExecutionStatistics, *, descending: bool
    ) -> bool:
        """Return whether ``query`` has a row within ``span``."""
        for stage, part in _parts(query, span, descending=descending):
            mine = _statistics(stage, stats)
            found = await self.executor.any(stage.query, part, mine, descending=descending)
            stats.add(mine, stage.prefix)
            if found:
                return True
        return False

    async def _together(
        self,
        query: Query,
        left: Sequence[tuple[Stage, Range]],
        missing: int,
        stats: ExecutionStatistics,
        plan_by: PlanBasis | None,
    ) -> int:
        """Return how many of the stages ``left`` are expected to have the ``missing`` rows.

        Without counts the table has few comments, or is new: all of them.
        """
        known = None
        if self.executor.statistics is not None and plan_by not in WITHOUT_STATISTICS:
            known = await self.executor.statistics.inexact(query, stats)
        if known is None:
            return len(left)
        part, expected = known.fraction(query.within), 0.0
        for number, (stage, _) in enumerate(left, 1):
            expected += known.cardinality(stage.query.filters) * part
            if expected >= missing:
                return number
        return len(left)


def _parts(query: Query, span: Range, *, descending: bool) -> Sequence[tuple[Stage, Range]]:
    """Return each stage that ``span`` enters with its part, in the direction of the walk."""
    every = [(stage, stage.part(span)) for stage in stages(query)]
    found = [one for one in every if not one[1].empty] or every[:1]
    return found if descending else found[::-1]


def _statistics(stage: Stage, of: ExecutionStatistics) -> ExecutionStatistics:
    """Return statistics of the read of one stage, traced if the whole page is traced."""
    trace = None if of.trace is None else Trace(descending=of.trace.descending)
    return ExecutionStatistics(stage.query.access_pattern, trace=trace)
