"""Cases of reported comments: hidden and listed with their comments, open while a report is."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from unittest.mock import AsyncMock, patch

import pytest

from dal.composition import KINDS
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.maintenance.leftovers import Leftovers
from dal.model.submissions import ReviewCause
from dal.query.pagination import Edge, Slice
from dal.stores import Stores
from dal.table.items import key_of
from features.loading.loaded import CommentState, LoadedComment
from features.moderation import repository as moderation
from features.moderation.cases import correct_case, put_cases, put_reports, read_case
from features.moderation.entity import CASE, case_key, commented_id, encode_report
from features.moderation.kind import CaseCorrection
from features.moderation.model import MOST_READ, Case, QueueKind, Report, ReportReason
from features.privacy.erasure import Choices, Erasure
from tests.calls import calls_of
from tests.fakes import (
    Answer,
    FaultyClient,
    Operation,
    anybody,
    client_error,
    let_pass,
    refuse,
)
from tests.features.loading.bulk import load_rows
from tests.features.moderation.test_reports import check_cases, everything
from tests.moderating import edit_for, held_for
from tests.putting import put_comments
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import at_once, ignore

SPAM = ReportReason.SPAM
DAY, HOUR = datetime(2024, 1, 1, tzinfo=UTC), timedelta(hours=1)
LAST = datetime.max.replace(tzinfo=UTC)
ONE = comment("one", username="ann")


async def listed(stores: Stores, most: int = 99) -> list[str]:
    return [row.comment_id for row in (await stores.reports.queue(Slice(most))).nodes]


async def reported(table: Table, *reporters: str, review_at: int = 9) -> Stores:
    stores = Stores(table)
    await stores.comments.add(ONE)
    for person in reporters:
        await stores.reports.report("one", person, SPAM, "", review_at)
    return stores


async def edited(stores: Stores) -> None:
    await stores.comments.update("one", {"text": "x"}, anybody, edit_for(ReviewCause.WORDS))


async def loaded(stores: Stores, state: CommentState) -> None:
    row = LoadedComment(ONE._replace(text="x"), {"state": state, "reason": "Spam."})
    assert (await load_rows(stores.comments, [row])).changed == 1


async def published_by_edit(stores: Stores) -> None:
    await stores.comments.update("one", {"text": "y"}, anybody, edit_for(None))


async def published_by_file(stores: Stores) -> None:
    await load_rows(stores.comments, [LoadedComment(ONE, {"state": CommentState.PUBLISHED})])


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
    cases = CaseCorrection(table)
    assert await verify(table, ignore, cases) == []
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
    await put_comments(stores.comments, rows)
    for one in rows:
        await stores.reports.report(one.comment_id, "bob", SPAM, "", 9)
    for one in rows[:60]:
        await stores.comments.update(
            one.comment_id, {"text": "x"}, anybody, edit_for(ReviewCause.WORDS)
        )
    calls = calls_of(table)
    page = await stores.reports.queue(Slice(5))
    assert [row.comment_id for row in page.nodes] == [one.comment_id for one in rows[60:]]
    assert sum(calls.operations.values()) == 9


async def test_verify_hides_and_closes_what_a_killed_process_left(table: Table) -> None:
    stores = await reported(table, "bob")
    other = comment("two", username="ann")
    await stores.comments.add(other, hold=held_for(ReviewCause.SETTING))
    opened = (await read_case(table, "one")).case
    await put_cases(table, [opened])
    held = await table.get(case_key("one"))
    assert held is not None
    await table.put_many([held | case_key("two")])
    reports = [item for item in await everything(table) if item["SK"]["S"] == "REPORT#bob"]
    await table.write([{"Delete": {"Key": {"PK": one["PK"], "SK": one["SK"]}}} for one in reports])
    assert await stores.moderation.queue_length(QueueKind.REPORTED) == 2
    cases = CaseCorrection(table)
    assert await verify(table, ignore, cases) == []
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
        await Erasure(table, person, Choices(), KINDS).run(at_once, ignore, ignore)
        assert await listed(stores) == rows
    assert ((await read_case(table, "one")).case.decision is not None) is decided
    await check_cases(table)


async def test_a_load_of_cases_does_not_list_unpublished_comments(table: Table) -> None:
    stores = await reported(table, "bob")
    opened = (await read_case(table, "one")).case
    await edited(stores)
    await put_cases(table, [opened])
    assert await stores.moderation.queue_length(QueueKind.REPORTED) == 0


async def test_a_load_of_cases_does_not_list_deleted_comments(table: Table) -> None:
    stores = await reported(table, "bob")
    await stores.comments.delete("one", anybody)
    await put_cases(table, [Case("one", DAY)])
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


async def test_a_case_is_opened_at_the_earliest_report(table: Table) -> None:
    stores = await reported(table)
    dates = {"zoe": 1, "ann b": 2, "bob": 3}  # the partition has the reports in the order of names
    reports = [Report("one", "42", name, SPAM, "", DAY + at * HOUR) for name, at in dates.items()]
    await put_reports(table, reports)
    assert [one.username for one in (await stores.reports.reports("one")).reports] == [*dates]
    assert await verify(table, ignore) == []
    (row,) = (await stores.reports.queue(Slice(9))).nodes
    assert row.waiting_since == DAY + HOUR


async def test_a_case_stays_open_for_reports_that_are_not_read(table: Table) -> None:
    stores = await reported(table, "zoe")
    await stores.moderation.approve("one", ONE.created_at, "mo")
    reports = [Report("one", "42", f"a{n:03}", SPAM, "", DAY) for n in range(MOST_READ)]
    await put_reports(table, reports)
    await stores.reports.report("one", "zz", SPAM, "", 9)
    cases = CaseCorrection(table)
    assert await verify(table, ignore, cases) == []
    assert (cases.closed, await listed(stores)) == (0, ["one"])


CHANGED: dict[str, Callable[[Case], Case]] = {
    "put": lambda case: replace(case, opened_at=DAY),
    "delete": lambda case: Case(case.comment_id),
    "check": lambda case: case,
}


@pytest.mark.parametrize("action", CHANGED)
async def test_a_case_that_has_changed_since_it_was_read_is_not_written(
    table: Table, action: str
) -> None:
    stores = await reported(table, "bob")
    read = await read_case(table, "one")
    await stores.moderation.approve("one", ONE.created_at, "mo")
    decided = await read_case(table, "one")
    other = {"Delete": {"Key": case_key("gone")}}
    with pytest.raises(ConditionFailedError):
        await table.write([read.put(CHANGED[action](read.case)), other])
    assert await read_case(table, "one") == decided


async def test_a_correction_is_repeated_after_a_conflict(table: Table) -> None:
    await reported(table, "bob")
    report = Report("one", "42", "bob", SPAM, "", DAY)
    await table.write([{"Delete": {"Key": key_of(encode_report(report))}}])
    failed = client_error(
        "TransactionCanceledException", reasons=("None", "ConditionalCheckFailed")
    )
    client = FaultyClient(table.service, let_pass, let_pass, refuse(failed))
    assert await correct_case(Table(client, table.name), "one") == -1


async def test_a_correction_does_not_list_a_comment_that_is_hidden_meanwhile(table: Table) -> None:
    stores = await reported(table)
    await table.put_many([encode_report(Report("one", "42", "bob", SPAM, "", DAY))])

    async def edited_first(real: Operation, arguments: Answer) -> Answer:
        await edited(stores)
        return await real(**arguments)

    client = FaultyClient(table.service, let_pass, let_pass, edited_first)
    assert await correct_case(Table(client, table.name), "one") == 0
    case = (await read_case(table, "one")).case
    assert (case.opened_at, case.listed) == (DAY, False)


async def test_verify_leaves_a_case_that_other_requests_keep_changing(table: Table) -> None:
    await reported(table, "bob")
    busy = AsyncMock(side_effect=ConflictError("busy"))
    with patch("features.moderation.kind.correct_case", busy):
        assert await verify(table, ignore) == []
    assert busy.call_count == 1


async def test_verify_removes_reports_of_a_tombstone(table: Table) -> None:
    stores = Stores(table)
    added = await stores.comments.add(ONE, "key")
    assert isinstance(added, Edge)
    comment_id = added.node.comment_id
    await stores.comments.delete(comment_id, anybody)
    await table.drain()
    assert await table.get(comment_key(comment_id)) is not None
    await table.put_many([encode_report(Report(comment_id, "42", "bob", SPAM, "", DAY))])
    leftovers = Leftovers(table)
    assert await verify(table, ignore, leftovers) == []
    assert leftovers.removed == 1
    assert not any(map(commented_id, await everything(table)))


async def test_an_approval_does_not_close_the_case_of_an_edited_text(table: Table) -> None:
    stores = await reported(table, "bob")

    async def edited_first(real: Operation, arguments: Answer) -> Answer:
        await stores.comments.update("one", {"text": "new"}, anybody)
        return await real(**arguments)

    client = FaultyClient(table.service, let_pass, let_pass, edited_first)
    with pytest.raises(ConflictError):
        await Stores(Table(client, table.name)).moderation.approve("one", ONE.created_at, "mo")
    assert await listed(stores) == ["one"]


async def test_a_report_whose_case_has_changed_is_repeated_once(table: Table) -> None:
    stores = await reported(table, "bob")

    async def reported_first(real: Operation, arguments: Answer) -> Answer:
        await stores.reports.report("one", "eve", SPAM, "", 9)
        return await real(**arguments)

    client = FaultyClient(table.service, *[let_pass] * 3, reported_first)
    await Stores(Table(client, table.name)).reports.report("one", "cy", SPAM, "", 2)
    assert await stores.comments.get("one") is None
    assert [operation for operation, _ in client.calls].count("transact_write_items") == 2


async def test_a_page_of_the_queue_reads_on_after_rows_of_deleted_comments(table: Table) -> None:
    """The index can list cases that were deleted a moment ago."""
    stores = await reported(table, "bob")
    gone = [Case(f"gone{number:02}", DAY + number * HOUR) for number in range(50)]
    await table.put_many([CASE.encode(one) for one in gone])
    assert await listed(stores, 2) == ["one"]


async def test_a_long_queue_is_not_counted(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = await reported(table, "bob")
    assert await stores.moderation.queue_length(QueueKind.REPORTED) == 1
    monkeypatch.setattr(moderation, "MOST_COUNTED", 1)
    assert await stores.moderation.queue_length(QueueKind.REPORTED) is None


async def test_a_comment_whose_loaded_case_is_of_the_last_instant_can_be_reported(
    table: Table,
) -> None:
    stores = await reported(table, "bob")
    case = replace((await read_case(table, "one")).case, reported_at=LAST)
    await put_cases(table, [case])
    for name in ("zoe", "eve"):
        await stores.reports.report("one", name, SPAM, "", 9)
    assert len((await stores.reports.reports("one")).reports) == 3


async def test_a_load_of_cases_while_a_comment_is_hidden_does_not_list_it(table: Table) -> None:
    stores = await reported(table, "bob")
    latest = (await read_case(table, "one")).case.reported_at
    opened = replace((await read_case(table, "one")).case, opened_at=DAY, reported_at=DAY)
    writes: list[str] = []

    async def hidden_first(real: Operation, arguments: Answer) -> Answer:
        if "TransactItems" in arguments:
            writes.append("case")
            if len(writes) == 1:
                await edited(stores)
        return await real(**arguments)

    client = FaultyClient(table.service, *[hidden_first] * 9)
    await put_cases(Table(client, table.name), [opened])
    assert len(writes) == 2
    case = (await read_case(table, "one")).case
    assert (case.opened_at, case.listed) == (DAY, False)
    assert case.reported_at == latest != DAY, "the report is later than the loaded case"


async def test_new_reports_after_many_decided_ones_hide_an_edited_comment(table: Table) -> None:
    stores = await reported(table, *(f"a{number}" for number in range(6)))
    await stores.moderation.approve("one", ONE.created_at, "mo")
    await stores.comments.update("one", {"text": "new"}, anybody)
    for person in ("x", "y"):
        await stores.reports.report("one", person, SPAM, "", 3)
    assert await stores.comments.get("one") is not None
    await stores.reports.report("one", "z", SPAM, "", 3)
    assert await stores.comments.get("one") is None
