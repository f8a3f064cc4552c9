"""A user's data is exported and erased completely, even while this user and other users write."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from strawberry.relay import to_base64

from dal.composition import KINDS
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key, is_tombstone
from dal.kinds.item_kind import ItemKind, kind_of
from dal.model.owners import has_account
from dal.model.standings import Block
from dal.query.pagination import Slice
from dal.repositories.comments import AuthorSelection, Selection
from dal.stores import Stores
from dal.table.entity import packed, unpacked
from dal.table.errors import StoreRefusedError
from dal.table.items import Item, key_of, primary_key, versioned
from dal.table.key_parts import escape
from features.live.changes import CommentEventKind, change_of
from features.live.write_rule import Broker
from features.moderation.entity import case_key
from features.moderation.model import ReportReason
from features.one_per_person.marking import switch_on
from features.privacy import erasure
from features.privacy.erasure import Choices, Erased, Erasure
from features.privacy.personal_data import exported, find, kind_in, scan
from resolvers.context import Viewer
from schema.build import build_schema
from tests import recount
from tests.amazon import settle
from tests.fakes import FaultyClient
from tests.features.loading.bulk import load_rows
from tests.features.privacy.person import (
    COUNTS,
    NAME,
    SHOWN,
    fill,
    fill_namesakes,
    in_order,
    mentions,
)
from tests.items import all_items
from tests.proxy import LateNetwork, through_proxy
from tests.putting import put_comments
from tests.schema.conftest import runner
from tests.schema.ordering import codes
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import Killed, ignore

DELETE_ALL = Choices("delete", "delete", "delete")
RENAME_ALL = Choices("anonymize", "rename", "rename")
KEEP = Choices("delete", "keep", "keep")


async def at_once() -> None:
    """Do not wait: no other process writes."""


async def erase(
    table: Table,
    choices: Choices = DELETE_ALL,
    wait: Callable[[], Awaitable[None]] = at_once,
    name: str = NAME,
) -> Erased:
    return await Erasure(table, name, choices, KINDS).run(wait, ignore, ignore)


def kind_name(item: Item, name: str = NAME) -> str | None:
    kind = kind_in(item, name, KINDS)
    return None if kind is None else kind.name


async def counted(table: Table, name: str = NAME) -> Counter[str]:
    kinds = [kind_name(item, name) for item in await scan(table, name, ignore, KINDS)]
    return Counter(kind for kind in kinds if kind is not None)


async def test_an_export_has_every_item_that_names_the_user(each_table: Table) -> None:
    stores = Stores(each_table)
    await fill(stores, each_table)
    settle(each_table)
    items = await scan(each_table, NAME, ignore, KINDS)
    raw = [item for item in await all_items(each_table) if mentions(item)]
    assert in_order(items) == in_order(raw)
    assert await counted(each_table) == COUNTS
    queried = [item async for item in find(each_table, NAME, KINDS)]
    left = [item for item in items if item not in queried]
    assert [item["PK"]["S"] for item in left] == ["TICKET#former"]
    assert len(queried) == len(items) - 1, "each item is found once"
    data = exported(items, NAME, KINDS)
    assert sorted(one["state"] for one in data["comments"]) == [
        "PENDING",
        *["PUBLISHED"] * 3,
        "REJECTED",
    ]
    assert {one["name"] for one in data["comments"]} == {SHOWN}
    assert data["profile"] == {"fullName": SHOWN, "email": "z@example.org"}
    assert [(one["commentId"], one["reason"]) for one in data["reports"]] == [("other", "SPAM")]
    assert data["votes"] == [{"commentId": "other", "productId": "42", "username": NAME}]
    assert [(one["commentId"], one["decision"]) for one in data["decisions"]] == [
        ("theirs", "REJECTED")
    ]
    assert data["standing"]["block"]["reason"] == "Spam"
    assert data["blocks"][0]["username"] == "eve"
    (ordered,) = data["orders"]
    assert ordered["lines"][0]["unitPrice"] == {"amount": "12.50", "currency": "EUR"}
    assert data["purchases"] == [{"productId": "42"}]
    assert data["commented"] == [{"productId": "42", "commentId": "c1"}]
    assert {one["organization"] for one in data["tickets"]} == {"ac/me#1%", "former"}
    assert data["memberships"][0]["type"] == "ADMIN"
    assert len(data["idempotencyKeys"]) == 1


async def test_each_item_has_a_kind(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    await fill_namesakes(stores, table)
    await switch_on(table, at_once, ignore)
    await erase(table)
    unknown = [item for item in await all_items(table) if kind_of(item, KINDS) is None]
    assert unknown == []


@pytest.mark.parametrize("choices", [DELETE_ALL, RENAME_ALL, KEEP], ids=["all", "rename", "keep"])
async def test_only_kept_items_name_an_erased_user(each_table: Table, choices: Choices) -> None:
    stores = Stores(each_table)
    await fill(stores, each_table)
    settle(each_table)
    done = await erase(each_table, choices)
    to_keep = {kind.name for kind in KINDS if choices.fate(kind) == "keep"}
    kept = {kind: COUNTS[kind] for kind in COUNTS if kind in to_keep}
    assert done.kept == kept
    expected = {kind: number for kind, number in COUNTS.items() if kind not in kept}
    del expected["standing"]
    assert done.erased == expected
    assert await counted(each_table) == kept
    raw = [item for item in await all_items(each_table) if mentions(item)]
    assert Counter(map(kind_name, raw)) == kept
    assert await verify(each_table, ignore) == []
    settle(each_table)
    assert len(await recount.check(each_table, "42")) == (3 if choices is RENAME_ALL else 1)
    await recount.check(each_table, "43")
    if not kept:
        items = await all_items(each_table)
        assert not any(SHOWN in str(item) for item in items)
        cases = {item["PK"]["S"] for item in items if item["PK"]["S"].startswith("CASE#")}
        own = set() if choices.comments == "delete" else {"CASE#c1", "CASE#c4"}
        assert cases == {"CASE#theirs"} | own
    records = [one for one in await all_items(each_table) if one["PK"]["S"].startswith("ERASURE#")]
    assert len(records) == 1
    assert await erase(each_table, choices) == Erased(Counter(), Counter(kept)), "and again"


@pytest.mark.parametrize("choices", [DELETE_ALL, RENAME_ALL], ids=["all", "rename"])
async def test_a_user_is_erased_from_a_table_with_one_comment_per_person(
    table: Table, choices: Choices
) -> None:
    await fill(Stores(table), table)
    await switch_on(table, at_once, ignore)
    await erase(table, choices)
    assert await counted(table) == {}
    assert not any(mentions(item) for item in await all_items(table))
    further = await switch_on(table, at_once, ignore)
    assert {one.username for one in further} == {"other"}
    assert await verify(table, ignore) == []


async def test_two_erased_moderators_leave_no_valid_user_name(table: Table) -> None:
    stores = Stores(table)
    for name in (NAME, "erased"):
        of = escape(name)
        await fill(stores, table, name, of)
        await erase(table, name=name)
        assert await counted(table, name) == {}
        await stores.reports.report(f"{of}other", "late", ReportReason.SPAM, "", 9)
        await stores.blocks.block(f"{of}eve", "Spam", by="mo")
    assert await counted(table, "erased") == {}


async def test_items_of_users_with_similar_names_are_unchanged(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    before = await fill_namesakes(stores, table)
    assert len(before) == 5
    await erase(table)
    after = await table.get_many([key_of(item) for item in before])
    assert in_order(after) == in_order(before)
    assert await counted(table) == {}


async def test_renamed_data_has_random_names_and_no_photos(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    await erase(table, RENAME_ALL)
    (ordered,) = (await stores.orders.open_page(Slice(9))).nodes
    former = await stores.tickets.get("former")
    assert former is not None
    shown = (await stores.comments.page(Selection("42"), Slice(9))).nodes
    mine = [one for one in shown if one.username != "other"]
    names = {ordered.customer_name, former.author_name, *(one.author_name for one in mine)}
    assert (len(mine), len(names)) == (2, 4)
    assert not any(map(has_account, names))
    own = await stores.comments.page_of_author(AuthorSelection(mine[0].username), Slice(9))
    assert own.nodes == mine[:1]
    queued = (await stores.moderation.queue(Slice(9))).nodes[0].submission
    assert queued is not None
    assert queued.author_name.startswith("erased-")
    assert [*(one.photos for one in mine), queued.photos] == [(), (), ()]


async def test_a_retry_after_the_erase_does_not_restore_the_comment(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    await erase(table)
    tombstones = list(filter(is_tombstone, await all_items(table)))
    (keyed,) = [item["keyed"]["S"] for item in tombstones if "keyed" in item]
    assert keyed.endswith("#"), "no digest of the text stays"
    with pytest.raises(Exception, match="idempotency key"):
        await stores.comments.add(comment(username=NAME, name=SHOWN, text="keyed"), "key")


ADD = """mutation Add($input: AddCommentInput!) { addComment(input: $input) {
  comment { id } userErrors { code } } }"""
EDIT = """mutation Edit($input: UpdateCommentInput!) { updateComment(input: $input) {
  comment { id } userErrors { code } } }"""


REPORT = """mutation Report($input: ReportCommentInput!) { reportComment(input: $input) {
  userErrors { code } } }"""


async def test_a_user_who_continues_to_write_is_refused_and_erased(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    await stores.blocks.unblock(NAME)
    viewer = Viewer(NAME, name=SHOWN)
    run = runner(build_schema(), Stores(table))
    added_last, ended = asyncio.Event(), asyncio.Event()
    refused: set[str] = set()
    theirs = to_base64("Comment", "other")

    async def write(number: int) -> None:
        nonlocal refused
        for turn in count():
            text = f"{number}/{turn}"
            new = {"productId": "42", "rating": 3, "language": "en", "text": text}
            added = await run(ADD, viewer, input=new)
            if ended.is_set():
                return
            if added["errors"]:
                assert codes(added) == ["FORBIDDEN"]
                assert "being erased" in added["errors"][0]["message"]
                added_last.set()
            else:
                ids = {"id": added["data"]["addComment"]["comment"]["id"]}
                edited = await run(EDIT, viewer, input={**ids, "text": "edited"})
                assert set(codes(edited)) <= {"FORBIDDEN"}
            reported = await run(REPORT, viewer, input={"id": theirs, "reason": "SPAM"})
            assert set(codes(reported)) <= {"FORBIDDEN"}
            refused |= set(codes(reported))
            await asyncio.sleep(0)

    async def settled() -> None:
        await asyncio.wait_for(added_last.wait(), 60)

    writers = [asyncio.create_task(write(number)) for number in range(3)]
    try:
        await erase(table, DELETE_ALL, settled)
        ended.set()
        found = await counted(table)
    finally:
        ended.set()
        await asyncio.gather(*writers)
    # The last writes may have started before the erasure was announced, or after it ended.
    assert found.keys() <= {"comments", "reports"}
    assert found["comments"] <= len(writers)
    assert refused == {"FORBIDDEN"}
    assert await verify(table, ignore) == []


class Mortal(FaultyClient):
    """A client that fails after a number of writes, as if its process had been killed."""

    READS = frozenset({"get_item", "query", "scan", "batch_get_item", "describe_table"})

    def __init__(self, client: Any, writes: int) -> None:
        super().__init__(client)
        self.writes = writes

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await super().call(operation, arguments)
        if operation not in self.READS:
            self.writes -= 1
            if self.writes == 0:
                raise Killed
        return answer


async def test_a_second_run_completes_an_erase_that_was_killed_after_any_write(
    table: Table,
) -> None:
    step = 1 if settings().max_examples >= 1_000 else 3  # the soak tests kill after each write
    for number in count(1, step):
        name, choices = f"zoe{number}", (DELETE_ALL, RENAME_ALL)[number % 2]
        await fill(Stores(table), table, name, of=f"{number}-")
        engine = Mortal(table.service, number)
        with suppress(BaseExceptionGroup, Killed):
            await erase(Table(engine, table.name), choices, name=name)
        await erase(table, choices, name=name)
        assert await counted(table, name) == {}
        if engine.writes > 0:
            break
    assert number > 15
    assert not any(mentions(item, "zoe") for item in await all_items(table))
    assert await verify(table, ignore) == []


class Loading(FaultyClient):
    """A client of an erasure. Before each of its scans, a load writes a comment of the user."""

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation == "scan":
            loaded = Stores(Table(self._client, arguments["TableName"])).comments
            await load_rows(loaded, [comment("loaded", username=NAME)])
        return await super().call(operation, arguments)


async def test_a_load_that_does_not_end_is_reported(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    with pytest.raises(ConflictError, match=f"of {NAME}: "):
        await erase(Table(Loading(table.service), table.name))
    assert (await stores.standings.permission(NAME)).erasing
    await erase(table)
    assert await counted(table) == {}


async def test_without_a_scan_two_passes_over_the_indexes_are_enough(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "PAUSE_SECONDS", 0)
    await fill(Stores(table), table)
    await Erasure(table, NAME, DELETE_ALL, KINDS).run(at_once, ignore, None)
    assert await counted(table) == {"tickets": 1}, "of an organisation that the user left"


async def test_an_unknown_kind_is_refused_before_anything_changes(table: Table) -> None:
    await fill(Stores(table), table)
    vote = primary_key("LIKES#c1", escape(NAME)) | packed({"x": 1})
    await table.put_many(
        [vote | {"GSI5PK": {"S": f"DID#{escape(NAME)}"}, "GSISK": {"S": "VOTE#c1"}}]
    )
    before = await all_items(table)
    with pytest.raises(StoreRefusedError, match="LIKES#c1 / "):
        await erase(table)
    assert await all_items(table) == before


async def test_a_continued_erase_keeps_its_first_choices(table: Table) -> None:
    await fill(Stores(table), table)

    async def interrupted() -> None:
        raise Killed

    with suppress(Killed):
        await erase(table, RENAME_ALL, interrupted)
    with pytest.raises(StoreRefusedError, match="--comments anonymize --orders rename --tickets"):
        await erase(table, DELETE_ALL)
    await erase(table, RENAME_ALL)
    assert await counted(table) == {}


async def test_an_item_that_cannot_be_decoded_is_exported_and_erased(table: Table) -> None:
    author = {"GSI5PK": {"S": f"AUTHOR#{escape(NAME)}"}, "GSISK": {"S": "x"}}
    await table.put_many([comment_key("odd") | author | {"data": {"S": "{"}}])
    items = await scan(table, NAME, ignore, KINDS)
    (odd,) = exported(items, NAME, KINDS)["comments"]
    assert odd["unreadable"]["PK"] == {"S": "COMMENT#odd"}
    await erase(table, RENAME_ALL)
    assert await counted(table) == {}


async def test_listeners_see_an_anonymized_comment_as_changed() -> None:
    broker = Broker()
    listener = broker.log.listen(Selection("42"), None)
    old = comment(username=NAME, name=SHOWN)
    new = old._replace(username="erased-1", name=None)
    kinds = CommentEventKind
    assert (await anext(listener)).kind is kinds.READY
    events = []
    for change in ((None, old), (old, new), (new, None)):
        broker.publish(change_of(*change))
        events.append(await anext(listener))
    assert [one.kind for one in events] == [kinds.ADDED, kinds.CHANGED, kinds.DELETED]
    edge = events[1].comment_edge
    assert edge is not None
    assert edge.node == new


async def test_comments_no_longer_count_the_votes_of_an_erased_user(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    assert (await stores.comments.get_many(["other"]))["other"].votes == 1
    await erase(table)
    for finish in list(table.unfinished):
        await finish()
    assert (await stores.comments.get_many(["other"]))["other"].votes == 0


async def test_a_record_has_the_counts_of_interrupted_runs_too(table: Table) -> None:
    counts = []
    for number, fails in enumerate([False, True]):
        name = f"zoe{number}"
        await fill(Stores(table), table, name, of=f"{number}-")

        def interrupted(_: int, fails: bool = fails) -> None:
            if fails:
                raise Killed

        with suppress(Killed):
            await Erasure(table, name, DELETE_ALL, KINDS).run(at_once, interrupted, ignore)
        if fails:
            counts.append((await erase(table, name=name)).erased)
        else:
            records = [one for one in await all_items(table) if "ERASURE#" in one["PK"]["S"]]
            (record,) = map(unpacked, records)
            counts.append(Counter(record["erased"]))
    assert counts[0] == counts[1]
    assert counts[0].total() > 10


async def test_without_a_scan_items_that_an_index_shows_late_are_erased_after_a_pause(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(Stores(table), table)
    sleep, pauses = asyncio.sleep, 0

    async def late(seconds: float) -> None:
        nonlocal pauses
        if seconds != erasure.PAUSE_SECONDS:
            await sleep(seconds)
            return
        pauses += 1
        if pauses == 1:
            await put_comments(Stores(table).comments, [comment("late", username=NAME)])

    monkeypatch.setattr(asyncio, "sleep", late)
    done = await Erasure(table, NAME, DELETE_ALL, KINDS).run(at_once, ignore, None)
    assert pauses == 2
    assert done.erased["comments"] == COUNTS["comments"] + 1


async def test_items_of_different_kinds_are_not_erased_in_parallel(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the membership went first, an interrupted erasure could not find the tickets."""
    await fill(Stores(table), table)
    batches: list[set[str | None]] = []

    async def recorded(self: Erasure, items: Sequence[Item]) -> None:
        batches.append({kind_name(item) for item in items})
        await original(self, items)

    original = Erasure._erase
    monkeypatch.setattr(Erasure, "_erase", recorded)
    await Erasure(table, NAME, DELETE_ALL, KINDS)._pass()
    assert all(len(kinds) <= 1 for kinds in batches)
    kinds = [kind for one in batches for kind in one]
    assert kinds.index("tickets") < kinds.index("memberships")


