"""Pages of the comments of one author, where the table has the optional index of them."""

from dataclasses import dataclass
from datetime import datetime

from dal.entities.comment import COMMENT
from dal.errors import NoOptionalIndexError
from dal.model import Comment
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.query import Query
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.table.client import Table
from dal.table.ranges import between


@dataclass(frozen=True, slots=True)
class AuthorSelection:
    """Which comments of an author: ``created_from`` is included, ``created_before`` is not."""

    username: str
    created_from: datetime | None = None
    created_before: datetime | None = None

    def query(self) -> Query:
        """Return the query of this selection."""
        author = {"author": frozenset({self.username})}
        return query_of(author, between(self.created_from, self.created_before))


class AuthorPages:
    """Reads pages by author. They are eventually consistent, as the index is global."""

    def __init__(self, table: Table, maintenance: MaintenanceStore) -> None:
        self._maintenance = maintenance
        executor = Executor(table.query, COMMENT.optional)
        self._pages = PageReader(executor, COMMENT.decode_row, descending=True)

    @property
    def listed(self) -> bool:
        """Whether the table has the index, as far as is known."""
        latest = self._maintenance.latest
        return latest is not None and latest.author_index

    async def page(self, selection: AuthorSelection, cut: Slice) -> Page[Comment]:
        """Return one page; NoOptionalIndexError where the table has no such index."""
        if not await self._maintenance.author_index():
            raise NoOptionalIndexError(
                "This table does not list comments by author: `marginalia table upgrade "
                "--author-index` adds the index byAuthor, which costs each comment a write unit."
            )
        return await self._pages.read(selection.query(), cut)
