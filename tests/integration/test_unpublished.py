"""No read returns an unpublished comment as a comment.

Each check must also fail without the rule. So a second test lets one module at a time decode
submissions as comments.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, comment_in, comment_key, is_comment
from dal.entities.submission import SUBMISSION, stored, submission_in
from dal.maintenance.rebuild import rebuild
from dal.maintenance.tables import upgrade
from dal.model import Comment
from dal.model.submissions import ReviewCause, Submission
from dal.query.pagination import Slice
from dal.repositories.comments import AuthorSelection, Selection
from dal.stores import Stores
from dal.table.items import Item
from tests.dal.repositories.test_observer import Recorder
from tests.fakes import anybody
from tests.moderating import held_for
from tests.strategies import comment
from tests.verifying import verify

SHOWN, HELD = comment("shown", text="shown"), comment("held", text="secret")
CAUSE = ReviewCause.SETTING


async def nobody() -> None:
    pass


def ignore(*_: object) -> None:
    pass


async def hold(stores: Stores) -> Item:
    """Store a published and an unpublished comment. Return the item of the unpublished one."""
    await stores.comments.add(SHOWN)
    await stores.comments.add(HELD, hold=held_for(CAUSE))
    (item,) = await stores.comments._table.get_many([comment_key("held")])
    assert isinstance(stored(item), Submission)
    return item


async def counts(table: Table) -> None:
    stores = Stores(table)
    await hold(stores)
    assert await stores.comments.total(Selection("42")) == 1


async def verified(table: Table) -> None:
    await hold(Stores(table))
    assert await verify(table, ignore) == []


async def backfilled(table: Table) -> None:
    stores = Stores(table)
    await hold(stores)
    await rebuild(table, nobody, ignore)
    assert await Stores(table).comments.total(Selection("42")) == 1


async def told(table: Table) -> None:
    recorder = Recorder()
    await hold(Stores(table, [recorder]))
    assert recorder.told == [(None, SHOWN)]


async def by_id(table: Table) -> None:
    stores = Stores(table)
    await hold(stores)
    assert await stores.comments.get("held") is None


async def by_ids(table: Table) -> None:
    stores = Stores(table)
    await hold(stores)
    assert await stores.comments.get_many(["held", "shown"]) == {"shown": SHOWN}


async def upgraded(table: Table) -> None:
    stores = Stores(table)
    await hold(stores)
    await upgrade(table, index_progress=ignore, scan_progress=ignore, wait_for_writers=nobody)
    assert (await stores.comments.page(Selection("42"), Slice(9))).nodes == [SHOWN]


def leaky(item: Item | None) -> Comment | None:
    """Decode submissions as comments, which is wrong."""
    held = submission_in(item)
    return comment_in(item) if held is None else held.published()


class LeakyEntity:
    """Decodes submissions as comments, so that an upgrade adds the keys of comments to them."""

    encode, unchanged = COMMENT.encode, COMMENT.unchanged
    recover = staticmethod(leaky)


Place = tuple[Callable[[Table], Awaitable[None]], str, Any]
"""A check, the name of the rule that it checks, and a broken rule."""


async def fails_without(table: Table, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    check, name, broken = place
    monkeypatch.setattr(name, broken)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await check(table)


PLACES: dict[str, Place] = {
    "counts": (counts, "dal.writes.changes.comment_in", leaky),
    "verify": (verified, "dal.maintenance.verify.comment_in", leaky),
    "backfill": (backfilled, "dal.maintenance.rebuild.comment_in", leaky),
    "rules": (told, "dal.writes.changes.comment_in", leaky),
    "id": (by_id, "dal.repositories.comments.comment_in", leaky),
    "nodes": (by_ids, "dal.repositories.comments.comment_in", leaky),
    "key backfill": (upgraded, "dal.maintenance.tables._ENTITIES", [(is_comment, LeakyEntity)]),
}


@pytest.mark.parametrize("place", PLACES)
async def test_no_read_returns_a_submission_as_a_comment(table: Table, place: str) -> None:
    await PLACES[place][0](table)


@pytest.mark.parametrize("place", PLACES)
async def test_each_of_these_checks_fails_without_the_rule_that_it_checks(
    table: Table, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    await fails_without(table, monkeypatch, PLACES[place])


async def test_a_submission_is_only_in_the_indexes_of_its_author_and_of_the_queue(
    table: Table,
) -> None:
    item = await hold(Stores(table))
    assert {name for name in item if name.startswith("GSI")} == {
        *("GSI5PK", "GSISK", "GSI1PK", "GSI1SK")
    }
    assert item["GSI5PK"] == {"S": "AUTHOR#ana/held"}
    page = await Stores(table).comments.page_of_author(AuthorSelection("ana"), Slice(9))
    assert page.nodes == [SHOWN]


async def test_a_retry_under_a_key_gets_the_submission(table: Table) -> None:
    store = Stores(table).comments
    first = await store.add(HELD, "key", hold=held_for(CAUSE))
    assert isinstance(first, Submission)
    assert await store.add(HELD, "key") == first
    await store.delete(first.comment_id, anybody)
    assert SUBMISSION.key(first) == comment_key(first.comment_id)
    assert stored(await table.get(comment_key(first.comment_id))) is None
