"""Reads of comments: pages, totals, and comments by id."""

from collections.abc import Coroutine, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from dal.catalogue import Order, query_of
from dal.counts.counts import TOTAL_FIELDS, CommentStatistics
from dal.counts.mode import MaintenanceStore
from dal.counts.reader import ProductStatisticsProvider, StatisticsReader
from dal.dynamodb.account import note_hidden
from dal.dynamodb.concurrency import SharedReads, both, in_parallel
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, SEARCHED, comment_in, comment_key
from dal.model import RATINGS, Comment
from dal.model.languages import coarser, disjoint_ranges
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.plan import Query
from dal.sorted_lists import StageReader, by_date
from dal.table.errors import DalError
from dal.table.index import Spend
from dal.table.items import Item, further_units
from dal.table.ranges import UNBOUNDED, between
from dal.writes.comments import CommentWriter


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects comments of a product, and of its ``variants`` if they are given.

    A filter that is None selects all comments; an empty set of ratings or languages selects none.
    A language is a range: ``en`` selects comments in ``en`` and in ``en-US``.
    ``created_from`` is inclusive, ``created_before`` exclusive.
    """

    product_id: str
    ratings: frozenset[int] | None = None
    languages: frozenset[str] | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    verified_only: bool = False
    """Whether to select only comments of users to whom the product was delivered."""
    has_photos: bool = False
    """Whether to select only comments with photos."""
    order: Order | None = None
    """The order of the list. None means by date."""
    variants: frozenset[str] = frozenset()
    """The ids of further products. Their comments are selected too."""
    search: str = ""
    """The words that title or text must contain: a result of ``search_of``. Empty selects all."""

    @property
    def product_ids(self) -> frozenset[str]:
        """The ids of the product and its variants."""
        return self.variants | {self.product_id}

    def filters(self) -> dict[str, frozenset[str]]:
        """Return the values that each filter allows.

        A filter with all five ratings is the same as no filter. A filter by languages also sets the
        finer filters ``locale`` and ``tag`` (see ``dal.entities.comment``), if it needs them.
        """
        filters: dict[str, frozenset[str]] = {}
        if self.languages is not None:
            filters |= _language_filters(self.languages)
        if self.ratings is not None and self.ratings != frozenset(RATINGS):
            filters["rating"] = frozenset(map(str, self.ratings))
        if self.verified_only:
            filters["verified"] = frozenset({"true"})
        if self.has_photos:
            filters["hasPhotos"] = frozenset({"true"})
        if self.search:
            filters[SEARCHED] = frozenset({self.search})
        return filters

    def query(self) -> Query:
        """Return the query of this selection."""
        filters = {"product": self.product_ids, **self.filters()}
        return query_of(filters, between(self.created_from, self.created_before), self.order)


@dataclass(frozen=True, slots=True)
class AuthorSelection:
    """Selects comments of an author. A date that is None does not filter.

    ``created_from`` is inclusive, ``created_before`` exclusive.
    """

    username: str
    created_from: datetime | None = None
    created_before: datetime | None = None

    def query(self) -> Query:
        """Return the query of this selection."""
        author = {"author": frozenset({self.username})}
        return query_of(author, between(self.created_from, self.created_before))


def _language_filters(tags: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return the filters that select the comments that the ranges ``tags`` find."""
    ranges = disjoint_ranges(tags)
    parts = [coarser(one) for one in ranges]
    filters = {"language": frozenset([one[0] for one in parts])}
    # A tag such as no-NO has two ranges, but the predicted cost is that of one partition per tag.
    if all(len(one) > 1 for one in parts) and 0 < len(ranges) <= len(tags):
        filters["locale"] = frozenset([one[1] for one in parts])
    if ranges not in filters.values():
        filters["tag"] = ranges
    return filters


_query_of = lru_cache(maxsize=500)(Selection.query)


