"""Comments: pages, look-ups, and conditional writes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from dal import errors
from dal.client.concurrency import both
from dal.client.retries import retry_on_conflict
from dal.client.table import Table
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_key, comment_position, is_tombstone
from dal.model import RATINGS, Comment, ProductDetails
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, SharedReads, Slice
from dal.query.plan import Query
from dal.repositories.bulk_write import BulkWriter, Outcome
from dal.statistics.boards import Boards
from dal.statistics.comment_changes import CommentChange, CommentObserver
from dal.statistics.counter_transaction import CounterTransactions
from dal.statistics.counts import CommentStatistics
from dal.statistics.mode import MaintenanceStore
from dal.statistics.reader import ProductStatisticsProvider, StatisticsReader
from dal.table.index import Spend
from dal.table.items import Item
from dal.table.ranges import between

POSITIVE = frozenset({4, 5})
NEGATIVE = frozenset({1, 2})


@dataclass(frozen=True, slots=True)
class Selection:
    """Comments of a product: None is any rating or language, an empty set none at all.

    ``created_from`` is inclusive, ``created_before`` exclusive.
    """

    product_id: str
    ratings: frozenset[int] | None = None
    languages: frozenset[str] | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None

    def query(self) -> Query:
        """Return the query of this selection; all five ratings are any rating."""
        filters = {"product": frozenset({self.product_id})}
        ratings = None if self.ratings == frozenset(RATINGS) else self.ratings
        if self.languages is not None:
            filters["language"] = self.languages
        if ratings is not None:
            filters["rating"] = frozenset(map(str, ratings))
        return query_of(filters, between(self.created_from, self.created_before))


@dataclass(frozen=True, slots=True)
class AuthorSelection:
    """Comments of an author: ``created_from`` is inclusive, ``created_before`` exclusive."""

    username: str
    created_from: datetime | None = None
    created_before: datetime | None = None

    def query(self) -> Query:
        """Return the query of this selection."""
        author = {"author": frozenset({self.username})}
        return query_of(author, between(self.created_from, self.created_before))


_query_of = lru_cache(maxsize=500)(Selection.query)


class CommentRepository:
    """All access to comments."""

    def __init__(
        self,
        table: Table,
        statistics: StatisticsReader,
        maintenance: MaintenanceStore,
        boards: Boards,
        observer: CommentObserver | None = None,
    ) -> None:
        self._table = table
        self._statistics = statistics
        self._maintenance = maintenance
        self._writes = CounterTransactions(table, self._written, maintenance, boards, observer)
        self._bulk = BulkWriter(table, self._writes)
        provider = ProductStatisticsProvider(table.query, statistics, maintenance)
        executor = Executor(table.query, COMMENT.indexes, provider)
        self._pages = PageReader(executor, COMMENT.decode_row, descending=True)
        self._by_author = PageReader(
            Executor(table.query, COMMENT.indexes), COMMENT.decode_row, descending=True
        )
        self._shared = SharedReads[Page[Comment]]()

    async def page(self, selection: Selection, cut: Slice) -> Page[Comment]:
        """Return one page of a product's comments; simultaneous requests may share one read."""
        read = partial(self._pages.read, _query_of(selection), cut)
        return await self._shared.read((selection, cut), read)

    async def page_of_author(self, selection: AuthorSelection, cut: Slice) -> Page[Comment]:
        """Return one page of an author's comments, eventually consistent: the index is global."""
        return await self._by_author.read(selection.query(), cut)

    def _written(self, product_ids: Iterable[str]) -> None:
        self._statistics.forget(product_ids)
        self._shared.forget()

    async def counted_page(self, selection: Selection, cut: Slice) -> Page[Comment]:
        """Return one page with its ``total_count``, which is the error if the counting failed."""
        spent: list[float] = []

        async def total_or_error() -> int | errors.DalError | None:
            try:
                return await self.total(selection, spent.append)
            except errors.DalError as error:
                return error

        page, total = await both(self.page(selection, cut), total_or_error())
        stats = replace(page.stats)  # other requests may share the page, without its total
        for capacity in spent:
            stats.spend(capacity)
        return replace(page, stats=stats, total_count=total)

    async def newest(self, selection: Selection) -> Comment | None:
        """Return the most recent comment of a selection."""
        page = await self.page(selection, Slice(limit=1))
        return page.nodes[0] if page.edges else None

    async def total(self, selection: Selection, spend: Spend | None = None) -> int | None:
        """Return how many comments a selection has, including every acknowledged write.

        None if the selection has dates, as comments are not counted by time, or if the counters may
        lag behind the comments.
        """
        query = _query_of(selection)
        if query.within.empty:
            return 0
        if not (await self._maintenance.current()).exact:
            return None
        statistics = await self._statistics.read(selection.product_id, consistent=True, spend=spend)
        return statistics.count(query)

    async def counted(self) -> bool:
        """Return whether comments are counted: in mode stream not before a rebuild."""
        return await self._maintenance.counted()

    async def statistics_and_details(
        self, product_id: str
    ) -> tuple[CommentStatistics, ProductDetails]:
        """Return a product's counts and its details, by one Query."""
        return await self._statistics.read_with_details(product_id)

    async def get(self, comment_id: str) -> Comment | None:
        """Return a comment by its id, as the latest acknowledged write left it."""
        item = await self._item(comment_id)
        return None if item is None else COMMENT.decode(item)

    async def _item(self, comment_id: str) -> Item | None:
        """Return the item of a comment; None for a deleted comment's tombstone."""
        item = await self._table.get(comment_key(comment_id))
        return None if item is None or is_tombstone(item) else item

    async def get_many(self, comment_ids: Sequence[str]) -> dict[str, Comment]:
        """Return the comments among ``comment_ids`` that exist, by id, in one request per 100."""
        items = await self._table.get_many([comment_key(one) for one in set(comment_ids)])
        found = [COMMENT.decode(item) for item in items if not is_tombstone(item)]
        return {comment.comment_id: comment for comment in found}

    async def add(
        self, comment: Comment, idempotency_key: str | None = None, *, dated: bool = True
    ) -> Edge[Comment]:
        """Store a new comment once.

        With an idempotency key the comment's id follows from its author and the key, so a second
        add with both returns the comment of the first. A comment that is not ``dated`` gets the
        instant at which its write is built. Raises IdempotencyKeyReusedError if the second add has
        other contents, and NotFoundError if the comment was deleted since.
        """
        mark: Item = {}
        if idempotency_key is not None:
            comment_id = idempotency.comment_id(comment.username, idempotency_key)
            comment = comment._replace(comment_id=comment_id)
            mark = idempotency.mark(comment)
        change = CommentChange(None, comment, mark, dated)
        try:
            await self._writes.write(change)
        except errors.ConditionFailedError:
            stored = await self._added_before(comment, keyed=idempotency_key is not None)
        else:
            stored = change.new or comment
        return Edge(stored, comment_position(stored))

    async def update(
        self, comment_id: str, changes: Mapping[str, Any], check: Callable[[Comment], None]
    ) -> Edge[Comment]:
        """Change fields of a comment; it keeps its date.

        ``check`` raises an error to refuse the change. Raises NotFoundError without the comment,
        and ConflictError if other writes keep changing it.
        """

        def edited(comment: Comment) -> Comment:
            return comment._replace(**changes, updated_at=datetime.now(UTC))

        comment = await self._rewrite(comment_id, check, edited)
        return Edge(comment, comment_position(comment))

    async def delete(self, comment_id: str, check: Callable[[Comment], None]) -> Comment:
        """Delete a comment and return it; ``check`` and the errors are those of ``update``."""
        return await self._rewrite(comment_id, check, None)

    async def put_many(self, comments: Sequence[Comment]) -> Outcome:
        """Write comments over what their ids hold; of two with one id the last is written."""
        return await self._bulk.put(comments)

    async def _rewrite(
        self,
        comment_id: str,
        check: Callable[[Comment], None],
        edited: Callable[[Comment], Comment] | None,
    ) -> Comment:
        """Replace a comment, or delete it, on condition that it has not changed since its read."""

        async def attempt() -> Comment:
            item = await self._item(comment_id)
            if item is None:
                raise errors.NotFoundError("Comment not found.")
            old = COMMENT.decode(item)
            check(old)
            new = None if edited is None else edited(old)
            try:
                await self._writes.write(CommentChange(item, new))
            except errors.ConditionFailedError:
                raise errors.ConflictError(
                    "This comment keeps being changed elsewhere: try again in a moment."
                ) from None
            return new or old

        return await retry_on_conflict(attempt)

    async def _added_before(self, comment: Comment, *, keyed: bool) -> Comment:
        """Return the comment that an earlier attempt of the same add stored."""
        item = await self._table.get(comment_key(comment.comment_id))
        if item is not None and keyed:
            idempotency.check_same(item, comment)
        if item is None or is_tombstone(item):
            raise errors.NotFoundError("This comment was added before and deleted since.")
        stored = COMMENT.decode(item)
        # An earlier attempt with a lost answer may have written an earlier date.
        if not keyed and stored._replace(created_at=comment.created_at) != comment:
            raise errors.AlreadyExistsError("Another comment has this id.")
        return stored
