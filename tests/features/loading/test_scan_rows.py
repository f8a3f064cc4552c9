"""An export has the comments of the exported states, and no deleted comments."""

from typing import Any

import pytest

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.stores import Stores
from features.loading.kind import with_file
from features.loading.scan_rows import export_pages
from tests import oracle
from tests.edges import edge_of
from tests.fakes import anybody
from tests.integration.comment_access import World, shared, world

__all__ = ["shared", "world"]

ONE = oracle.make_comments("42", 1, seed=1)[0]


@pytest.mark.parametrize(
    ("all_states", "exported"),
    [(False, {"published"}), (True, {"published", "pending", "rejected"})],
)
async def test_an_export_has_only_comments_in_the_exported_states(
    world: World, all_states: bool, exported: set[str]
) -> None:
    there = await world.all_states(f"exported {next(world.numbers)}")
    pages = [
        page
        async for page in export_pages(
            world.table, 0, with_file(KINDS, "comments"), all_states=all_states
        )
    ]
    found: dict[str, Any] = {
        one.comment_id: one for page in pages for one in page.objects["comments"]
    }
    assert {state for state, given in there.items() if given["ID"] in found} == exported


async def test_a_deleted_comment_is_neither_exported_nor_reported_as_unreadable(
    each_table: Table,
) -> None:
    store = Stores(each_table).comments
    await store.delete(edge_of(await store.add(ONE, "key")).node.comment_id, anybody)
    pages = [page async for page in export_pages(each_table, 0, with_file(KINDS, "comments"))]
    assert all(not page.objects["comments"] for page in pages)
    assert all(not page.unreadable["comments"] for page in pages)
