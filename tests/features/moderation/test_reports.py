"""Reports of comments: one per person, review after several reports, the queue, and kills."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.composition import KINDS
from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.deadline import deadline
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.scan import scan_all
from dal.dynamodb.table import Table
from dal.entities.comment import comment_in
from dal.errors import NotFoundError
from dal.maintenance.leftovers import Leftovers
from dal.model.submissions import ReviewCause, Submission, SubmissionState
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.index import QueryRequest, QueryResponse
from dal.table.items import Item
from dal.table.key_parts import escape
from dal.writes.comments import version
from features.loading.loaded import CommentState, LoadedComment
from features.moderation.cases import read_case
from features.moderation.entity import commented_id, encode_report, is_report
from features.moderation.kind import CaseCorrection
from features.moderation.model import QueueKind, Report, ReportReason
from features.moderation.words import Moderation
from features.privacy.personal_data import scan
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests import oracle
from tests.dal.repositories.test_observer import Recorder
from tests.engines import SECOND_IN_SOAK
from tests.fakes import anybody
from tests.features.loading.bulk import load_rows
from tests.features.privacy.writes import ERASED, erase
from tests.features.writes import ALL_WRITES
from tests.moderating import edit_for, held_for
from tests.putting import put_comments
from tests.schema.conftest import ANN, BOB, MODERATOR
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import ROWS, Engine, Killed, Writers, ignore

ONE = comment("one", username="ann")
SPAM = ReportReason.SPAM
REPORT = """mutation Report($input: ReportCommentInput!) { reportComment(input: $input) {
  reportedId userErrors { field code } } }"""
DECIDE = """mutation Decide($input: DecideCommentsInput!) { decideComments(input: $input) {
  ids userErrors { field code } } }"""
QUEUE = """{ moderationQueue(kind: REPORTED) { totalCount nodes { waitingSince submission { id }
  comment { text } reports { total reasons { reason count } reports { username text } } } } }"""


async def in_mode(table: Table, mode: MaintenanceMode) -> None:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=mode)


async def everything(table: Table) -> list[Item]:
    items: list[Item] = []
    await scan_all(table, ignore, items.extend)
    return items


async def check_cases(table: Table) -> None:
    """Check that the queue has exactly the published comments with undecided reports."""
    items = await everything(table)
    published = {one.comment_id for one in map(comment_in, items) if one is not None}
    there = {item["PK"]["S"] for item in items if "data" in item}
    reported = {one for item in items if (one := commented_id(item)) is not None}
    assert {f"COMMENT#{escape(one)}" for one in reported} <= there
    undecided = {one for one in reported & published if (await read_case(table, one)).undecided}
    rows = await oracle.walk_pages(Stores(table).reports.queue, 7, backward=False)
    assert {row.comment_id for row in rows} == undecided
    listed = await Stores(table).moderation.queue_length(QueueKind.REPORTED)
    assert listed == len(rows), "the queue lists no comment that is not published"


async def reports_in(table: Table) -> list[Item]:
    return [item for item in await everything(table) if is_report(item)]


@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_two_hundred_concurrent_reports_are_counted_once_each(
    table: Table, mode: MaintenanceMode
) -> None:
    await in_mode(table, mode)
    recorder = Recorder()
    servers = [Stores(table, [recorder]) for _ in range(2)]
    await servers[0].comments.add(ONE)

    async def report(number: int) -> str | None:
        person = f"person{number}"
        try:
            await servers[number % 2].reports.report("one", person, SPAM, "", 5)
        except NotFoundError:  # the comment is already hidden
            return None
        return person

    reported = {one for one in await asyncio.gather(*map(report, range(200))) if one}
    assert len(reported) >= 5
    items = await reports_in(table)
    assert {item["SK"]["S"] for item in items} == {f"REPORT#{one}" for one in reported}
    held = await servers[0].moderation.get("one")
    assert held is not None
    assert (held.state, held.cause) == (SubmissionState.PENDING, ReviewCause.REPORTS)
    assert recorder.told == [(None, ONE), (ONE, None)]
    assert await servers[0].moderation.queue_length(QueueKind.REPORTED) == 0
    await verify(table, ignore)
    await check_cases(table)


async def test_repeated_reports_of_a_person_count_once(table: Table) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    await asyncio.gather(*(stores.reports.report("one", "bob", SPAM, "", 2) for _ in range(20)))
    await stores.reports.report("one", "bob", ReportReason.OTHER, "again", 2)
    assert len(await reports_in(table)) == 1
    (row,) = (await stores.reports.queue(Slice(9))).nodes
    assert row.comment == ONE
    assert (await stores.reports.reports("one")).total == 1


async def test_a_second_report_of_a_person_changes_nothing_in_any_state(table: Table) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    people = ("bob", "Bob", "cy")  # the shop's ids of users distinguish the case of letters

    async def repeat(*reporters: str) -> None:
        before = await everything(table)
        for person in reporters:
            await stores.reports.report("one", person, ReportReason.OTHER, "again", 3)
        assert await everything(table) == before

    await stores.reports.report("one", "early", SPAM, "", 3)
    await repeat("early")
    await stores.moderation.approve("one", ONE.created_at, "mo")
    await repeat("early")
    for person in people:
        await stores.reports.report("one", person, SPAM, "", 3)
    assert (await stores.reports.reports("one")).total == 4
    await repeat("early", *people)
    await stores.comments.update("one", {"text": "new"}, anybody)
    await repeat("early", *people)
    await stores.blocks.block("bob", "Spam.", "mo")
    await repeat("bob")
    assert await stores.comments.get("one") is not None
    await stores.reports.report("one", "late", SPAM, "", 3)
    assert await stores.comments.get("one") is None
    published = LoadedComment(ONE, {"state": CommentState.PUBLISHED})
    await load_rows(stores.comments, [published])
    await repeat("early", "late", *people)
    assert [row.comment_id for row in (await stores.reports.queue(Slice(9))).nodes] == ["one"]


async def test_reports_do_not_undo_a_decision_on_the_same_text(each_table: Table) -> None:
    stores = Stores(each_table)
    await stores.comments.add(ONE)
    store = stores.reports

    async def report(*numbers: int) -> None:
        for number in numbers:
            await store.report("one", f"person{number}", SPAM, "", 3)

    async def listed() -> list[str]:
        return [row.comment_id for row in (await store.queue(Slice(9))).nodes]

    await report(1)
    assert await listed() == ["one"]
    approved = await stores.moderation.approve("one", ONE.created_at, "mo")
    assert approved.node == ONE, "its case is closed, and it is not published again"
    assert await listed() == []
    await report(1)
    assert await listed() == [], "the report was decided on"
    await report(2, 3, 4, 5)
    assert await listed() == ["one"], "it is listed again, and stays published"
    assert await stores.comments.get("one") == ONE
    edited = await stores.comments.update("one", {"text": "new"}, anybody)
    with pytest.raises(ConflictError):
        await stores.moderation.approve("one", ONE.created_at, "mo")
    await report(6)
    held = await stores.moderation.get("one")
    assert held is not None
    assert (held.cause, held.text) == (ReviewCause.REPORTS, "new")
    assert await listed() == []
    with pytest.raises(NotFoundError):
        await report(7)
    assert not isinstance(edited, Submission)
    await stores.moderation.approve("one", version(edited.node), "mo")
    assert await stores.comments.total(Selection("42")) == 1
    await report(8, 9)
    edited = await stores.comments.update("one", {"text": "newer"}, anybody)
    assert not isinstance(edited, Submission)
    rejected = await stores.moderation.reject("one", version(edited.node), "mo", "Spam")
    assert await listed() == []
    assert rejected.state is SubmissionState.REJECTED
    assert await verify(each_table, ignore) == []
    await check_cases(each_table)


async def test_a_text_that_is_edited_after_an_approval_needs_new_reports(table: Table) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    for number in range(9):
        await stores.reports.report("one", f"before{number}", SPAM, "", 10)
    await stores.moderation.approve("one", ONE.created_at, "mo")
    await stores.comments.update("one", {"text": "new"}, anybody)
    for number in range(4):
        await stores.reports.report("one", f"after{number}", SPAM, "", 5)
    assert await stores.comments.get("one") is not None
    await stores.reports.report("one", "last", SPAM, "", 5)
    assert await stores.comments.get("one") is None


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_a_killed_report_is_stored_with_its_effects_or_not_at_all(
    table: Table, mode: MaintenanceMode, *, done: bool
) -> None:
    await in_mode(table, mode)
    stores = Stores(table)
    kills = stored = 0
    for at in range(10):
        one = comment(f"c{at}", username="ann")
        await stores.comments.add(one)
        await stores.reports.report(one.comment_id, "first", SPAM, "", 9)
        await stores.moderation.approve(one.comment_id, one.created_at, "mo")
        await stores.comments.update(one.comment_id, {"text": "edited"}, anybody)
        engine = Engine(table.service)
        engine.left, engine.done_before_death = at % 5, done
        review_at = 1 + at // 5
        try:
            killed = Stores(Table(engine, table.name))
            await killed.reports.report(one.comment_id, "second", SPAM, "", review_at)
        except (Killed, BaseExceptionGroup):
            kills += 1
        names = [one.username for one in (await read_case(table, one.comment_id)).undecided]
        stored += names == ["second"]
        hidden = await stores.comments.get(one.comment_id) is None
        assert hidden is (names == ["second"] and review_at == 1)
    assert kills > 4
    assert stored > 1
    await check_cases(table)


@pytest.mark.parametrize("backward", [False, True])
async def test_the_queue_of_reported_comments_equals_the_oracles_while_states_change(
    each_table: Table, *, backward: bool
) -> None:
    stores = Stores(each_table)
    chance = random.Random(7)
    comments = [comment(f"c{number}", username="ann") for number in range(60)]
    await put_comments(stores.comments, comments)
    for one in chance.sample(comments, 50):
        await stores.reports.report(one.comment_id, "bob", SPAM, "", 5)
    rows = await oracle.walk_pages(stores.reports.queue, 7, backward=backward)
    assert [row.waiting_since for row in rows] == sorted(row.waiting_since for row in rows)
    assert len(rows) == 50
    gone = {row.comment_id for row in chance.sample(rows, 25)}
    for number, comment_id in enumerate(sorted(gone)):
        if number % 3 == 0:  # the case keeps its row in the index
            await stores.comments.update(
                comment_id, {"text": "x"}, anybody, edit_for(ReviewCause.WORDS)
            )
        elif number % 3 == 1:
            await stores.comments.delete(comment_id, anybody)
        else:
            one = next(one for one in comments if one.comment_id == comment_id)
            await stores.moderation.approve(comment_id, one.created_at, "mo")
    left = [row for row in rows if row.comment_id not in gone]
    assert await oracle.walk_pages(stores.reports.queue, 7, backward=backward) == left
    # While rows leave the queue between pages, later pages lack only these rows.
    seen: list[Any] = []
    end: str | None = None
    while True:
        page = await stores.reports.queue(oracle.next_cut(3, end, backward=backward, reverse=False))
        seen += reversed(page.nodes) if backward else page.nodes
        info = page.page_info
        if not (info.has_previous_page if backward else info.has_next_page):
            break
        end = page.edges[0 if backward else -1].position
        waiting = [row for row in left if row not in seen]
        for row in (chance.choice(waiting), page.nodes[0]):
            if row in left:
                left = [one for one in left if one is not row or one in seen]
                with suppress(NotFoundError):
                    await stores.comments.delete(row.comment_id, anybody)
    assert seen == (left[::-1] if backward else left)


async def test_a_deleted_comment_leaves_no_reports(each_table: Table) -> None:
    stores = Stores(each_table)
    await stores.comments.add(ONE)
    for number in range(3):
        await stores.reports.report("one", f"person{number}", SPAM, "", 5)
    await stores.comments.delete("one", anybody)
    await each_table.drain()
    assert not [item for item in await everything(each_table) if commented_id(item)]


async def test_verify_removes_reports_of_a_deleted_comment(table: Table) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    now = datetime.now(UTC)
    late = [Report(one, "42", "bob", SPAM, "", now) for one in ("one", "gone", "a/b#")]
    await table.put_many([encode_report(report) for report in late])
    cases, leftovers = CaseCorrection(table), Leftovers(table)
    assert await verify(table, ignore, cases, leftovers) == []
    assert (cases.opened, leftovers.removed) == (1, 2)
    await check_cases(table)


async def test_a_report_after_a_hundred_decided_ones_is_listed(table: Table) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    decided = datetime.now(UTC)
    reports = [Report("one", "42", f"a{number:03}", SPAM, "", decided) for number in range(101)]
    await table.put_many([encode_report(report) for report in reports])
    await stores.reports.report("one", "b", SPAM, "", 5)
    await stores.moderation.approve("one", ONE.created_at, "mo")
    assert (await stores.reports.queue(Slice(9))).nodes == []
    await stores.reports.report("one", "c", SPAM, "", 5)
    assert [row.comment_id for row in (await stores.reports.queue(Slice(9))).nodes] == ["one"]
    await stores.moderation.approve("one", ONE.created_at, "mo")
    await stores.reports.report("one", "c", SPAM, "", 5)
    assert (await stores.reports.queue(Slice(9))).nodes == [], "a repetition is no report"


async def test_reports_are_removed_after_the_deadline_of_the_deletion(table: Table) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    reports = [Report("one", "42", f"a{n}", SPAM, "", datetime.now(UTC)) for n in range(250)]
    await table.put_many([encode_report(report) for report in reports])
    query, clock = table.query, asyncio.get_running_loop().time
    end = clock() + 2

    async def too_late(request: QueryRequest) -> QueryResponse:
        await asyncio.sleep(end - clock())
        return await query(request)

    with deadline(end), patch.object(table, "query", too_late):
        await stores.comments.delete("one", anybody)
        await table.drain()
    assert await reports_in(table) == []


async def test_thousands_of_reports_of_an_approved_comment_do_not_exceed_a_limit(
    table: Table,
) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    await stores.reports.report("one", "first", SPAM, "", 5)
    await stores.moderation.approve("one", ONE.created_at, "mo")
    now = datetime.now(UTC)
    await table.put_many(
        [
            encode_report(Report("one", "42", f"person{number}", SPAM, "x" * 500, now))
            for number in range(1_500)
        ]
    )
    await stores.reports.report("one", "last", SPAM, "", 5)
    (row,) = (await stores.reports.queue(Slice(9))).nodes
    found = await stores.reports.reports(row.comment_id)
    assert (found.total, len(found.reports)) == (None, 100)
    assert await stores.comments.get("one") == ONE
    await stores.comments.delete("one", anybody)
    await table.drain()
    assert await verify(table, ignore) == []
    assert await reports_in(table) == []


@pytest.mark.soak
@pytest.mark.parametrize("approved", [False, True])
async def test_ten_thousand_reports_are_counted_once_each(table: Table, *, approved: bool) -> None:
    """The reports hide the comment once.

    If a moderator has approved it, they put it in the queue once.
    """
    stores = Stores(table)
    await stores.comments.add(ONE)
    if approved:
        await stores.reports.report("one", "first", SPAM, "", 50)
        await stores.moderation.approve("one", ONE.created_at, "mo")

    async def report(number: int) -> bool:
        with suppress(NotFoundError):  # the comment is already hidden
            await stores.reports.report("one", f"person{number}", SPAM, "", 50)
            return True
        return False

    counted = 0
    for start in range(0, 10_000, 50):
        counted += sum(await asyncio.gather(*map(report, range(start, start + 50))))
    assert len(await reports_in(table)) == counted + approved
    assert counted == 10_000 if approved else 50 <= counted < 100
    assert await stores.moderation.queue_length(QueueKind.REPORTED) == approved
    assert await verify(table, ignore) == []
    await check_cases(table)


class Asking:
    """A client that executes operations and returns their data."""

    def __init__(self, schema: Schema, table: Table) -> None:
        self.schema, self.stores = schema, Stores(table)

    async def ask(self, operation: str, viewer: Viewer, **given: object) -> Any:
        context = Context(viewer, self.stores, services={Moderation: Moderation(review_at=3)})
        variables = {"input": given} if given else {}
        result = await self.schema.execute(operation, variables, context_value=context)
        assert not result.errors
        assert result.data is not None
        (payload,) = result.data.values()
        return payload

    async def report(self, comment_id: str, viewer: Viewer = BOB, **given: object) -> Any:
        node_id = to_base64("Comment", comment_id)
        return await self.ask(REPORT, viewer, **{"id": node_id, "reason": "SPAM", **given})


@pytest.fixture(scope="module")
def schema() -> Schema:
    return build_schema()


@pytest.fixture
def client(schema: Schema, table: Table) -> Asking:
    return Asking(schema, table)


async def test_a_report_is_stored_listed_and_decided(client: Asking) -> None:
    await client.stores.comments.add(ONE)
    node_id = to_base64("Comment", "one")
    for _ in range(2):
        assert await client.report("one", text="Buy!") == {"reportedId": node_id, "userErrors": []}
    await client.report("one", Viewer("cy"), reason="OFF_TOPIC")
    queue = await client.ask(QUEUE, MODERATOR)
    (row,) = queue["nodes"]
    assert queue["totalCount"] == 1
    assert row["comment"] == {"text": ONE.text}
    assert row["reports"] == {
        "total": 2,
        "reasons": [{"reason": "SPAM", "count": 1}, {"reason": "OFF_TOPIC", "count": 1}],
        "reports": [{"username": "bob", "text": "Buy!"}, {"username": "cy", "text": ""}],
    }
    decision = {"id": node_id, "seen": ONE.created_at.isoformat(), "verdict": "APPROVE"}
    decided = await client.ask(DECIDE, MODERATOR, decisions=[decision])
    assert decided == {"ids": [node_id], "userErrors": []}
    assert await client.ask(QUEUE, MODERATOR) == {"totalCount": 0, "nodes": []}
    await client.stores.comments.add(comment("two", username="ann"))
    for name in ("bob", "cy", "di"):
        assert (await client.report("two", Viewer(name)))["userErrors"] == []
    assert await client.stores.comments.get("two") is None
    again = await client.report("two", Viewer("ed"))
    assert again == {"reportedId": None, "userErrors": [{"field": None, "code": "NOT_FOUND"}]}


BAD: dict[str, tuple[Viewer, dict[str, object], Sequence[str] | None, str]] = {
    "one's own": (ANN, {}, ["input", "id"], "BAD_ARGUMENT"),
    "pending": (BOB, {"id": to_base64("Comment", "held")}, None, "NOT_FOUND"),
    "a submission": (BOB, {"id": to_base64("Submission", "held")}, None, "NOT_FOUND"),
    "one's own pending": (ANN, {"id": to_base64("Submission", "held")}, None, "NOT_FOUND"),
    "unknown": (BOB, {"id": to_base64("Comment", "none")}, None, "NOT_FOUND"),
    "no comment": (BOB, {"id": to_base64("Order", "one")}, ["input", "id"], "BAD_ARGUMENT"),
    "long": (BOB, {"text": "x" * 501}, ["input", "text"], "BAD_ARGUMENT"),
    "unexplained": (BOB, {"reason": "OTHER"}, ["input", "text"], "BAD_ARGUMENT"),
    "blank": (BOB, {"reason": "OTHER", "text": " \u200b"}, ["input", "text"], "BAD_ARGUMENT"),
}


@pytest.mark.parametrize("what", BAD)
async def test_a_report_of_anything_but_a_published_comment_is_refused(
    client: Asking, what: str
) -> None:
    viewer, given, field, code = BAD[what]
    await client.stores.comments.add(ONE)
    await client.stores.comments.add(
        comment("held", username="ann"), hold=held_for(ReviewCause.SETTING)
    )
    refused = await client.report("one", viewer, **given)
    path = None if field is None else list(field)
    assert refused == {"reportedId": None, "userErrors": [{"field": path, "code": code}]}
    assert await reports_in(client.stores.comments._table) == []


async def test_a_user_cannot_report_while_their_data_is_erased(client: Asking) -> None:
    await client.stores.comments.add(ONE)
    await client.stores.standings.rewrite("bob", lambda one: replace(one, erasing={}))
    given = {"id": to_base64("Comment", "one"), "reason": "SPAM"}
    context = Context(BOB, client.stores, services={Moderation: Moderation()})
    refused = await client.schema.execute(REPORT, {"input": given}, context_value=context)
    assert "being erased" in str(refused.errors)
    assert await reports_in(client.stores.comments._table) == []


async def test_a_decision_while_the_author_edits_is_a_conflict(client: Asking) -> None:
    await client.stores.comments.add(ONE)
    await client.report("one")
    await client.stores.comments.update("one", {"text": "new"}, anybody)
    node_id = to_base64("Comment", "one")
    decision = {"id": node_id, "seen": ONE.created_at.isoformat(), "verdict": "APPROVE"}
    decided = await client.ask(DECIDE, MODERATOR, decisions=[decision])
    assert [one["code"] for one in decided["userErrors"]] == ["CONFLICT"]
    assert (await client.ask(QUEUE, MODERATOR))["totalCount"] == 1


@SECOND_IN_SOAK
@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_after_any_history_the_queue_has_exactly_the_undecided_comments(
    each_table: Table, mode: MaintenanceMode
) -> None:
    await in_mode(each_table, mode)
    writers = Writers(each_table, 11, kills=0.1, writes=ALL_WRITES)
    await put_comments(Stores(each_table).comments, ROWS[:40])
    for number in range(0, 400, 4):
        await asyncio.gather(*(writers._write(number + one) for one in range(4)))
    await each_table.drain()
    assert writers.kinds["killed"] > 5
    assert ALL_WRITES.keys() <= writers.kinds.keys()
    assert mode is MaintenanceMode.STREAM or await verify(each_table, ignore) == []
    await check_cases(each_table)
    for name in ERASED[::5]:
        await erase(each_table, name)
        assert await scan(each_table, name, ignore, KINDS) == []
    found = await verify(each_table, ignore)
    assert found == [] or mode is MaintenanceMode.STREAM
    assert await reports_in(each_table)
    await check_cases(each_table)
