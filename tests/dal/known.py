"""A product with statistics on a fake engine, read by the same classes as in a repository."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from dal.counts import counter_items
from dal.counts.counts import deltas, summed
from dal.counts.mode import Maintenance, MaintenanceStore
from dal.counts.reader import ProductStatisticsProvider, StatisticsReader
from dal.model import Comment
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.plan import Query
from dal.sorted_lists import StageReader, by_date
from dal.table.entity import Entity
from tests.fakes import FakeEngine
from tests.oracle import walk_pages


class _Complete:
    """A transactional maintenance mode in which every comment is counted."""

    async def current(self) -> Maintenance:
        return Maintenance(complete=True)


class KnownProduct:
    """A reader of one product's pages.

    Plans use exact statistics and the row locations of earlier pages.
    """

    def __init__(self, entity: Entity[Comment], comments: Sequence[Comment], **fake: Any) -> None:
        self.engine = FakeEngine(indexes=entity.indexes, **fake)
        self.engine.put(*map(entity.encode, comments))
        counted = summed(deltas(None, comment) for comment in comments)
        self.engine.put(*counter_items.encode_all(counted))
        known = ProductStatisticsProvider(
            self.engine, StatisticsReader(self.engine), cast("MaintenanceStore", _Complete())
        )
        executor = Executor(self.engine, entity.indexes, known)
        self._pages = PageReader(executor, entity.decode_row, descending=True)
        self._in_order = PageReader(
            StageReader(executor), lambda row: entity.decode_row(by_date(row)), descending=True
        )

    async def read(self, query: Query, cut: Slice) -> Page[Comment]:
        pages = self._pages if query.order is None else self._in_order
        return await pages.read(query, cut)

    async def walk(
        self, query: Query, size: int, *, backward: bool, reverse: bool = False
    ) -> list[Comment]:
        """Return all rows in list order, page by page from one end."""
        read = partial(self.read, query)
        return await walk_pages(read, size, backward=backward, reverse=reverse)
