"""Submissions of users: pages equal the oracle's, and the moderation rule applies to every text."""

import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import comment_position
from dal.model import Comment, Reply
from dal.model.shop_aspects import ShopAspects
from dal.model.submissions import ReviewCause, Submission, SubmissionState
from dal.query.pagination import Slice
from dal.repositories.comments import AuthorSelection, Selection
from dal.stores import Stores
from dal.table.key_parts import escape
from dal.writes.comments import version
from dal.writes.overwrite import Outcome
from features.aspects.settings import labels_of
from features.live.write_rule import Broker
from features.moderation.model import QueueKind
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation, WordList
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests import oracle
from tests.calls import calls_of
from tests.dal.repositories.test_author_index import COMMENTS, NAMES, TEN, of
from tests.dal.repositories.test_observer import Recorder
from tests.engines import SECOND_IN_SOAK
from tests.fakes import anybody
from tests.features.loading.bulk import load_rows
from tests.features.loading.writes import LOADS
from tests.features.moderation.edits import edit_by_author
from tests.features.moderation.writes import MODERATION
from tests.features.votes.writes import VOTES
from tests.moderating import edit_for, held_for
from tests.recount import comments_of
from tests.schema.conftest import ANN, MODERATOR, runner
from tests.schema.ordering import codes
from tests.strategies import TIES, comment
from tests.verifying import verify
from tests.writers import PRODUCTS, WRITES, Writers, ignore

ADD = """mutation Add($input: AddCommentInput!) { addComment(input: $input) {
  comment { id } commentEdge { node { text } } submission { id state cause text }
  userErrors { code } } }"""
EDIT = """mutation Edit($input: UpdateCommentInput!) { updateComment(input: $input) {
  comment { id text } submission { id state cause text } userErrors { code } } }"""
WORDS = Moderation(words=WordList(["spam"]))
BEFORE = Moderation(before_publishing=True)


async def test_a_users_pages_of_submissions_equal_the_oracles(each_table: Table) -> None:
    stores = Stores(each_table)
    for number, one in enumerate(COMMENTS):
        await stores.comments.add(one, hold=held_for(ReviewCause.SETTING if number % 3 else None))
    held = [one for number, one in enumerate(COMMENTS) if number % 3]

    async def walked(author: str, *, backward: bool, reverse: bool, **dates: Any) -> list[Comment]:
        read = partial(stores.moderation.page, author, **dates)
        rows = await oracle.walk_pages(read, 3, backward=backward, reverse=reverse)
        return [row.published() for row in rows]

    for number, author in enumerate(NAMES):
        backward, reverse = bool(number & 1), bool(number & 2)
        found = await walked(author, backward=backward, reverse=reverse)
        assert found == of(author, held)[:: -1 if reverse else 1]
    dates = {"created_from": TEN[0], "created_before": TEN[1]}
    found = await walked("ana", backward=False, reverse=False, **dates)
    assert found == [one for one in of("ana", held) if TEN[0] <= one.created_at < TEN[1]]


async def test_the_queue_equals_the_oracles(each_table: Table) -> None:
    stores = Stores(each_table)
    held = COMMENTS[::2]
    for one in COMMENTS:
        cause = ReviewCause.SETTING if one in held else None
        await stores.comments.add(one, hold=held_for(cause))
    for backward, size in ((False, 7), (True, 20)):
        rows = await oracle.walk_pages(stores.moderation.queue, size, backward=backward)
        found = [row.submission.published() for row in rows if row.submission]
        assert found == sorted(held, key=lambda one: (one.created_at, escape(one.comment_id)))
    assert await stores.moderation.queue_length(QueueKind.PENDING) == len(held)


