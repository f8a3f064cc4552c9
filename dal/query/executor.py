"""The executor: has a query planned, and reads its first rows by the plan."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from cachetools import LRUCache

from dal.entities.entity import Row
from dal.instrumentation import READ_INSTRUMENTS
from dal.query.access_paths import AccessPath, access_paths
from dal.query.alternatives import alternatives, full_pages
from dal.query.cardinality import PageSpan
from dal.query.execution_stats import ExecutionStatistics
from dal.query.merge import Merge
from dal.query.optimizer import optimize, prove, whole_pages, worth_proving
from dal.query.plan import Plan
from dal.query.plan_basis import UNKNOWING, CountsAlone, PlanBasis
from dal.query.protocols import StatisticsProvider, TableStatistics
from dal.query.query import Query
from dal.query.segments import PageProgress, SegmentReader
from dal.query.trace import Purpose
from dal.table.index import Index
from dal.table.ranges import Range
from dal.table.requests import RunQuery

KEPT_SEGMENTS = 20_000
"""Segments of the queries whose access paths are kept: about a kilobyte each."""


def _segments(paths: Sequence[AccessPath]) -> int:
    return sum(path.size for path in paths)


@dataclass(frozen=True, slots=True)
class Executor:
    """Reads rows of one entity: plans, merges the segments, drops what does not pass."""

    run: RunQuery
    indexes: Sequence[Index]
    statistics: StatisticsProvider | None = None
    _paths: LRUCache[Query, Sequence[AccessPath]] = field(
        default_factory=partial(LRUCache, KEPT_SEGMENTS, _segments)
    )

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
        """Return the first ``count`` rows of ``query`` within ``span``."""
        paths = self._paths_of(query)
        page = PageSpan(query.bounded(span), count, descending)
        plan = await self._plan(paths, page, stats, plan_by)
        stats.begin(plan)
        rows: list[Row] = []
        progress = PageProgress(count)
        reached = await self._collect(plan, stats, rows, progress)
        if reached is not None:
            rest = page.span.beyond(reached, descending=descending)
            plan = optimize(paths, PageSpan(rest, progress.missing, descending), None)
            stats.step(Purpose.REST, plan)
            await self._collect(plan, stats, rows, progress)
        if self.statistics is not None:
            self.statistics.observe(query, progress.reads)
        return rows

    async def any(
        self, query: Query, span: Range, stats: ExecutionStatistics, *, descending: bool
    ) -> bool:
        """Return whether ``query`` has a row within ``span``."""
        page = PageSpan(query.bounded(span), 1, descending)
        rows: list[Row] = []
        plan = optimize(self._paths_of(query), page, None)
        stats.step(Purpose.FLAGS, plan)
        await self._collect(plan, stats, rows, PageProgress(1))
        return bool(rows)

    def _paths_of(self, query: Query) -> Sequence[AccessPath]:
        paths = self._paths.get(query)
        if paths is None:
            paths = self._paths[query] = access_paths(self.indexes, query)
        return paths

    async def _plan(
        self,
        paths: Sequence[AccessPath],
        page: PageSpan,
        stats: ExecutionStatistics,
        plan_by: PlanBasis | None,
    ) -> Plan:
        """Return the plan; statistics are asked for only where there is a choice."""
        query, decided = paths[0].query, paths[0].size <= 1 and not paths[0].residual
        decided = decided or plan_by in UNKNOWING
        known: TableStatistics | None = None
        if self.statistics is not None and not (decided or page.limit == 0 or page.span.empty):
            known = await self.statistics.inexact(query, stats)
        if known is not None and plan_by is PlanBasis.COUNTS:
            known = CountsAlone(known)
        if plan_by is PlanBasis.FULL_PAGES:
            plan = whole_pages(paths[0], page)
        else:
            plan = optimize(paths, page, known)
        if stats.trace is not None:
            stats.trace.alternatives = alternatives(self.indexes, paths, page, known, plan)
            stats.trace.full = full_pages(paths[0], page, known)
        if self.statistics is None or not worth_proving(plan):
            return plan
        keys = [segment.key for segment in plan.segments]
        return prove(plan, await self.statistics.empty(query, keys, stats))

    async def _collect(
        self, plan: Plan, stats: ExecutionStatistics, rows: list[Row], progress: PageProgress
    ) -> str | None:
        """Add the rows that are missing; return the position to plan anew from, None if complete.

        That is where the discard limit was passed, or where the page was expected to end.
        """
        instruments = READ_INSTRUMENTS.get()
        reading = self._merge(plan, stats, rows, progress)
        return await (
            reading if instruments is None else instruments.plan(plan, stats.segments, reading)
        )

    async def _merge(
        self, plan: Plan, stats: ExecutionStatistics, rows: list[Row], progress: PageProgress
    ) -> str | None:
        discardable = plan.discard_limit
        readers = [SegmentReader(self.run, plan, one, stats, progress) for one in plan.segments]
        merged = Merge(readers, descending=plan.descending)
        while progress.missing:
            came = await merged.more()
            if not came:
                return plan.until
            for row in came:
                if not plan.residual or plan.passes(row.item):
                    rows.append(row)
                    progress.missing -= 1
                    if progress.missing == 0:
                        return None
                else:
                    discardable -= 1
                    if discardable < 0:
                        return row.position
        return None
