"""Two servers write the same comment at once. The result is that of one order of the two writes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, count, product
from typing import Any

import pytest

from dal.composition import KINDS
from dal.counts import mode
from dal.counts.mode import MaintenanceMode
from dal.dynamodb.table import Table
from dal.dynamodb.wire import Service
from dal.entities import idempotency
from dal.entities.comment import comment_key
from dal.entities.submission import stored
from dal.maintenance import verify as verification
from dal.model import Comment
from dal.model.submissions import ReviewCause, Submission
from dal.stores import Stores
from dal.table.errors import DalError
from dal.table.index import TABLE, QueryRequest
from dal.writes.comments import Edit
from features.loading.loaded import CommentState, LoadedComment
from features.moderation.cases import case_of
from features.moderation.entity import CASE_ITEMS, case_partition, decode_report, is_case, is_report
from features.moderation.model import QueueKind, ReportReason
from features.privacy import erasure
from features.privacy.erasure import Choices, CommentFate, Erasure
from features.votes.entity import all_votes
from resolvers.authorization import ForbiddenError, may_write
from tests import oracle
from tests.fakes import anybody
from tests.features.loading.bulk import load_rows
from tests.features.moderation.test_reports import everything, in_mode
from tests.moderating import edit_for, held_for
from tests.strategies import comment
from tests.verifying import verify
from tests.writers import at_once, ignore

Wait = Callable[[], Awaitable[None]]
Outcome = tuple["Seen", list[str]]
"""What two writes have left behind, and how each write ended."""


@dataclass(frozen=True)
class Seen:
    """What two writes have left behind. Users are named without their scene."""

    comment: Comment | None
    state: str
    case: tuple[bool, str | None]
    """Whether the case is open, and the latest decision."""
    reporters: frozenset[str]
    voters: frozenset[str]


class Scene:
    """A comment by ann with its readers. The ids contain ``name``, so scenes can share a table."""

    def __init__(self, table: Table, name: str) -> None:
        self.table, self.name = table, name
        author = f"ann{name}"
        self.id = idempotency.comment_id(author, "key")
        self.comment = comment(self.id, username=author, product_id=f"p{name}", text="first")
        self.shown = self.comment._replace(comment_id="one", username="ann", product_id="p")

    async def set_up(self, before: str) -> None:
        stores = Stores(self.table)
        cause = ReviewCause.SETTING if before == "pending" else None
        if before != "nothing":
            await stores.comments.add(self.comment, "key", hold=held_for(cause))
        if before in {"reported", "approved"}:
            await self.report(stores, at_once, "cy")
        if before == "approved":
            await self.approve(stores, at_once)
            await self.report(stores, at_once, "di")
        await self.table.drain()

    async def add(self, stores: Stores, wait: Wait) -> None:
        await self._permitted(stores)
        await stores.comments.add(self.comment, "key")

    async def edit(self, stores: Stores, wait: Wait) -> None:
        await self._edit(stores, "second")

    async def hide(self, stores: Stores, wait: Wait) -> None:
        await self._edit(stores, "bad", edit_for(ReviewCause.WORDS))

    async def show(self, stores: Stores, wait: Wait) -> None:
        await self._edit(stores, "good", edit_for(None))

    async def _edit(self, stores: Stores, text: str, edit: Edit | None = None) -> None:
        await self._permitted(stores)
        await stores.comments.update(self.id, {"text": text}, anybody, edit)

    async def _permitted(self, stores: Stores) -> None:
        may_write(await stores.standings.permission(self.comment.username))

    async def vote(self, stores: Stores, wait: Wait) -> None:
        await stores.votes.mark(self.id, f"bob{self.name}", may_write)

    async def report(self, stores: Stores, wait: Wait, person: str = "bob") -> None:
        person += self.name
        await stores.reports.report(self.id, person, ReportReason.SPAM, "", 2, may_write)

    async def report_by_eve(self, stores: Stores, wait: Wait) -> None:
        await self.report(stores, wait, "eve")

    async def reject(self, stores: Stores, wait: Wait) -> None:
        await stores.moderation.reject(self.id, self.comment.created_at, "mo", "no")

    async def approve(self, stores: Stores, wait: Wait) -> None:
        await stores.moderation.approve(self.id, self.comment.created_at, "mo")

    async def delete(self, stores: Stores, wait: Wait) -> None:
        await stores.comments.delete(self.id, anybody)

    async def block(self, stores: Stores, wait: Wait) -> None:
        await stores.blocks.block(self.comment.username, "Spam.", "mo")

    async def load_elsewhere(self, stores: Stores, wait: Wait) -> None:
        await load_rows(stores.comments, [self.comment._replace(product_id=f"q{self.name}")])

    async def load_rejected(self, stores: Stores, wait: Wait) -> None:
        states = {"state": CommentState.REJECTED, "reason": "no"}
        await load_rows(stores.comments, [LoadedComment(self.comment, states)])

    async def erase(
        self, stores: Stores, wait: Wait, person: str = "ann", fate: CommentFate = "delete"
    ) -> None:
        erased = Erasure(stores.comments._table, person + self.name, Choices(fate), KINDS)
        await erased.run(wait, ignore, None)

    async def anonymize(self, stores: Stores, wait: Wait) -> None:
        await self.erase(stores, wait, fate="anonymize")

    async def erase_reporter(self, stores: Stores, wait: Wait) -> None:
        await self.erase(stores, wait, "cy")

    async def seen(self) -> Seen:
        """Return what is stored. Check that the queue lists the comment if it must."""
        one = stored(await self.table.get(comment_key(self.id)))
        about = QueryRequest(TABLE, case_partition(self.id), CASE_ITEMS, consistent=True)
        items = (await self.table.query(about)).items
        votes = (await self.table.query(all_votes(self.id))).items
        case = case_of(self.id, next(filter(is_case, items), None)).case
        reports = [decode_report(item) for item in items if is_report(item)]
        published, shown = isinstance(one, Comment), one
        if isinstance(one, Submission):
            shown = one.published()
        assert isinstance(shown, Comment | None)
        undecided = any(map(case.undecided, reports))
        assert (case.opened_at is not None, case.listed) == (undecided, undecided and published)
        assert one is not None or not [*items, *votes]
        assert shown is None or not published or shown.votes == len(votes)
        decision = None if case.decision is None else case.decision.reason or "approved"
        return Seen(
            shown and self._anywhere(shown),
            "published" if published else str(getattr(one, "state", None)),
            (undecided, decision),
            frozenset(self._bare(report.username) for report in reports),
            frozenset(self._bare(vote["SK"]["S"]) for vote in votes),
        )

    def _anywhere(self, one: Comment) -> Comment:
        """Return a comment without what differs between scenes and between runs."""
        owned = one.username == self.comment.username
        return one._replace(
            comment_id="one",
            product_id=self._bare(one.product_id),
            username="ann" if owned else "erased",
            updated_at=one.updated_at and one.created_at,
            touched_at=one.touched_at and one.created_at,
        )

    def _bare(self, name: str) -> str:
        return name.removesuffix(self.name)


Write = Callable[[Scene, Stores, Wait], Awaitable[None]]
WRITES: Mapping[str, Write] = {
    "add": Scene.add,
    "edit": Scene.edit,
    "vote": Scene.vote,
    "report": Scene.report,
    "reject": Scene.reject,
    "approve": Scene.approve,
    "hide": Scene.hide,
    "delete": Scene.delete,
    "block": Scene.block,
    "erase": Scene.erase,
}
FURTHER: Mapping[str, Write] = {
    "show": Scene.show,
    "another report": Scene.report_by_eve,
    "load elsewhere": Scene.load_elsewhere,
    "load rejected": Scene.load_rejected,
    "anonymize": Scene.anonymize,
    "erase reporter": Scene.erase_reporter,
}
ALL = {**WRITES, **FURTHER}
BY_ANN = {"add", "edit", "hide", "show"}
OF_ANN = {"erase", "anonymize"}
ERASURES = {*OF_ANN, "erase reporter"}
BEFORE = ("published", "reported", "approved", "pending", "nothing")
_names = count()


class Pausing:
    """A service that stops before its request with the number ``pause``, until ``go`` is set.

    Reads of the maintenance mode and of the table's id may happen at any time, and do not count.
    """

    def __init__(self, client: Service, pause: int) -> None:
        self._client, self._left = client, pause
        self.endpoint_url = client.endpoint_url
        self.stopped, self.go = asyncio.Event(), asyncio.Event()

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if arguments.get("Key") != mode.KEY and operation != "describe_table":
            self._left -= 1
            if self._left == 0:
                self.stopped.set()
                await self.go.wait()
        return await self._client.call(operation, arguments)


async def end_of(write: Awaitable[None]) -> str:
    try:
        await write
    except (DalError, ForbiddenError) as error:
        return type(error).__name__
    return "done"


async def in_turn(table: Table, before: str, *writes: str) -> Outcome:
    """Execute writes one after the other."""
    scene, stores = Scene(table, f"-{next(_names)}"), Stores(table)
    await scene.set_up(before)
    ends = [await end_of(ALL[one](scene, stores, at_once)) for one in writes]
    await table.drain()
    return await scene.seen(), ends


async def interleaved(
    table: Table, before: str, first: str, second: str, pause: int
) -> Outcome | None:
    """Execute ``second`` while ``first`` is stopped before its request with the number ``pause``.

    Return None if ``first`` has fewer requests.
    """
    scene, service = Scene(table, f"-{next(_names)}"), Pausing(table.service, pause)
    await scene.set_up(before)
    tables = Table(service, table.name), Table(table.service, table.name)
    one = asyncio.create_task(end_of(ALL[first](scene, Stores(tables[0]), at_once)))
    stopped = asyncio.create_task(service.stopped.wait())
    await asyncio.wait([one, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    other = "none"
    if interrupts := service.stopped.is_set():

        async def writers() -> None:
            service.go.set()
            await asyncio.wait([one])

        other = await end_of(ALL[second](scene, Stores(tables[1]), writers))
    service.go.set()
    end = await one
    for each in tables:
        await each.drain()
    return (await scene.seen(), [end, other]) if interrupts else None


async def expected(table: Table, before: str, first: str, second: str) -> list[Outcome]:
    """Return the expected outcomes of two writes.

    Those are the outcomes of both orders. Also, an erasure refuses the writes of its user that
    begin before its end, so that only the erasure has an effect. No order has this outcome.
    """
    seen, ends = await in_turn(table, before, second, first)
    outcomes = [await in_turn(table, before, first, second), (seen, ends[::-1])]
    if {first, second} & BY_ANN and {first, second} & OF_ANN:
        refused = [one in BY_ANN for one in (first, second)]
        alone, _ = await in_turn(table, before, first if refused[1] else second)
        outcomes.append((alone, ["ForbiddenError" if one else "done" for one in refused]))
    return outcomes


async def check_interleavings(table: Table, before: str, first: str, second: str) -> int:
    """Check ``second`` at each request of ``first``. Return the number of interleavings."""
    outcomes = await expected(table, before, first, second)
    for pause in count(1):
        found = await interleaved(table, before, first, second, pause)
        if found is None:
            return pause - 1
        where = f"{second} before request {pause} of {first}"
        # A report that a user repeats meanwhile succeeds, which is not the outcome of an order.
        if first == second:
            assert found[0] in [seen for seen, _ in outcomes], where
        else:
            assert found in outcomes, where
    raise AssertionError


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(verification, "PAUSE_SECONDS", 0.0)


@pytest.mark.parametrize("other", sorted({*ALL} - ERASURES | {"erase"}))
async def test_a_report_and_another_write_are_like_one_order(table: Table, other: str) -> None:
    for before, pair in (("published", ("report", other)), ("approved", (other, "report"))):
        assert await check_interleavings(table, before, *pair) > 0


@pytest.mark.parametrize(
    "pair",
    [("report", "another report"), ("approve", "edit"), ("reject", "hide"), ("edit", "anonymize")],
)
async def test_writes_of_a_reported_comment_are_like_one_order(
    table: Table, pair: tuple[str, str]
) -> None:
    assert await check_interleavings(table, "reported", *pair) > 0


@pytest.mark.soak
@pytest.mark.parametrize("mode", MaintenanceMode)
@pytest.mark.parametrize("before", BEFORE)
async def test_two_writes_are_like_one_order(
    table: Table, before: str, mode: MaintenanceMode
) -> None:
    await in_mode(table, mode)
    for first, second in product(ALL, ALL):
        if not {first, second} <= ERASURES:  # of two erasures, one is refused if choices differ
            await check_interleavings(table, before, first, second)


@pytest.mark.parametrize("races", [2, pytest.param(37, marks=pytest.mark.soak)])
@pytest.mark.parametrize("mode", MaintenanceMode)
async def test_after_races_of_every_two_writes_nothing_needs_a_repair(
    table: Table, mode: MaintenanceMode, races: int
) -> None:
    await in_mode(table, mode)
    tables = [Table(table.service, table.name) for _ in range(2)]
    servers = [Stores(one) for one in tables]
    scenes: list[Scene] = []

    async def race(number: int, *names: str) -> None:
        scene = Scene(table, f"-{next(_names)}")
        scenes.append(scene)
        await scene.set_up(BEFORE[number % 3])
        tasks: list[asyncio.Task[str]] = []

        async def writers() -> None:
            if names != ("erase", "erase"):
                await asyncio.wait([tasks[1 - names.index("erase")]])

        pairs = zip(names, servers, strict=True)
        tasks += [asyncio.create_task(end_of(ALL[one](scene, at, writers))) for one, at in pairs]
        await asyncio.gather(*tasks)

    pairs = list(combinations_with_replacement(WRITES, 2))
    for number in range(races):
        for start in range(0, len(pairs), 8):
            await asyncio.gather(*(race(number, *one) for one in pairs[start : start + 8]))
    for one in tables:
        await one.drain()
    seen = {scene.id: await scene.seen() for scene in scenes}
    rows = await oracle.walk_pages(servers[0].reports.queue, 100, backward=False)
    listed = {one for one, now in seen.items() if now.state == "published" and now.case[0]}
    assert {row.comment_id for row in rows} == listed
    if len(listed) < 1_000:  # longer queues are not counted
        assert await servers[0].moderation.queue_length(QueueKind.REPORTED) == len(listed)
    before = await everything(table)
    found = await verify(table, ignore)
    assert found == [] or mode is MaintenanceMode.STREAM
    changed = [item for item in await everything(table) if item not in before]
    assert changed == []