class Changing:
    """A user's comments, which a test publishes, holds for review, rejects and deletes at
    random.
    """

    def __init__(self, table: Table) -> None:
        self.stores, self.chance = Stores(table), random.Random(5)
        self.shown: dict[str, Comment] = {}
        self.held: dict[str, Submission] = {}

    async def fill(self) -> None:
        for number in range(50):
            at = oracle.START + timedelta(hours=number // 2)
            one = comment(f"c{number}", username="ana", created_at=at)
            await self.stores.comments.add(
                one, hold=held_for(ReviewCause.SETTING if number % 2 else None)
            )
            await self._note(one.comment_id)

    async def change(self) -> None:
        comments, moderation = self.stores.comments, self.stores.moderation
        one: Any = self.chance.choice([*self.shown.values(), *self.held.values()])
        other = f"No {self.chance.random()}."
        match self.chance.choice(["approve", "reject", "edit", "delete"]):
            case "approve":
                await moderation.approve(one.comment_id, version(one), "mo")
            case "reject":
                await moderation.reject(one.comment_id, version(one), "mo", other)
            case "edit":
                changes, cause = {"text": other}, ReviewCause.WORDS
                await comments.update(one.comment_id, changes, anybody, edit_for(cause))
            case _:
                await comments.delete(one.comment_id, anybody)
        await self._note(one.comment_id)

    async def _note(self, comment_id: str) -> None:
        self.shown.pop(comment_id, None)
        self.held.pop(comment_id, None)
        if one := await self.stores.comments.get(comment_id):
            self.shown[comment_id] = one
        elif held := await self.stores.moderation.get(comment_id):
            self.held[comment_id] = held

    def pending(self) -> list[Submission]:
        return [one for one in self.held.values() if one.state is SubmissionState.PENDING]


def by_date(one: Any) -> object:
    return comment_position(one.published() if isinstance(one, Submission) else one)


def by_wait(one: Submission) -> object:
    return one.queued_at, escape(one.comment_id)


@SECOND_IN_SOAK
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("which", ["an author's", "a user's submissions", "the queue"])
async def test_a_list_equals_the_oracles_while_states_change(
    each_table: Table, which: str, *, backward: bool
) -> None:
    there = Changing(each_table)
    await there.fill()
    lists: dict[str, tuple[Any, Callable[[], Iterable[Any]], Callable[[Any], Any], bool]] = {
        "an author's": (
            partial(there.stores.comments.page_of_author, AuthorSelection("ana")),
            there.shown.values,
            by_date,
            True,
        ),
        "a user's submissions": (
            partial(there.stores.moderation.page, "ana"),
            there.held.values,
            by_date,
            True,
        ),
        "the queue": (there.stores.moderation.queue, there.pending, by_wait, False),
    }
    read, live, place, descending = lists[which]
    descends = descending is not backward
    end, last, pages, more = None, None, 0, True
    while more:
        pages += 1
        ordered = sorted(live(), key=place, reverse=descends)
        ahead = [
            one
            for one in ordered
            if last is None or (place(one) < last if descends else place(one) > last)
        ]
        page = await read(oracle.next_cut(3, end, backward=backward))
        nodes = [getattr(node, "submission", node) for node in page.nodes]
        walked = nodes[::-1] if backward else nodes
        assert [one.comment_id for one in walked] == [one.comment_id for one in ahead[:3]]
        info = page.page_info
        more = info.has_previous_page if backward else info.has_next_page
        assert more is (len(ahead) > 3)
        if walked:
            end, last = page.edges[0 if backward else -1].position, place(walked[-1])
        await there.change()
        await there.change()
    assert pages > 3


class Client:
    """Sends mutations under a moderation rule, and returns their payloads."""

    def __init__(self, schema: Schema, table: Table, rule: Moderation) -> None:
        self.schema, self.stores, self.rule = schema, Stores(table), rule

    async def send(self, operation: str, viewer: Viewer, **given: object) -> dict[str, Any]:
        context = Context(
            viewer,
            self.stores,
            services={Moderation: self.rule, ShopAspects: labels_of("fit,quality")},
            publication=ModeratedPublication(self.rule),
        )
        result = await self.schema.execute(operation, {"input": given}, context_value=context)
        assert not result.errors
        assert result.data is not None
        (payload,) = result.data.values()
        assert payload["userErrors"] == []
        return payload  # type: ignore[no-any-return]

    async def add(self, text: str, viewer: Viewer = ANN) -> dict[str, Any]:
        new = {"productId": "42", "rating": 5, "language": "en", "text": text}
        return await self.send(ADD, viewer, **new)

    async def edit(self, node_id: str, text: str, viewer: Viewer = ANN) -> dict[str, Any]:
        return await self.send(EDIT, viewer, id=node_id, text=text)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return build_schema()


@pytest.fixture
def client(schema: Schema, table: Table) -> Client:
    return Client(schema, table, WORDS)


async def test_an_add_returns_an_edge_or_a_submission(client: Client) -> None:
    added = await client.add("good")
    assert (added["commentEdge"], added["submission"]) == ({"node": {"text": "good"}}, None)
    held = await client.add("Spam!")
    assert (held["comment"], held["commentEdge"]) == (None, None)
    assert held["submission"]["state"] == "PENDING"
    assert held["submission"]["cause"] is None, "its author does not see which words"
    client.rule = BEFORE
    held = await client.add("good")
    assert (held["submission"]["state"], held["submission"]["cause"]) == ("PENDING", "SETTING")
    client.rule = Moderation()
    assert (await client.add("spam"))["submission"] is None


@pytest.mark.parametrize(("user_id", "name"), [("bo", "Sp\u034fAm King"), ("spam", "spam")])
async def test_a_listed_word_in_the_shown_name_sends_a_comment_to_review(
    client: Client, user_id: str, name: str
) -> None:
    author = Viewer(user_id, name=name)
    held = (await client.add("good", author))["submission"]
    assert held["state"] == "PENDING"
    assert (await client.edit(held["id"], "better", author))["submission"]["text"] == "better"
    assert (await client.add("good", Viewer("spam", name="Bo")))["submission"] is None


async def test_an_edit_sends_a_comment_to_review_and_another_edit_publishes_it(
    client: Client,
) -> None:
    node_id = (await client.add("good"))["comment"]["id"]
    held = (await client.edit(node_id, "spam"))["submission"]
    assert held["text"] == "spam"
    assert held["id"] != node_id
    edited = await client.edit(held["id"], "good again")
    assert (edited["submission"], edited["comment"]["id"]) == (None, node_id)
    assert await client.stores.comments.total(Selection("42")) == 1


async def test_the_author_sees_the_reply_to_an_unpublished_comment(client: Client) -> None:
    one = comment("one", username="ann")._replace(reply=Reply("Thank you.", TIES[0]))
    await client.stores.comments.add(one, hold=held_for())
    run = runner(client.schema, client.stores)
    answer = await run("{ viewer { submissions { nodes { commentId reply { text } } } } }", ANN)
    assert answer["data"]["viewer"]["submissions"]["nodes"] == [
        {"commentId": "one", "reply": {"text": "Thank you."}}
    ]


async def test_an_edit_waits_for_a_moderator_if_all_comments_do(client: Client) -> None:
    node_id = (await client.add("good"))["comment"]["id"]
    client.rule = BEFORE
    held = (await client.edit(node_id, "better"))["submission"]
    shown = await client.edit(held["id"], "best", MODERATOR)
    assert held["cause"] == "EDIT"
    assert shown["submission"] == held | {"text": "best"}
    client.rule = Moderation()
    assert (await client.edit(held["id"], "well"))["submission"]["text"] == "well"


@pytest.mark.parametrize("rule", [WORDS, BEFORE], ids=["words", "before publishing"])
async def test_a_moderators_comment_is_published_at_once(client: Client, rule: Moderation) -> None:
    client.rule = rule
    added = await client.add("spam", MODERATOR)
    assert added["submission"] is None
    edited = await client.edit(added["comment"]["id"], "more spam", MODERATOR)
    assert edited["comment"]["text"] == "more spam"


async def test_a_blocked_users_texts_wait_for_a_moderator_under_any_rule(client: Client) -> None:
    client.rule = Moderation()
    node_id = (await client.add("good"))["comment"]["id"]
    await client.stores.blocks.block("ann", "Insults", by="mo")
    assert await client.stores.comments.total(Selection("42")) == 1, "what is published stays"
    assert (await client.add("fine"))["submission"]["state"] == "PENDING"
    rated = await client.send(EDIT, ANN, id=node_id, rating=1, text="good")
    assert rated["submission"] is None, "the text is as it was"
    held = (await client.edit(node_id, "better"))["submission"]
    assert held["text"] == "better"
    (first, second) = (await client.stores.moderation.queue(Slice(9))).nodes
    assert [one.submission and one.submission.cause for one in (first, second)] == ["BLOCKED"] * 2
    await client.stores.blocks.unblock("ann")
    assert (await client.edit(held["id"], "best"))["submission"], "a moderator has to decide"
    assert (await client.add("fine"))["submission"] is None
    await client.stores.blocks.block("mod", "Why not", by="mo")
    assert (await client.add("fine", MODERATOR))["submission"] is None


@pytest.mark.parametrize("rule", [WORDS, BEFORE], ids=["words", "before publishing"])
async def test_a_blocked_users_waiting_text_needs_a_moderator_when_the_rule_is_off(
    client: Client, rule: Moderation
) -> None:
    client.rule = rule
    held = (await client.add("spam"))["submission"]
    await client.stores.blocks.block("ann", "Insults", by="mo")
    client.rule = Moderation()
    rated = await client.send(EDIT, ANN, id=held["id"], rating=1)
    assert (rated["comment"], rated["submission"]["state"]) == (None, "PENDING")


APPROVE = """mutation Approve($input: ApproveCommentInput!) { approveComment(input: $input) {
  comment { id text createdAt } userErrors { code } } }"""
REJECT = """mutation Reject($input: RejectCommentInput!) { rejectComment(input: $input) {
  submission { id state reason } userErrors { code } } }"""


async def test_after_a_rejection_the_author_can_submit_the_comment_again(client: Client) -> None:
    stores = client.stores
    held = await stores.comments.add(COMMENTS[0], hold=held_for(ReviewCause.SETTING))
    assert isinstance(held, Submission)
    (which, seen) = (held.comment_id, version(held))
    rejected = await stores.moderation.reject(which, seen, "mo", "Off topic.")
    assert await stores.moderation.reject(which, seen, "mo", "Off topic.") == rejected
    assert (rejected.state, rejected.reason) == (SubmissionState.REJECTED, "Off topic.")
    assert (await stores.moderation.queue(Slice(9))).nodes == []
    again = await stores.comments.update(which, {"text": "new"}, anybody, edit_by_author())
    assert isinstance(again, Submission)
    assert (again.state, again.cause, again.reason) == (
        SubmissionState.PENDING,
        ReviewCause.EDIT,
        None,
    )
    with pytest.raises(ConflictError):
        await stores.moderation.approve(which, seen, "mo")
    with pytest.raises(ConflictError):
        await stores.moderation.reject(which, seen, "mo", "No.")
    edge = await stores.moderation.approve(which, version(again), "mo")
    assert edge.node._replace(touched_at=None) == again.published()
    assert await stores.moderation.approve(which, version(again), "mo") == edge
    gone = await stores.moderation.reject(which, version(again), "mo", "No.")
    assert await stores.comments.get(which) is None
    back = await stores.moderation.approve(which, version(gone), "mo")
    assert back.node._replace(touched_at=None) == again.published()


async def test_only_moderators_decide_and_only_on_the_version_that_they_have_read(
    client: Client,
) -> None:
    held = (await client.add("spam"))["submission"]
    (row,) = (await client.stores.moderation.queue(Slice(9))).nodes
    assert row.submission is not None
    seen = row.waiting_since.isoformat()
    for operation, more in ((APPROVE, {}), (REJECT, {"reason": "x"})):
        given = {"input": {"id": held["id"], "seen": seen, **more}}
        for viewer in (ANN, Viewer("sam", frozenset({"staff"}))):
            context = Context(viewer, client.stores)
            refused = await client.schema.execute(operation, given, context_value=context)
            assert codes({"errors": [one.formatted for one in refused.errors or []]}) == [
                "FORBIDDEN"
            ]
    payload = await client.send(REJECT, MODERATOR, id=held["id"], seen=seen, reason="No.")
    assert payload["submission"] == {"id": held["id"], "state": "REJECTED", "reason": "No."}
    payload = await client.send(APPROVE, MODERATOR, id=held["id"], seen=seen)
    assert payload["comment"]["text"] == "spam"


async def test_ratings_of_aspects_are_counted_only_while_the_comment_is_published(
    client: Client,
) -> None:
    rating = "aspects { name rating } "

    async def counted() -> object:
        return (await client.stores.comments.statistics_and_details("42"))[0].overall.sums

    async def seen() -> dict[str, object]:
        (row,) = (await client.stores.moderation.queue(Slice(9))).nodes
        assert row.submission is not None
        return {"seen": version(row.submission).isoformat()}

    client.rule = BEFORE
    new = {"productId": "42", "rating": 5, "language": "en", "text": "good"}
    operation = ADD.replace("submission { ", "submission { " + rating)
    given = [{"name": "fit", "rating": 2}]
    held = (await client.send(operation, ANN, **new, aspects=given))["submission"]
    assert (held["aspects"], await counted()) == (given, ())
    operation = EDIT.replace("submission { ", "submission { " + rating)
    better = [{"name": "fit", "rating": 4}, {"name": "quality", "rating": 1}]
    held = (await client.send(operation, ANN, id=held["id"], aspects=better))["submission"]
    assert (held["aspects"], await counted()) == (better, ())
    await client.send(APPROVE, MODERATOR, id=held["id"], **await seen())
    published = (("a_fit_n", 1), ("a_fit_s", 4), ("a_quality_n", 1), ("a_quality_s", 1))
    assert await counted() == published
    hidden = (await client.send(operation, ANN, id=held["id"], text="worse"))["submission"]
    assert (hidden["aspects"], await counted()) == (better, ())
    await client.send(REJECT, MODERATOR, id=held["id"], **await seen(), reason="No.")
    assert await counted() == ()
    again = (await client.send(operation, ANN, id=held["id"], text="good"))["submission"]
    assert again["aspects"] == better
    await client.send(APPROVE, MODERATOR, id=held["id"], **await seen())
    assert await counted() == published


@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_events_equal_the_differences_of_the_lists(
    table: Table, mode: MaintenanceMode
) -> None:
    """After each event, the comments that events have published are those of the list."""
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=mode)
    recorder = Recorder()
    writers = Writers(table, 3, writes={**WRITES, **LOADS, **MODERATION, **VOTES})
    writers.stores = [Stores(table, [recorder])]
    writers.stores *= 2
    for number in range(250):
        await writers._write(number)
    assert len(recorder.told) > 50
    assert (await Stores(table).moderation.queue(Slice(9))).nodes
    shown: dict[str, Comment] = {}
    for told in recorder.told:
        assert isinstance(told, tuple)
        old, new = told
        one = new or old
        assert one is not None
        assert shown.get(one.comment_id) == old
        shown.pop(one.comment_id, None)
        if new is not None:
            shown[one.comment_id] = new
    listed = [
        one for product in PRODUCTS for one in await comments_of(Stores(table).comments, product)
    ]
    assert {one.comment_id: one for one in listed} == shown
    if mode is MaintenanceMode.TRANSACTIONAL:
        assert await verify(table, ignore) == []


