"""Loads and exports do not take an unpublished comment for a published one."""

from dataclasses import replace

import pytest

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.entities.comment import is_comment
from dal.kinds.item_kind import ItemKind
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.writes.overwrite import Outcome
from features.loading.kind import COMMENTS, with_file
from features.loading.loaded import CommentState
from features.loading.scan_rows import export_pages
from tests.features.loading.bulk import load_rows
from tests.integration.test_unpublished import (
    CAUSE,
    HELD,
    SHOWN,
    Place,
    fails_without,
    hold,
    leaky,
)


async def loaded(table: Table) -> None:
    stores = Stores(table)
    await hold(stores)
    await load_rows(stores.comments, [HELD._replace(text="loaded")])
    assert (await stores.comments.page(Selection("42"), Slice(9))).nodes == [SHOWN]


async def exported(table: Table) -> None:
    await hold(Stores(table))
    pages = [page async for page in export_pages(table, 0, with_file(KINDS, "comments"))]
    assert [one for page in pages for one in page.objects["comments"]] == [SHOWN]
    assert not any(page.unreadable["comments"] for page in pages)


LEAKY_FILES = ItemKind(
    holds=is_comment, file=replace(COMMENTS, contains=lambda _: True, decode=leaky)
)
PLACES: dict[str, Place] = {
    "load": (loaded, "features.loading.loaded.state_of", lambda _: CommentState.PUBLISHED),
    "export": (exported, f"{__name__}.KINDS", [LEAKY_FILES]),
}


@pytest.mark.parametrize("place", PLACES)
async def test_no_load_or_export_has_a_submission_as_a_comment(table: Table, place: str) -> None:
    await PLACES[place][0](table)


@pytest.mark.parametrize("place", PLACES)
async def test_each_of_these_checks_fails_without_the_rule_that_it_checks(
    table: Table, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    await fails_without(table, monkeypatch, PLACES[place])


async def test_a_load_keeps_the_state_and_changes_the_text(table: Table) -> None:
    stores = Stores(table)
    await hold(stores)
    outcome = await load_rows(stores.comments, [SHOWN, HELD._replace(text="loaded")])
    assert outcome == Outcome(changed=1, unchanged=1)
    held = await stores.moderation.get("held")
    assert held is not None
    assert (held.text, held.cause) == ("loaded", CAUSE)
    assert await load_rows(stores.comments, [SHOWN, HELD._replace(text="loaded")]) == Outcome(
        unchanged=2
    )
