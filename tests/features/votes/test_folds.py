"""Folds of helpful votes are exact after every race and fault, and overwrite no edit."""

import asyncio
import random
import sys
from collections.abc import Awaitable, Callable

import pytest

from dal.counts import deferred
from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, HELPFUL, comment_key
from dal.errors import NotFoundError
from dal.maintenance.rebuild import rebuild
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from dal.table.index import EXPIRES
from features.live.changes import version
from features.votes.entity import VOTES_A_SECOND, is_counted, is_vote, vote_key
from features.votes.folds import HelpfulFolds
from features.votes.kind import VoteCorrection
from features.votes.model import Vote
from tests.dal.repositories.test_observer import Recorder
from tests.engines import SECOND_IN_SOAK
from tests.fakes import (
    Answer,
    Fault,
    FaultyClient,
    Operation,
    anybody,
    client_error,
    let_pass,
    refuse,
)
from tests.putting import put_comments
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import ignore


async def added(table: Table, comment_id: str = "1", **fields: object) -> Stores:
    stores = Stores(table)
    await stores.comments.add(comment(comment_id, product_id="p", username="ann", **fields))
    return stores


def before_the_update(table: Table, fault: Fault) -> Table:
    """Return a table with a fault in its third call, in which a fold updates the comment."""
    return Table(FaultyClient(table.service, let_pass, let_pass, fault), table.name)


async def shown(table: Table, comment_id: str = "1") -> int:
    """Return a comment's number of votes, which is the same in the item and its index rows."""
    item = await table.get(comment_key(comment_id))
    assert item is not None
    one = COMMENT.decode(item)
    expected = COMMENT.encode(one)
    assert {name: item[name] for name in item if name not in COMMENT.marks} == expected
    assert (HELPFUL.sort_key in item) is (one.helpful_count > 0)
    page = await Stores(table).comments.page(Selection("p"), Slice(100))
    assert one in page.nodes
    return one.votes


async def test_a_vote_is_shown_after_a_fold_and_is_not_an_edit(each_table: Table) -> None:
    stores = await added(each_table, votes_before=3)
    before = await stores.comments.get("1")
    assert before is not None
    assert (await stores.votes.mark("1", "bob")).helpful_count == 4
    assert (await stores.votes.mark("1", "bob")).helpful_count == 4, "a second vote is none"
    assert await shown(each_table) == 0
    await stores.folds.finish()
    assert await shown(each_table) == 1
    after = await stores.comments.get("1")
    assert after == before._replace(votes=1)
    assert version(after) == version(before)
    assert (await stores.votes.mark("1", "bob", helpful=False)).helpful_count == 3
    assert (await stores.votes.mark("1", "bob", helpful=False)).helpful_count == 3, (
        "nothing is withdrawn"
    )
    assert EXPIRES in (await each_table.get(vote_key("1", "bob")) or {})
    await stores.folds.finish()
    assert await stores.comments.get("1") == before
    assert (stores.folds.folded, await verify(each_table, ignore)) == (2, [])


async def test_loaded_votes_and_votes_with_a_lost_response_are_folded(table: Table) -> None:
    stores = await added(table)
    await stores.votes.put_many([Vote("1", "p", "bob")])
    await stores.folds.finish()
    assert await shown(table) == 1

    async def lost(real: Operation, arguments: Answer) -> Answer:
        await real(**arguments)
        raise client_error("AccessDeniedException")

    unsure = Stores(Table(FaultyClient(table.service, let_pass, lost), table.name))
    with pytest.raises(StoreRefusedError):
        await unsure.votes.mark("1", "eve")
    assert unsure.folds.pending == {"1"}
    await unsure.folds.finish()
    assert await shown(table) == 2


