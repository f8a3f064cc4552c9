"""States of comments in loaded files, over stored comments and during moderators' decisions."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.model import Comment, Photo, Reply, rules
from dal.model.submissions import ReviewCause, Submission
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError
from dal.writes.comments import version
from dal.writes.overwrite import Outcome
from features.loading import parsers
from features.loading.column_mapping import make_column_mapping
from features.loading.kind import COMMENTS
from features.loading.loaded import CommentState, LoadedComment, state_of
from features.loading.rows import RejectsFile
from features.loading.run import Load
from features.loading.text_rows import read_jsonl
from server.progress import ProgressBar
from tests import recount
from tests.fakes import Answer, FaultyClient, Operation, anybody
from tests.features.loading.bulk import bulk_writer, load_rows
from tests.features.loading.reading import jsonl, row, source
from tests.moderating import held_for
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import ignore

PUBLISHED, PENDING, REJECTED = CommentState
Stored = Comment | Submission | None


async def load(table: Table, *rows: dict[str, object]) -> Load[Any]:
    opened = source(jsonl(rows))
    mapping = make_column_mapping(COMMENTS, [], [])
    work = Load(opened, read_jsonl(opened), mapping, RejectsFile(Path("/dev/null")))
    with ProgressBar("test", None) as progress:
        await work.run(bulk_writer(Stores(table).comments).put, progress)
    return work


async def there(table: Table, comment_id: str = "1") -> Stored:
    stores = Stores(table)
    return await stores.comments.get(comment_id) or await stores.moderation.get(comment_id)


async def approve(table: Table) -> None:
    one = await there(table)
    assert one is not None
    await Stores(table).moderation.approve("1", version(one), "mo")


async def reject(table: Table) -> None:
    one = await there(table)
    assert one is not None
    await Stores(table).moderation.reject("1", version(one), "mo", "No.")


async def check(table: Table, stored: Stored) -> None:
    """Check that lists, counts, leaderboards and the queue contain the comment if its
    state requires it.
    """
    shown = [stored] if isinstance(stored, Comment) else []
    assert await recount.check(table, "p") == shown
    assert (await Stores(table).comments.page(Selection("p"), Slice(9))).nodes == shown
    waiting = stored is not None and state_of(stored) is PENDING
    assert len((await Stores(table).moderation.queue(Slice(9))).nodes) == waiting
    assert await verify(table, ignore) == []


Step = Callable[[Table], Awaitable[object]]
WAITS = {"state": "PENDING"}
HISTORIES: dict[str, list[Step]] = {
    "pending": [lambda table: load(table, row(**WAITS))],
    "approved": [lambda table: load(table, row(**WAITS)), approve],
    "rejected": [lambda table: load(table, row(**WAITS)), reject],
    "published": [lambda table: load(table, row())],
    "published, then rejected": [lambda table: load(table, row()), reject],
    "approved, then rejected": [lambda table: load(table, row(**WAITS)), approve, reject],
}


@pytest.mark.parametrize("history", HISTORIES)
async def test_a_load_without_states_changes_no_state(table: Table, history: str) -> None:
    for step in HISTORIES[history]:
        await step(table)
    before = await there(table)
    assert before is not None
    tally = await load(table, row(text="loaded"))
    assert tally.outcome == Outcome(0, 1, 0)
    after = await there(table)
    assert after is not None
    assert after.text == "loaded"
    await load(table, row(text=before.text))
    last = await there(table)
    assert last is not None
    assert (last.text, state_of(last)) == (before.text, state_of(before))
    await check(table, last)


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("state", CommentState)
async def test_a_load_sets_the_state_of_the_row(
    table: Table, history: str, state: CommentState
) -> None:
    for step in HISTORIES[history]:
        await step(table)
    before = await there(table)
    assert before is not None
    await load(table, row(state=state.lower()))
    after = await there(table)
    assert after is not None
    assert state_of(after) == state
    if state_of(before) == state:
        assert after == before
    await check(table, after)
    assert (await load(table, row(state=state))).outcome == Outcome(0, 0, 1)


async def test_a_load_restores_a_deleted_comment_in_the_state_of_the_row(table: Table) -> None:
    await load(table, row(**WAITS))
    await Stores(table).comments.delete("1", anybody)
    await load(table, row(state="REJECTED", reason="Spam.", decided_at="2024-01-01"))
    after = await there(table)
    assert isinstance(after, Submission)
    assert (after.reason, after.cause) == ("Spam.", None)
    await Stores(table).comments.delete("1", anybody)
    await load(table, row())
    await check(table, await there(table))
    assert isinstance(await there(table), Comment)


@pytest.mark.parametrize("decide", [approve, reject])
async def test_a_load_does_not_undo_a_concurrent_decision_of_a_moderator(
    table: Table, decide: Step
) -> None:
    """The load reads the comment before the decision, and writes it after the decision."""
    await load(table, row(**WAITS), row("2", **WAITS))

    async def decided(real: Operation, arguments: Answer) -> Answer:
        answer = await real(**arguments)
        await decide(table)
        return answer

    faulty = Table(FaultyClient(table.service, decided), table.name)
    assert (await load(faulty, row(text="loaded"), row("2"))).outcome == Outcome(0, 1, 1)
    after = await there(table)
    assert after is not None
    assert after.text == "loaded"
    assert state_of(after) == (PUBLISHED if decide is approve else REJECTED)
    assert await verify(table, ignore) == []
    other = await there(table, "2")
    assert other is not None
    assert state_of(other) == PENDING


async def test_of_two_rows_with_one_id_the_later_keeps_the_state_of_the_earlier(
    table: Table,
) -> None:
    tally = await load(table, row(state="REJECTED"), row(text="later"))
    assert tally.outcome == Outcome(1, 1, 0)
    after = await there(table)
    assert isinstance(after, Submission)
    assert (after.text, state_of(after)) == ("later", REJECTED)
    await check(table, after)


async def test_helpful_votes_of_an_earlier_shop_change_only_by_files_with_votes(
    table: Table,
) -> None:
    await load(table, row(helpful_before="1,204"), row("2"))
    for unchanged in (row(), row(helpful_before=1204)):
        assert (await load(table, unchanged)).outcome == Outcome(0, 0, 1)
    one = await there(table)
    assert one is not None
    assert one.votes_before == 1204
    assert (await load(table, row(helpful_before=""))).outcome == Outcome(0, 1, 0)
    one = await there(table)
    assert one is not None
    assert one.votes_before == 0
    assert (await load(table, row(helpful_before="-1"))).rejected == 1


async def test_replies_change_only_by_files_with_replies(table: Table) -> None:
    replied = {"reply": "Thank you.", "replied_at": "2021-01-01"}
    await load(table, row(**replied))
    one = await there(table)
    assert one is not None
    assert one.reply == Reply("Thank you.", datetime(2021, 1, 1, tzinfo=UTC))
    assert (await load(table, row())).outcome == Outcome(0, 0, 1)
    assert (await load(table, row(state="PENDING"))).outcome == Outcome(0, 1, 0)
    await Stores(table).moderation.approve("1", one.created_at, "mo")
    shown = await there(table)
    assert (shown and shown.reply) == one.reply
    await Stores(table).comments.reply("1", "By a merchant.")
    assert (await load(table, row())).outcome == Outcome(0, 0, 1)
    await load(table, row(reply="", replied_at=""))
    bare = await there(table)
    assert bare is not None
    assert bare.reply is None
    await load(table, row(reply="Undated."))
    shown = await there(table)
    assert (shown and shown.reply) == Reply("Undated.", bare.created_at)
    await check(table, shown)


KETTLE = Photo("https://p.example/w_1,h_1/a;b.jpg")


@pytest.mark.parametrize(
    "cell",
    [
        f"{KETTLE.url},https://p.example/2.jpg",
        f" {KETTLE.url} ;  https://p.example/2.jpg ;",
        f"{KETTLE.url}\nhttps://p.example/2.jpg",
        json.dumps([KETTLE.url, "https://p.example/2.jpg"]),
        [{"url": KETTLE.url, "alt": ""}, {"url": "https://p.example/2.jpg"}],
        [{"image": KETTLE.url}, {"video": 1}, {"image": {"url": "https://p.example/2.jpg"}}],
    ],
    ids=["commas", "semicolons", "lines", "array as text", "objects", "of Wix"],
)
def test_a_cell_of_photos_is_loaded(cell: object) -> None:
    assert parsers.photos("photos", cell) == (KETTLE, Photo("https://p.example/2.jpg"))


def test_only_a_file_can_name_a_photo_on_the_server_itself() -> None:
    ours = Photo("/static/kettle.webp")
    assert parsers.photos("photos", [{"url": ours.url}, "//p.example/1.jpg"]) == (ours,)
    with pytest.raises(InvalidArgumentError):
        rules.photo_address("url", ours.url)


async def test_photos_change_only_by_files_with_photos(table: Table) -> None:
    await load(table, row(photos=[{"url": KETTLE.url, "alt": "Mine"}]))
    one = await there(table)
    assert one is not None
    assert one.photos == (replace(KETTLE, alt="Mine"),)
    assert (await load(table, row())).outcome == Outcome(0, 0, 1)
    await load(table, row(state="PENDING", photos=f"{KETTLE.url}, https://p.example/2.jpg"))
    held = await there(table)
    assert held is not None
    assert [photo.url for photo in held.photos] == [KETTLE.url, "https://p.example/2.jpg"]
    await load(table, row(photos=""))
    bare = await there(table)
    assert bare is not None
    assert bare.photos == ()
    assert version(bare) != version(held), "a moderator decides on what they have seen"
    await check(table, bare)


@pytest.mark.parametrize(
    ("cells", "column", "value"),
    [
        ({"state": "HIDDEN"}, "state", "'HIDDEN'"),
        ({"replied_at": "2021-01-01"}, "reply", "replied_at"),
        ({"reply": "x" * 2_001}, "reply", "2,001"),
        ({"photos": [KETTLE.url] * 11}, "photos", "11"),
        ({"state": True}, "state", "True"),
        ({"reason": "Spam."}, "reason", "REJECTED"),
        ({"state": "PUBLISHED", "queued_at": "2024-01-01"}, "queued_at", "PUBLISHED"),
    ],
)
async def test_an_unknown_state_rejects_the_row(
    table: Table, cells: dict[str, object], column: str, value: str
) -> None:
    said: list[str] = []
    opened = source(jsonl([row() | cells]))
    mapping = make_column_mapping(COMMENTS, [], [])
    work = Load(opened, read_jsonl(opened), mapping, RejectsFile(Path("/dev/null")))
    with ProgressBar("test", None) as progress:
        progress.say = said.append  # type: ignore[assignment, method-assign]
        await work.run(bulk_writer(Stores(table).comments).put, progress)
    (line,) = said
    assert line.startswith(f"sample:1: {column} ")
    assert value in line
    assert await there(table) is None


@pytest.mark.parametrize("published", [False, True])
async def test_a_moderator_does_not_approve_a_text_that_a_load_wrote_meanwhile(
    table: Table, *, published: bool
) -> None:
    stores = Stores(table)
    read = comment("1", username="ann", text="read")
    await stores.comments.add(read, hold=held_for(None if published else ReviewCause.SETTING))
    row = LoadedComment(read._replace(text="loaded"), {"state": CommentState.PENDING})
    for outcome in (Outcome(changed=1), Outcome(unchanged=1)):
        assert await load_rows(stores.comments, [row]) == outcome
    with pytest.raises(ConflictError):
        await stores.moderation.approve("1", version(read), "mo")
    held = await stores.moderation.get("1")
    assert held is not None
    approved = await stores.moderation.approve("1", version(held), "mo")
    assert approved.node.text == "loaded"
