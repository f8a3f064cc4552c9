"""The real schema over a repository that records its calls."""

from collections.abc import Hashable
from typing import Any, cast

from dal.dynamodb.table import Table
from dal.dynamodb.wire import Service
from dal.model import Comment
from dal.query.pagination import Page, PageInfo, Slice
from dal.query.statistics import ExecutionStatistics
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from resolvers.context import Context
from schema.build import build_schema

SCHEMA = build_schema()
NOBODY = cast(Service, None)
STORES = Stores(Table(NOBODY, "no table"))


class RecordingStore(CommentRepository):
    """Returns empty pages. As in real pages, a flag that the slice does not request is None."""

    def __init__(self) -> None:
        self.asked: list[tuple[Selection, Slice]] = []

    async def page(self, selection: Selection, cut: Slice, since: Hashable = None) -> Page[Comment]:
        self.asked.append((selection, cut))
        flags = [False if asked else None for asked in (cut.next_page, cut.previous_page)]
        return Page([], PageInfo(flags[0], flags[1], None, None), ExecutionStatistics("AP1"))


async def ask(
    operation: str, **variables: object
) -> tuple[list[tuple[Selection, Slice]], list[dict[str, Any]]]:
    """Execute an operation. Return the repository's calls and the client's errors."""
    store = RecordingStore()
    stores = Stores(Table(NOBODY, "no table"))
    stores.comments = store
    context = Context(None, stores)
    result = await SCHEMA.execute(operation, variables, context_value=context)
    return store.asked, [dict(error.formatted) for error in result.errors or []]