DECIDE = """mutation Decide($input: DecideCommentsInput!) { decideComments(input: $input) {
  ids userErrors { field code } } }"""


async def test_each_of_many_decisions_succeeds_or_fails_alone(client: Client) -> None:
    def decision(one: Comment, **more: object) -> dict[str, object]:
        seen = one.created_at.isoformat()
        verdict = "REJECT" if "reason" in more else "APPROVE"
        given = {"id": to_base64("Submission", one.comment_id), "seen": seen, "verdict": verdict}
        return given | more

    async def decide(*decisions: dict[str, object]) -> dict[str, Any]:
        context = Context(MODERATOR, client.stores)
        given = {"input": {"decisions": list(decisions)}}
        result = await client.schema.execute(DECIDE, given, context_value=context)
        assert not result.errors
        assert result.data is not None
        return result.data["decideComments"]  # type: ignore[no-any-return]

    rows = [comment(f"c{number}") for number in range(25)]
    for one in rows:
        await client.stores.comments.add(one, hold=held_for(ReviewCause.SETTING))
    calls = calls_of(client.stores.comments._table)
    approved, rejected = rows[:20], rows[20:23]
    payload = await decide(
        *map(decision, approved),
        *(decision(one, reason="No.") for one in rejected),
        decision(rows[23]._replace(created_at=TEN[0])),
        decision(comment("none")),
    )
    assert payload["ids"] == [decision(one)["id"] for one in (*approved, *rejected)]
    assert payload["userErrors"] == [
        {"field": ["input", "decisions", "23"], "code": "CONFLICT"},
        {"field": ["input", "decisions", "24"], "code": "NOT_FOUND"},
    ]
    assert await client.stores.comments.total(Selection("42")) == 20
    assert await client.stores.moderation.queue_length(QueueKind.PENDING) == 2
    assert calls.operations["TransactWriteItems"] < 10, (
        "approvals of a product are written together"
    )
    both = decision(rows[23]), decision(rows[23], reason="No.")
    for refused in (both, [decision(comment(f"d{number}")) for number in range(26)]):
        assert (await decide(*refused))["userErrors"] == [
            {"field": ["input", "decisions"], "code": "BAD_ARGUMENT"}
        ]
    unexplained = decision(rows[23], verdict="REJECT", reason=None)
    assert (await decide(decision(rows[23]), unexplained))["userErrors"] == [
        {"field": ["input", "decisions", "1", "reason"], "code": "BAD_ARGUMENT"}
    ]
    assert await client.stores.moderation.queue_length(QueueKind.PENDING) == 2
    assert await verify(client.stores.comments._table, ignore) == []


async def test_listeners_receive_an_event_when_a_comment_is_published_again(
    table: Table,
) -> None:
    """The text is the same each time.

    The log must not take the event for a late event of the add.
    """
    broker = Broker()
    stores = Stores(table, [broker])
    one = COMMENTS[0]
    listener = broker.log.listen(Selection(one.product_id), None)
    await stores.comments.add(one)
    kinds = [(await anext(listener)).kind.value for _ in range(2)]
    for _ in range(2):
        await stores.moderation.reject(one.comment_id, version(one), "mo", "No.")
        kinds.append((await anext(listener)).kind.value)
        await stores.moderation.approve(one.comment_id, version(one), "mo")
        kinds.append((await anext(listener)).kind.value)
    assert kinds == ["READY", "ADDED", "DELETED", "ADDED", "DELETED", "ADDED"]


async def test_a_load_keeps_the_time_of_publication(table: Table) -> None:
    stores = Stores(table)
    one = COMMENTS[0]
    await stores.comments.add(one, hold=held_for(ReviewCause.SETTING))
    await stores.moderation.approve(one.comment_id, version(one), "mo")
    assert await load_rows(stores.comments, [one]) == Outcome(unchanged=1)
