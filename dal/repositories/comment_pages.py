"""Pages of comments, over however many shards they are spread at the moment."""

from dal.entities.comment import COMMENT
from dal.entities.shard_layout import PLAIN, ShardLayout
from dal.model import Comment
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.query import Query
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.statistics.reader import StatisticsReader
from dal.statistics.table_statistics import ProductStatisticsProvider, by_index
from dal.table.client import Table


class CommentPages:
    """Reads pages of comments by the number of shards that the table announces."""

    def __init__(
        self, table: Table, statistics: StatisticsReader, maintenance: MaintenanceStore
    ) -> None:
        self._run = table.query
        self._maintenance = maintenance
        self._provider = ProductStatisticsProvider(table.query, statistics, maintenance)
        self._layout, self._reader = PLAIN, self._reader_of(PLAIN)

    async def read(self, query: Query, cut: Slice) -> Page[Comment]:
        """Return the rows of ``query`` that ``cut`` selects."""
        layout = await self._maintenance.layout()
        if layout != self._layout:
            self._layout, self._reader = layout, self._reader_of(layout)
        if layout.step:
            query = by_index(query, layout.read)
        return await self._reader.read(query, cut)

    def _reader_of(self, layout: ShardLayout) -> PageReader[Comment]:
        self._provider.indexes = layout.read
        executor = Executor(self._run, layout.read, self._provider)
        return PageReader(executor, COMMENT.decode_row, descending=True)
