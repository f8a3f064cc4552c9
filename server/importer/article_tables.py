"""A table laid out as in the articles, at any endpoint, read in an event loop of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from functools import cached_property

from dal.errors import StoreRefusedError
from dal.table.client import TableAddress, connect
from dal.table.item import Item
from dal.table.other_table import OtherTable
from server.errors import CommandError
from server.importer.article_rows import refuse_ours


class ArticleTable:
    """The items of another table; it is opened when the first is asked for.

    Raises DalError, and CommandError for a table of Marginalia's own.
    """

    def __init__(self, name: str, endpoint_url: str | None, runner: asyncio.Runner) -> None:
        self.name = name
        self._address = TableAddress(name, endpoint_url)
        self._elsewhere = endpoint_url is not None
        self._runner = runner
        self._opened = AsyncExitStack()

    def beside(self, target: TableAddress) -> None:
        """Take note of the table to load into: without an endpoint of its own, this is beside it.

        CommandError when it is the same one.
        """
        if not self._elsewhere:
            self._address = replace(target, table=self.name)
        if self._address == target:
            raise CommandError(f"{self.name} is the table to load into: name another to read.")

    @property
    def partition_key(self) -> str:
        """Return the name of the table's partition key."""
        return self._table.partition_key

    @property
    def sort_key(self) -> str | None:
        """Return the name of its sort key."""
        return self._table.sort_key

    @property
    def keys(self) -> set[str]:
        """Return the attributes that are keys of the table or of an index."""
        return self._table.keys

    def __iter__(self) -> Iterator[Item]:
        pages = self._table.pages()
        while (page := self._runner.run(_next(pages))) is not None:
            yield from page

    def collection(self, partition: str) -> Sequence[Item]:
        """Return the items of one partition."""
        return self._runner.run(self._table.collection(partition))

    def with_sort_key(self, sort: str) -> Sequence[Item]:
        """Return the items of one sort key, where an index finds them."""
        return self._runner.run(self._table.with_sort_key(sort))

    def close(self) -> None:
        """Close its connections."""
        self._runner.run(self._opened.aclose())

    @cached_property
    def _table(self) -> OtherTable:
        return self._runner.run(self._open())

    async def _open(self) -> OtherTable:
        client = await self._opened.enter_async_context(connect(self._address))
        try:
            table = await OtherTable.open(client)
        except StoreRefusedError as error:
            raise CommandError(
                f"The table {self.name} to load from is not there, or may not be read by you: "
                "check --from-table and --from-endpoint-url."
            ) from error
        refuse_ours(self.name, table.indexes)
        return table


@contextmanager
def article_table(name: str, endpoint_url: str | None) -> Iterator[ArticleTable]:
    """Make a table ready to be read; ``endpoint_url`` None is where the target is."""
    with asyncio.Runner() as runner:
        table = ArticleTable(name, endpoint_url, runner)
        try:
            yield table
        finally:
            table.close()


async def _next(pages: AsyncIterator[Sequence[Item]]) -> Sequence[Item] | None:
    return await anext(pages, None)