async def test_a_vote_that_another_request_changes_meanwhile_is_written_again(table: Table) -> None:
    stores = await added(table)

    async def voted_first(real: Operation, arguments: Answer) -> Answer:
        await stores.votes.mark("1", "bob")
        return await real(**arguments)

    slow = Stores(Table(FaultyClient(table.service, let_pass, voted_first), table.name))
    assert (await slow.votes.mark("1", "bob", helpful=False)).helpful_count == 0
    await slow.folds.finish()
    await stores.folds.finish()
    assert await shown(table) == 0


async def test_votes_that_are_loaded_before_their_comment_count(table: Table) -> None:
    stores = Stores(table)
    await stores.votes.put_many([Vote("1", "p", "bob")])
    await stores.folds.finish()
    await added(table)
    await stores.votes.mark("1", "eve")
    await stores.folds.finish()
    assert await shown(table) == 2


async def test_a_stored_vote_is_a_success_although_it_cannot_be_counted(table: Table) -> None:
    await added(table, votes_before=3)
    client = FaultyClient(
        table.service, let_pass, let_pass, refuse(client_error("AccessDeniedException"))
    )
    stores = Stores(Table(client, table.name))
    assert (await stores.votes.mark("1", "bob")).helpful_count == 4
    await stores.folds.finish()
    assert await shown(table) == 1


@pytest.mark.parametrize("seed", range(3))
async def test_each_answer_has_the_present_number_of_votes(table: Table, seed: int) -> None:
    rng, processes = random.Random(seed), [await added(table, votes_before=50), Stores(table)]
    voted: set[str] = set()
    for _ in range(25):
        stores, name = rng.choice(processes), rng.choice(["bob", "eve", "max"])
        before = len(voted), name in voted
        match rng.randrange(4):
            case 0:
                await stores.folds.work("1")
            case 1:
                voted.discard(name)
                shown = await stores.votes.mark("1", name, helpful=False)
                assert shown.helpful_count == 50 + len(voted)
            case _:
                voted.add(name)
                assert (await stores.votes.mark("1", name)).helpful_count == 50 + len(voted)
        if before != (len(voted), name in voted):
            recent = (await rng.choice(processes).votes.recent(name))["1"]
            assert (recent.helpful, recent.votes) == (name in voted, len(voted))