async def test_a_decision_that_is_newer_than_the_erasures_read_stays(table: Table) -> None:
    stores = Stores(table)
    await fill(stores, table)
    stale = await table.get(case_key("theirs"))
    assert stale is not None
    held = await stores.moderation.get("theirs", lambda _: True)
    assert held is not None
    await stores.moderation.approve("theirs", held.updated_at or held.created_at, "max")
    newer = await table.get(case_key("theirs"))
    await Erasure(table, NAME, DELETE_ALL, KINDS)._erase_item(stale)
    assert await table.get(case_key("theirs")) == newer != stale


@pytest.mark.parametrize(
    ("kind", "choices"),
    [
        *((kind, DELETE_ALL) for kind in ("profile", "reports", "votes")),
        *((kind, RENAME_ALL) for kind in ("orders", "tickets")),
    ],
)
async def test_an_item_that_is_newer_than_the_erasures_read_stays(
    table: Table, kind: str, choices: Choices
) -> None:
    await fill(Stores(table), table)
    stale = next(one for one in await scan(table, NAME, ignore, KINDS) if kind_name(one) == kind)
    newer = versioned(stale)
    await table.put_many([newer])
    await Erasure(table, NAME, choices, KINDS)._erase_item(stale)
    assert await table.get(key_of(stale)) == newer