class CommentRepository:
    """Reads published comments. ``writer`` writes published and unpublished comments."""

    def __init__(
        self,
        table: Table,
        statistics: StatisticsReader,
        maintenance: MaintenanceStore,
        writer: CommentWriter,
    ) -> None:
        self._table = table
        self.writer = writer
        self.add, self.update, self.delete = writer.add, writer.update, writer.delete
        self.reply, self.rewrite = writer.reply, writer.rewrite
        self._statistics = statistics
        self._maintenance = maintenance
        self.counted = maintenance.counted
        self.statistics_and_details = statistics.read_with_details
        provider = ProductStatisticsProvider(table.query, statistics, maintenance)
        executor = Executor(table.query, COMMENT.indexes, provider)
        self._pages = PageReader(executor, COMMENT.decode_row, descending=True)
        self._in_order = PageReader(
            StageReader(executor), lambda row: COMMENT.decode_row(by_date(row)), descending=True
        )
        self._by_author = PageReader(
            Executor(table.query, COMMENT.indexes), COMMENT.decode_row, descending=True
        )
        self._shared = SharedReads[Page[Comment]]()

    def page(
        self, selection: Selection, cut: Slice, since: Hashable = None
    ) -> Coroutine[Any, Any, Page[Comment]]:
        """Return one page of a selection's comments.

        Simultaneous requests for the same page with the same ``since`` share one read. ``since`` is
        the latest position in the log of comment events, or None if the client needs no position.
        The shared page contains all changes up to this position.
        """
        pages = self._pages if selection.order is None else self._in_order
        read = partial(pages.read, _query_of(selection), cut)
        return self._shared.read((selection, cut, since, self._table.writes), read)

    async def page_of_author(self, selection: AuthorSelection, cut: Slice) -> Page[Comment]:
        """Return one page of an author's comments.

        The page is eventually consistent, because it comes from a global index.
        """
        return await self._by_author.read(selection.query(), cut)

    async def newest_of_author(self, username: str) -> Comment | None:
        """Return an author's newest comment, by one Query of one row; None if there is none."""
        page = await self.page_of_author(AuthorSelection(username), Slice(limit=1))
        return page.nodes[0] if page.edges else None

    async def counted_page(
        self, selection: Selection, cut: Slice, since: Hashable = None
    ) -> Page[Comment]:
        """Return one page with the ``total_count`` of the selection.

        The number comes from the counters. If they do not contain the number, a page with all
        comments of the selection does, if the slice requests it. If the count fails,
        ``total_count`` is the error, and the page is still returned.
        """
        latest, query = self._maintenance.latest, _query_of(selection)
        counted = query.within == UNBOUNDED and query.filters.keys() <= TOTAL_FIELDS
        if counted and latest is not None and latest.exact:
            cut = replace(cut, total=False)  # the counters have the number
        spent: list[float] = []

        async def total_or_error() -> int | DalError | None:
            try:
                return await self.total(selection, spent.append)
            except DalError as error:
                return error

        page, total = await both(self.page(selection, cut, since), total_or_error())
        # Other requests may share the page, but they did not request the total. So the cost of the
        # total is added to a copy of the page's statistics.
        stats = replace(page.stats)
        for capacity in spent:
            stats.spend(capacity)
        return replace(page, stats=stats, total_count=page.total_count if total is None else total)

    async def newest(self, selection: Selection) -> Comment | None:
        """Return the newest comment of a selection; None if it selects no comment."""
        page = await self.page(selection, Slice(limit=1))
        return page.nodes[0] if page.edges else None

    async def total(self, selection: Selection, spend: Spend | None = None) -> int | None:
        """Return the number of comments of a selection. It includes every acknowledged write.

        Return None if the counters may be out of date, or do not contain the number, because the
        selection has dates or a filter by a field that is not counted. ``spend`` receives the RCU
        of each Query.
        """
        query = _query_of(selection)
        if query.within.empty:
            return 0
        if not query.filters.keys() <= TOTAL_FIELDS:
            return None
        if not (await self._maintenance.current()).exact:
            return None
        reads = [
            self._statistics.read(product, consistent=True, spend=spend)
            for product in selection.product_ids
        ]
        return CommentStatistics.together(await in_parallel(reads)).count(query)

    async def get(self, comment_id: str) -> Comment | None:
        """Return a comment by its id, read consistently; None if it is not published."""
        return _shown(await self._table.get(comment_key(comment_id)))

    async def get_many(self, comment_ids: Sequence[str]) -> dict[str, Comment]:
        """Return the published comments among ``comment_ids``, by id.

        The method sends one request per 100 ids.
        """
        items = await self._table.get_many([comment_key(one) for one in set(comment_ids)])
        return {one.comment_id: one for item in items if (one := _shown(item)) is not None}


def _shown(item: Item | None) -> Comment | None:
    """Return the comment of an item; None if it is not published.

    For an unpublished comment, the reported cost is that of a missing comment. So the cost does not
    show that the comment exists.
    """
    comment = comment_in(item)
    if comment is None and item is not None:
        note_hidden(further_units(item))
    return comment