async def test_many_votes_are_not_counted_for_an_answer(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = await added(table)
    with monkeypatch.context() as patch:
        patch.setattr("features.votes.entity.RECENT_SECONDS", -1)
        for name in ("eve", "max"):
            await stores.votes.mark("1", name)
    await stores.folds.finish()
    monkeypatch.setattr("features.votes.repository.MOST_EXACT", 2)
    for helpful, name, shown_votes in ((True, "bob", 3), (True, "eve", 2), (False, "max", 1)):
        assert (await stores.votes.mark("1", name, helpful=helpful)).votes == shown_votes


@pytest.mark.parametrize("killed", [False, True], ids=["", "killed"])
async def test_votes_follow_a_comment_that_a_load_moves(table: Table, *, killed: bool) -> None:
    stores = await added(table)
    await added(table, "2")
    await stores.votes.mark("1", "bob")
    await stores.votes.mark("1", "eve")
    await stores.votes.mark("1", "eve", helpful=False)
    await stores.folds.finish()
    one = await stores.comments.get("1")
    assert one is not None
    await put_comments(
        stores.comments, [one._replace(product_id="q"), comment("3", product_id="q")]
    )
    if killed:
        await verify(table, ignore)
    else:
        await stores.folds.finish()
    comments = (await stores.comments.page(Selection("q"), Slice(9))).nodes
    assert len(comments) == 2
    assert await stores.votes.marked("bob", comments) == {"1"}
    assert await stores.votes.marked("eve", comments) == set()
    await stores.votes.mark("1", "bob", helpful=False)
    await stores.folds.finish()
    assert (await stores.comments.get("1") or one).votes == 0


async def test_listeners_receive_no_event_for_a_vote(table: Table) -> None:
    recorder = Recorder()
    await added(table)
    stores = Stores(table, [recorder])
    await stores.votes.mark("1", "bob")
    await stores.folds.finish()
    assert await shown(table) == 1
    assert recorder.told == []


async def test_an_edit_keeps_the_votes_and_a_fold_keeps_the_edit(table: Table) -> None:
    stores = await added(table)
    await stores.votes.mark("1", "bob")

    async def edited(real: Operation, arguments: Answer) -> Answer:
        await Stores(table).comments.update("1", {"text": "edited"}, anybody)
        return await real(**arguments)

    folds = HelpfulFolds(before_the_update(table, edited))
    assert await folds.work("1"), "the edit was faster, so the fold must be repeated"
    await folds.correct(["1"])
    one = await stores.comments.get("1")
    assert one is not None
    assert (one.text, one.votes) == ("edited", 1)
    await stores.comments.update("1", {"text": "again"}, anybody)
    assert await shown(table) == 1


async def test_a_slow_fold_finds_that_it_stored_an_old_number(table: Table) -> None:
    """Before the slow fold writes, another fold stores a new number, and a third the old
    number again.
    """
    stores = await added(table)
    await stores.votes.mark("1", "bob")

    async def overtaken(real: Operation, arguments: Answer) -> Answer:
        others = Stores(table)
        await others.folds.correct(["1"])
        await others.votes.mark("1", "bob", helpful=False)
        await others.folds.finish()
        return await real(**arguments)

    await HelpfulFolds(before_the_update(table, overtaken)).correct(["1"])
    assert await shown(table) == 0


async def test_approving_folds_the_votes(table: Table) -> None:
    stores = await added(table)
    one = await stores.comments.get("1")
    assert one is not None
    await stores.votes.mark("1", "bob")
    await stores.votes.mark("1", "eve")
    await stores.folds.finish()
    await stores.moderation.reject("1", one.created_at, "mo", "No.")
    with pytest.raises(NotFoundError):
        await stores.votes.mark("1", "bob", helpful=False)
    # The erasure of a user deletes votes in this way.
    await table.write([{"Delete": {"Key": vote_key("1", "bob")}}])
    await stores.folds.correct(["1"])
    await stores.moderation.approve("1", one.created_at, "mo")
    assert stores.folds.pending == {"1"}
    await stores.folds.finish()
    assert await shown(table) == 1


async def test_many_votes_are_folded_less_often(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = await added(table)
    monkeypatch.setattr("features.votes.folds.VOTES_A_SECOND", 1 / 60)
    for name in ("bob", "eve"):
        await stores.votes.mark("1", name)
        assert stores.folds.is_due("1")
    await stores.folds.finish()
    assert not stores.folds.is_due("1")
    assert stores.folds.is_due("2")
    assert VOTES_A_SECOND * deferred.WORK_SECONDS == 500


@pytest.mark.parametrize(
    "lost", ["a vote", "an unvote", "the comment"], ids=["vote", "unvote", "comment"]
)
async def test_verify_corrects_the_votes_that_a_killed_process_left(
    table: Table, lost: str
) -> None:
    stores = await added(table)
    await added(table, "2")
    await stores.votes.mark("1", "bob")
    await stores.votes.mark("2", "bob")
    if lost != "a vote":
        await stores.folds.finish()
    match lost:
        case "an unvote":
            await stores.votes.mark("1", "bob", helpful=False)
        case "the comment":
            await table.write([{"Delete": {"Key": comment_key("1")}}])
    correction = VoteCorrection(table)
    folds = correction.folds
    await verify(table, ignore, correction)
    items = (await table.scan(0, 1, None)).items
    votes = [item for item in items if is_vote(item) and is_counted(item)]
    assert len(votes) == (2 if lost == "a vote" else 1)
    assert await shown(table, "2") == 1
    if lost != "the comment":
        assert await shown(table) == (lost == "a vote")
    assert folds.folded == {"a vote": 2, "an unvote": 1, "the comment": 0}[lost]


async def test_deleting_a_comment_deletes_its_votes(table: Table) -> None:
    stores = await added(table)
    for name in ("bob", "eve"):
        await stores.votes.mark("1", name)
    await stores.comments.delete("1", anybody)
    await stores.folds.finish()
    assert not any(map(is_vote, (await table.scan(0, 1, None)).items))


class Storm:
    """Votes, withdrawn votes, edits and a deletion in three processes."""

    def __init__(self, table: Table, seed: int) -> None:
        self._table = table
        self._rng = random.Random(seed)
        self._processes = [Stores(table) for _ in range(3)]
        self._texts = dict.fromkeys("012", "")
        self._writing = {one: asyncio.Lock() for one in (*self._texts, "deleted")}
        self._voted: set[tuple[str, str]] = set()
        self.conflicts = 0
        """The number of edits that failed because of concurrent writes."""

    @property
    def folded(self) -> int:
        """The number of folds that wrote a number of votes."""
        return sum(store.folds.folded for store in self._processes)

    async def settle(self) -> None:
        """Make each process read the maintenance mode again, and wait for the writes in
        progress.
        """
        for store in self._processes:
            store.maintenance.forget()
        for lock in self._writing.values():
            async with lock:
                pass

    async def run(
        self,
        votes: int,
        people: int,
        meanwhile: Awaitable[None] | None = None,
        count: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Run all writes concurrently, then check every number of votes and every text.

        ``count`` runs before the rating counters are verified.
        """
        for comment_id in self._writing:
            await added(self._table, comment_id)
        folding = asyncio.create_task(self._fold())
        await asyncio.gather(
            *([meanwhile] if meanwhile else []),
            *(self._vote(f"person {n}", votes // people) for n in range(people)),
            *(self._edit(comment_id, votes // 20) for comment_id in self._texts),
            self._delete(),
        )
        folding.cancel()
        await asyncio.wait([folding])
        for store in self._processes:
            await store.folds.finish()
        for comment_id, text in self._texts.items():
            one = await self._processes[0].comments.get(comment_id)
            assert one is not None
            assert one.text == text
            expected = sum(of == comment_id for of, _ in self._voted)
            assert await shown(self._table, comment_id) == expected
        if count is not None:
            await count()
        assert await verify(self._table, ignore) == []

    async def _vote(self, person: str, turns: int) -> None:
        for _ in range(turns):
            store = self._rng.choice(self._processes).votes
            comment_id = self._rng.choice(list(self._texts))
            if self._rng.random() < 0.7:
                await store.mark(comment_id, person)
                self._voted.add((comment_id, person))
            else:
                await store.mark(comment_id, person, helpful=False)
                self._voted.discard((comment_id, person))

    async def _edit(self, comment_id: str, turns: int) -> None:
        for n in range(turns):
            comments = self._rng.choice(self._processes).comments
            self._texts[comment_id] = text = f"{comment_id}, {n}"
            while True:
                try:
                    async with self._writing[comment_id]:
                        await comments.update(comment_id, {"text": text}, anybody)
                    break
                except ConflictError:
                    self.conflicts += 1

    async def _delete(self) -> None:
        await self._processes[0].votes.mark("deleted", "bob")
        async with self._writing["deleted"]:
            await self._processes[1].comments.delete("deleted", anybody)

    async def _fold(self) -> None:
        while True:
            for store in self._processes:
                await asyncio.gather(*(store.folds.work(one) for one in self._texts))


@SECOND_IN_SOAK
async def test_votes_during_edits_a_deletion_and_a_rebuild_are_exact(each_table: Table) -> None:
    storm = Storm(each_table, seed=1)
    await storm.run(40, 5, rebuild(each_table, storm.settle, ignore))


@pytest.mark.soak
async def test_500_votes_during_edits_and_deletions_are_exact(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    storm = Storm(table, seed=2)
    await storm.run(votes=500, people=25)
    with capsys.disabled():
        sys.stdout.write(f"\n{storm.conflicts} edits met a conflict, {storm.folded} folds wrote.\n")