@pytest.mark.parametrize("choices", [DELETE_ALL, RENAME_ALL], ids=["delete", "rename"])
async def test_a_comment_that_a_load_gave_to_another_user_stays(
    table: Table, choices: Choices
) -> None:
    stores = Stores(table)
    await fill(stores, table)
    stale = await table.get(comment_key("c1"))
    assert stale is not None
    theirs = comment("c1", username="other")
    await put_comments(stores.comments, [theirs])
    await Erasure(table, NAME, choices, KINDS)._erase_item(stale)
    assert (await stores.comments.get_many(["c1"]))["c1"].username == "other"


async def test_a_delayed_end_of_an_erasure_does_not_remove_a_later_block(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "PAUSE_SECONDS", 0.0)
    network, block = LateNetwork(), Block(NAME, "Spam.", datetime.now(UTC))
    async with through_proxy(table) as (beyond, proxy):
        proxy.choose = network.choose
        await Erasure(beyond, NAME, Choices(), KINDS).run(at_once, ignore, None)
        proxy.pass_all()
        await Stores(beyond).standings.rewrite(NAME, lambda one: replace(one, block=block))
        before = await all_items(table)
        assert await network.deliver() > 0
        assert await all_items(table) == before


async def test_running_servers_hear_of_an_erasure_of_comments_after_its_last_item(
    table: Table,
) -> None:
    await fill(Stores(table), table)
    found: list[Counter[str]] = []

    async def announced(table: Table, record: str) -> None:
        assert await table.get(primary_key(f"ERASURE#{record}")) is None, "it is written last"
        found.append(await counted(table))

    def with_forget(kind: ItemKind) -> ItemKind:
        return replace(kind, forget=announced) if kind.name == "comments" else kind

    kinds = [with_forget(kind) for kind in KINDS]
    await Erasure(table, NAME, DELETE_ALL, kinds).run(at_once, ignore, ignore)
    assert found == [Counter({"standing": 1})]
    await Erasure(table, "nobody", DELETE_ALL, kinds).run(at_once, ignore, ignore)
    assert len(found) == 1, "nobody had a comment"


async def test_an_ended_block_is_no_data_about_a_user(table: Table) -> None:
    standings = Stores(table).standings
    block = Block("ana", "Spam", datetime.now(UTC))
    await standings.rewrite("ana", lambda one: replace(one, block=block))
    assert exported(await all_items(table), "ana", KINDS)["standing"] is not None
    await standings.rewrite("ana", lambda one: replace(one, block=None))
    assert exported(await all_items(table), "ana", KINDS)["standing"] is None
