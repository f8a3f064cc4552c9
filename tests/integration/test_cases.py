"""Cases of reported comments: hidden and listed with their comments, open while a report is."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from dal.client.table import Table
from dal.entities.case import case_key, commented_id
from dal.maintenance.erasure import Choices, Erasure
from dal.maintenance.verify import verify
from dal.model.loaded import CommentState, LoadedComment
from dal.model.moderation import QueueKind, ReviewCause
from dal.model.reports import ReportReason
from dal.query.pagination import Slice
from dal.repositories.cases import Cases, read_case
from dal.stores import Stores
from tests.calls import calls_of
from tests.fakes import FaultyClient, anybody
from tests.integration.test_reports import check_cases, everything
from tests.strategies import comment
from tests.writers import at_once, ignore

SPAM = ReportReason.SPAM
ONE = comment("one", username="ann")


async def listed(stores: Stores) -> list[str]:
    return [row.comment_id for row in (await stores.reports.queue(Slice(99))).nodes]


async def reported(table: Table, *reporters: str, review_at: int = 9) -> Stores:
    stores = Stores(table)
    await stores.comments.add(ONE)
    for person in reporters:
        await stores.reports.report("one", person, SPAM, "", review_at)
    return stores


def held_by_words(*_: object) -> ReviewCause:
    return ReviewCause.WORDS


async def edited(stores: Stores) -> None:
    await stores.comments.update("one", {"text": "x"}, anybody, held_by_words)


async def loaded(stores: Stores, state: CommentState) -> None:
    row = LoadedComment(ONE._replace(text="x"), {"state": state, "reason": "Spam."})
    assert (await stores.comments.put_many([row])).changed == 1


async def published_by_edit(stores: Stores) -> None:
    await stores.comments.update("one", {"text": "y"}, anybody, lambda *_: None)


async def published_by_file(stores: Stores) -> None:
    await stores.comments.put_many([LoadedComment(ONE, {"state": CommentState.PUBLISHED})])


Step = Callable[[Stores], Awaitable[None]]
AWAY: dict[str, Step] = {
    "edited": edited,
    "pending in a file": partial(loaded, state=CommentState.PENDING),
    "rejected in a file": partial(loaded, state=CommentState.REJECTED),
}


@pytest.mark.parametrize("back", [published_by_edit, published_by_file])
@pytest.mark.parametrize("away", AWAY)
async def test_an_open_case_is_hidden_while_its_comment_is_unpublished_and_then_listed_again(
    table: Table, away: str, back: Step
) -> None:
    stores = await reported(table, "bob")
    before = (await stores.reports.queue(Slice(9))).nodes
    await AWAY[away](stores)
    assert await stores.comments.get("one") is None
    assert await stores.moderation.queue_length(QueueKind.REPORTED) == 0
    await published_by_file(stores) if away != "edited" else await back(stores)
    (row,) = (await stores.reports.queue(Slice(9))).nodes
    assert row.waiting_since == before[0].waiting_since
    cases = Cases(table)
    assert await verify(table, ignore, cases=cases) == []
    assert (cases.opened, cases.closed) == (0, 0)
    await check_cases(table)


async def test_a_comment_that_reports_have_hidden_and_a_file_publishes_is_listed(
    table: Table,
) -> None:
    stores = await reported(table, "bob", "cy", review_at=2)
    assert await listed(stores) == []
    await published_by_file(stores)
    assert await listed(stores) == ["one"]
    await check_cases(table)


async def test_a_page_does_not_read_hidden_cases(table: Table) -> None:
    """A page of reported comments costs the same after edits have hidden 60 other comments."""
    stores = Stores(table)
    rows = [comment(f"c{number:03}", username="ann") for number in range(65)]
    await stores.comments.put_many(rows)
    for one in rows:
        await stores.reports.report(one.comment_id, "bob", SPAM, "", 9)
    for one in rows[:60]:
        await stores.comments.update(one.comment_id, {"text": "x"}, anybody, held_by_words)
    calls = calls_of(table)
    page = await stores.reports.queue(Slice(5))
    assert [row.comment_id for row in page.nodes] == [one.comment_id for one in rows[60:]]
    assert sum(calls.operations.values()) == 9


async def test_verify_hides_and_closes_what_a_killed_process_left(table: Table) -> None:
    stores = await reported(table, "bob")
    other = comment("two", username="ann")
    await stores.comments.add(other, cause=ReviewCause.SETTING)
    opened = (await read_case(table, "one")).case
    await stores.reports.put_cases([opened])
    held = await table.get(case_key("one"))
    assert held is not None
    await table.put_many([held | case_key("two")])
    reports = [item for item in await everything(table) if item["SK"]["S"] == "REPORT#bob"]
    await table.write([{"Delete": {"Key": {"PK": one["PK"], "SK": one["SK"]}}} for one in reports])
    assert await stores.moderation.queue_length(QueueKind.REPORTED) == 2
    cases = Cases(table)
    assert await verify(table, ignore, cases=cases) == []
    assert (cases.opened, cases.closed) == (0, 2)
    assert not [item for item in await everything(table) if commented_id(item)]


@pytest.mark.parametrize("decided", [False, True])
async def test_erasing_the_only_reporter_closes_the_case(table: Table, *, decided: bool) -> None:
    stores = await reported(table, *(["cy"] if decided else []))
    if decided:
        await stores.moderation.approve("one", ONE.created_at, "mo")
    for person in ("bob", "di"):
        await stores.reports.report("one", person, SPAM, "", 9)
    for person, rows in (("bob", ["one"]), ("di", [])):
        await Erasure(table, person, Choices()).run(at_once, ignore, ignore)
        assert await listed(stores) == rows
    assert ((await read_case(table, "one")).case.decision is not None) is decided
    await check_cases(table)


async def test_a_load_of_cases_does_not_list_unpublished_comments(table: Table) -> None:
    stores = await reported(table, "bob")
    opened = (await read_case(table, "one")).case
    await edited(stores)
    await stores.reports.put_cases([opened])
    assert await stores.moderation.queue_length(QueueKind.REPORTED) == 0


async def test_the_removal_of_a_case_reads_consistently(table: Table) -> None:
    stores = await reported(table, "bob")
    await table.drain()
    client = FaultyClient(table.service)
    await Stores(Table(client, table.name)).comments.delete("one", anybody)
    queries = [arguments for name, arguments in client.calls if name == "query"]
    assert queries
    assert all(query["ConsistentRead"] for query in queries)
    await stores.comments._table.drain()
