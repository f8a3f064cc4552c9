"""Stages: reads a list that is sorted by rating or by votes, as a sequence of other lists.

Each list in the sequence is a stage, and is read from an index. The order HIGHEST_RATING has one
stage for each rating: first the comments rated 5, then the comments rated 4, and so on. Each of
these stages is sorted by date, newest first. MOST_HELPFUL has two stages: the comments with helpful
votes, in the order of the index ``byHelpful``, and then the other comments by date. A stage's query
is planned and read like the query of any other list.

A position consists of the stage's prefix and the position in the stage. In all these orders, the
list begins with the highest position. These are the positions of the rows of two lists, in the
order HIGHEST_RATING (first line) and in the order MOST_HELPFUL (second line):

    h5#2024-02-01…#b   h5#2024-01-01…#a   h4#2024-03-01…#c
    v000000000002#2024-01-01…#a   v000000000000#2024-03-01…#c

A client that reads all pages gets each comment exactly once, if the comment's rank (its rating, or
its number of helpful votes) does not change meanwhile. If the rank changes, the comment may be
missing, or occur twice.

If few comments pass the filters, a page would read much of ``byHelpful`` to find them, or each
rating of a sparse index. In that case the server reads the filtered list by date, and sorts it in
memory. It does the same if the stages need more than a few further Queries, because a filter by an
uncounted field drops more rows than expected. A list by votes with a first or last date is sorted
in memory too, because ``byHelpful`` is not sorted by date. A search for words has no index, so its
stages may need more Queries, up to a maximum number of rows.
A comment has the same position in both cases, so cursors stay valid if the next page is read in the
other way.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from dal.catalogue import Order, query_of
from dal.dynamodb.concurrency import in_parallel
from dal.entities.comment import BOOLEANS, COMMENT, HELPFUL, SEARCHED
from dal.model import RATINGS
from dal.query.cursors import rank_prefix
from dal.query.errors import NoIndexError
from dal.query.executor import Executor
from dal.query.optimizer import TableStatistics
from dal.query.plan import WITHOUT_STATISTICS, PlanBasis, Query, too_rare
from dal.query.statistics import ExecutionStatistics
from dal.table.entity import Row
from dal.table.errors import DalError
from dal.table.index import QueryRequest, QueryResponse, RunQuery
from dal.table.key_parts import LAST_CHARACTER
from dal.table.ranges import UNBOUNDED, Range

MAX_SORTED_ROWS = 2_000
"""Maximum estimated rows (about 1 MB) that the server reads for a page of filtered comments, sorted
by helpful votes. If the estimate is higher, the server refuses the page before the read. If the
estimate was too low, and the page reads more than twice this maximum, the page ends with an
error."""

_VOTED = "v"
"""The prefix of the stage of comments with votes. A position in ``byHelpful`` already begins with
the number of votes, so this prefix contains no number."""

_MOST_FURTHER = 2
"""Maximum Queries of the stages of a page in addition to one for each segment, if a filter by an
uncounted field may have a wrong estimate."""

_TOO_MANY = (
    "To sort these comments by helpful votes, the server would have to read more than "
    f"{MAX_SORTED_ROWS:,} comments: choose other filters or dates, or another order."
)


class Stage(NamedTuple):
    """A stage: its query, the prefix of its positions, and a lower bound of its positions."""

    prefix: str
    query: Query
    lowest: str

    def part(self, span: Range) -> Range:
        """Return the part of ``span`` that is in this stage, as positions of the stage's query.

        Return an empty range if ``span`` has no part in this stage.
        """
        whole = Range(self.lowest, self.prefix + LAST_CHARACTER)
        within = span & whole
        if within.empty:
            return Range("", "", high_open=True)
        size = len(self.prefix)
        low = None if within.low == whole.low else within.low
        high = None if within.high == whole.high else within.high
        return Range(low and low[size:], high and high[size:], within.low_open, within.high_open)

    def place(self, row: Row) -> Row:
        """Return a row of the stage with its position in the whole list."""
        return row._replace(position=self.prefix + row.position)


@lru_cache(maxsize=500)
def stages(query: Query) -> Sequence[Stage]:
    """Return the stages of a list, in descending order of positions."""
    order, filters = Order(str(query.order)), query.filters
    if order is Order.MOST_HELPFUL:
        voted = query_of({**filters, "voted": frozenset({"true"})})
        others = Query(
            query.access_pattern, {**filters, "voted": frozenset({"false"})}, query.within
        )
        return [
            Stage(_VOTED, voted, rank_prefix(order.kind, 1)),
            Stage(rank_prefix(order.kind, 0), others, rank_prefix(order.kind, 0)),
        ]
    ratings = filters.get("rating")
    found = []
    for rating in RATINGS:
        if ratings is None or str(rating) in ratings:
            prefix = rank_prefix(order.kind, _rank(order, rating))
            rated = query_of({**filters, "rating": frozenset({str(rating)})}, query.within)
            found.append(Stage(prefix, rated, prefix))
    # If the filter by rating has no values, the list is empty. It still needs a stage, because the
    # execution statistics must name an index. The plan of this stage reads nothing.
    prefix = rank_prefix(order.kind, 0)
    nothing = Stage(prefix, query_of(filters, query.within), prefix)
    return sorted(found, key=itemgetter(0), reverse=True) or [nothing]


def _rank(order: Order, rating: int, votes: int = 0) -> int:
    """Return the rank of a comment in an order. Lists begin with the highest rank."""
    if order is Order.MOST_HELPFUL:
        return votes
    return rating if order is Order.HIGHEST_RATING else max(RATINGS) + 1 - rating


def by_date(row: Row) -> Row:
    """Return a row with its position by date, in place of its position in a list with stages."""
    return row._replace(position=row.position.partition("#")[2])


class _Reading(NamedTuple):
    """A page to read: the first ``size`` rows of ``query`` within ``span``."""

    query: Query
    span: Range
    stats: ExecutionStatistics
    descending: bool
    size: int
    plan_by: PlanBasis | None


class StageReader:
    """Reads lists with stages. An executor reads each stage."""

    def __init__(self, executor: Executor) -> None:
        self._by_date = executor
        self._helpful = Executor(executor.run, [HELPFUL], executor.statistics)

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

        Raises NoIndexError if sorting by helpful votes would read too many rows.
        """
        dated, voted, helpful = self._by_date, self._helpful, query.order == Order.MOST_HELPFUL
        page = _Reading(query, span, stats, descending, count, plan_by)
        # For all other filters, the counts predict how many rows each stage has.
        searches = SEARCHED in query.filters
        if not (helpful or searches or query.filters.keys() & BOOLEANS):
            return await self._staged(page, dated, voted)
        known = None
        if query.within != UNBOUNDED or query.filters.keys() != {"product"}:
            known = await self._known(page)
        limited = replace(dated, run=_limited(dated.run, _too_many if helpful else too_rare))
        in_memory = _is_better_in_memory(query, count, known)
        if searches and not in_memory:
            return await self._staged(page, limited, replace(voted, run=limited.run))
        if not in_memory:
            further = _few_further()
            first = replace(limited if helpful else dated, further=further)
            try:
                second = replace(voted, run=limited.run, further=further)
                return await self._staged(page, first, second)
            except _WrongEstimateError:
                pass
        try:
            rows = await _sorted(limited, page)
        except NoIndexError:
            if helpful:
                raise
            return await self._staged(page, dated, voted)
        found = [row for row in rows if not (span & Range(row[0], row[0])).empty]
        return (found if descending else found[::-1])[:count]

    async def _staged(self, page: _Reading, dated: Executor, voted: Executor) -> list[Row]:
        """Return the rows of a page, stage by stage.

        The reader first reads one stage. If that stage does not fill the page, the counts determine
        how many of the next stages are read in parallel. A stage with a count of 0 is not skipped,
        because the counts may be out of date.
        """
        query, span, stats, descending, count, plan_by = page
        # The stages that overlap ``span``, each with its part of ``span``. If there is none, the
        # first stage has an empty range, because the execution statistics must name an index.
        every = [(stage, stage.part(span)) for stage in stages(query)]
        left = [one for one in every if not one[1].empty] or every[:1]
        if not descending:
            left.reverse()
        shown: dict[str, Row] = {}
        missing, together = count, 1
        while left:
            batch, left = left[:together], left[together:]
            costs = [_statistics(stage.query, stats, stage.place) for stage, _ in batch]
            try:
                read = await in_parallel(
                    [
                        (voted if stage.prefix == _VOTED else dated).first(
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
            finally:
                for cost in costs:
                    stats.add(cost)
            for number, ((stage, part), rows) in enumerate(zip(batch, read, strict=True)):
                for row in rows:
                    shown.setdefault(row.position.rpartition("#")[2], stage.place(row))
                if len(shown) < count and len(rows) == missing:
                    # A row whose rank has just changed can be in two stages, but the page shows it
                    # once. So the page lacks rows, although this stage returned as many as
                    # requested. Read the rest of this stage before the next stage.
                    rest = part.beyond(rows[-1].position, descending=descending)
                    left = [(stage, rest), *batch[number + 1 :], *left]
                    break
            missing, together = count - len(shown), 1
            if missing <= 0:
                break
            if len(left) > 1:
                together = await self._together(page, left, missing)
        return list(shown.values())[:count]

    async def _together(
        self, page: _Reading, left: Sequence[tuple[Stage, Range]], missing: int
    ) -> int:
        """Return how many of the remaining stages ``left`` probably contain the ``missing`` rows.

        Without counts, return the number of all these stages. There are no counts, for example, if
        none of the product's comments has been counted yet.
        """
        known = await self._known(page)
        if known is None:
            return len(left)
        part, expected = known.fraction(page.query.within), 0.0
        for number, (stage, _) in enumerate(left, 1):
            expected += known.cardinality(stage.query.filters) * part
            if expected >= missing:
                return number
        return len(left)

    async def _known(self, page: _Reading) -> TableStatistics | None:
        if self._by_date.statistics is None or page.plan_by in WITHOUT_STATISTICS:
            return None
        return await self._by_date.statistics.inexact(page.query, page.stats)


class _WrongEstimateError(Exception):
    """The stages need so many further Queries that the list must be sorted in memory."""


def _few_further() -> Callable[[int], None]:
    """Return a function that raises _WrongEstimateError instead of the third further Query."""
    sent = 0

    def further(queries: int) -> None:
        nonlocal sent
        sent += queries
        if sent > _MOST_FURTHER:
            raise _WrongEstimateError

    return further


def _is_better_in_memory(query: Query, count: int, known: TableStatistics | None) -> bool:
    """Return whether sorting in memory probably reads fewer rows than reading stages.

    A list by votes with a first or last date must be sorted in memory, because ``byHelpful`` is not
    sorted by date. Raises NoIndexError if both would read too many rows.
    """
    helpful, dated = query.order == Order.MOST_HELPFUL, query.within != UNBOUNDED
    if known is None:
        return helpful and dated
    part = known.fraction(query.within)
    # No index finds the rows that match a search. So the server would read all other rows, too.
    found = {name: values for name, values in query.filters.items() if name != SEARCHED}
    read = known.cardinality(found) * part
    if not helpful:
        return read <= count
    every = known.cardinality({"product": query.filters["product"]})
    matching = known.cardinality(query.filters) * part
    in_stages = math.inf if dated else count * every / max(1, matching)
    if min(read, in_stages) > MAX_SORTED_ROWS:
        raise _too_many()
    return read <= in_stages


def _too_many() -> NoIndexError:
    return NoIndexError(_TOO_MANY)


async def _sorted(executor: Executor, page: _Reading) -> list[Row]:
    """Return all rows of a page's query, sorted in memory, in descending order of positions."""
    query, stats, plan_by = page.query, page.stats, page.plan_by
    order = Order(str(query.order))
    kind = order.kind

    def place(row: Row) -> Row:
        comment = COMMENT.decode_row(row)
        prefix = rank_prefix(kind, _rank(order, comment.rating, comment.helpful_count))
        return row._replace(position=prefix + row[0])

    dated = query_of(query.filters, query.within)
    cost = _statistics(dated, stats, place)
    try:
        rows = await executor.first(
            dated, UNBOUNDED, cost, descending=True, count=2 * MAX_SORTED_ROWS + 1, plan_by=plan_by
        )
    finally:
        stats.add(cost)
    return sorted(map(place, rows), key=itemgetter(0), reverse=True)


def _limited(run: RunQuery, refusal: Callable[[], DalError]) -> RunQuery:
    """Return a function like ``run`` that raises ``refusal()`` if it reads too many rows.

    The maximum is twice MAX_SORTED_ROWS, for all calls together.
    """
    read = 0

    async def limited(request: QueryRequest) -> QueryResponse:
        nonlocal read
        left = 2 * MAX_SORTED_ROWS - read + 1
        response = await run(replace(request, limit=min(request.limit, left)))
        read += len(response.items)
        if read > 2 * MAX_SORTED_ROWS:
            raise refusal()
        return response

    return limited


def _statistics(
    query: Query, of: ExecutionStatistics, place: Callable[[Row], Row]
) -> ExecutionStatistics:
    """Return new execution statistics for one stage of a page.

    ``of`` are the page's. ``place`` returns a row with its position in the whole list.
    """
    instruments = None if of.instruments is None else of.instruments.stage(place)
    return ExecutionStatistics(query.access_pattern, instruments=instruments, purpose=of.purpose)
