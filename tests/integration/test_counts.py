"""After any history of writes, counters equal a recount, on real engines."""

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb import retries
from dal.dynamodb.table import Table
from dal.model import RATINGS, Comment
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from dal.table.errors import DalError
from tests import oracle, recount
from tests.edges import edge_of
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, Fault, FaultyClient, Operation, client_error, lose_answer, refuse
from tests.putting import put_comments
from tests.strategies import FEW
from tests.verifying import verify
from tests.writers import Writers, ignore

IDS = range(6)
PRODUCTS = 2
TAGS = ("en", "de", "pt-BR")
CLIENTS = 32


Put = Callable[[CommentRepository, Sequence[Comment]], Awaitable[object]]


@dataclass(frozen=True)
class Step:
    """A write of one client.

    ``number`` is the comment's id, and ``keyed`` adds an idempotency key.
    """

    kind: str
    number: int
    rating: int
    language: str
    keyed: bool = False
    bought: bool = False
    photos: bool = False
    more: Sequence["Step"] = ()


plain = st.builds(
    Step,
    st.sampled_from(["add", "add", "update", "delete"]),
    st.sampled_from(IDS),
    st.sampled_from(RATINGS),
    st.sampled_from(TAGS),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
many = st.builds(
    Step,
    st.just("put_many"),
    st.just(0),
    st.just(5),
    st.just("en"),
    more=st.lists(plain, min_size=1, max_size=8),
)
histories = st.lists(st.lists(plain | many, min_size=1, max_size=5), min_size=1, max_size=6)
"""Rounds of writes. The writes of a round run concurrently."""


async def let_pass(real: Operation, arguments: Answer) -> Answer:
    return await real(**arguments)


async def let_others_first(real: Operation, arguments: Answer) -> Answer:
    await asyncio.sleep(0.005)
    return await real(**arguments)


BUSY = client_error("ProvisionedThroughputExceededException")
CONFLICT = client_error("TransactionCanceledException", reasons=("TransactionConflict",))
REFUSED = client_error("AccessDeniedException")
FAULTS: list[Fault] = [
    let_pass,
    let_others_first,
    lose_answer,
    refuse(BUSY),
    refuse(CONFLICT),
    refuse(REFUSED),
]
faults = st.lists(st.sampled_from(FAULTS), max_size=40)


def comment_of(step: Step, products: Sequence[str]) -> Comment:
    return Comment(
        comment_id=f"{products[0]}-{step.number}",
        product_id=products[0],
        username="ann",
        rating=step.rating,
        language=step.language,
        title="",
        text="",
        created_at=oracle.START,
        verified_purchase=step.bought,
        photos=oracle.PHOTOS if step.photos else (),
    )


def moved(step: Step, products: Sequence[str]) -> Comment:
    """Return ``comment_of`` a step. Some of many rows belong to another product."""
    return comment_of(step, products)._replace(product_id=products[step.keyed])


async def do(store: CommentRepository, step: Step, products: Sequence[str], put: Put) -> None:
    one = comment_of(step, products)
    match step.kind:
        case "add":
            await store.add(one, f"{one.comment_id}-{step.rating}" if step.keyed else None)
        case "update":
            changes: dict[str, Any] = {
                "rating": step.rating,
                "language": step.language,
                "photos": one.photos,
            }
            await store.update(one.comment_id, changes, lambda _: None)
        case "delete":
            await store.delete(one.comment_id, lambda _: None)
        case _:
            await put(store, [moved(row, products) for row in step.more])


async def check_history(
    each_table: Table, history: list[list[Step]], met: list[Fault], put: Put
) -> None:
    """Check the counters after writes of two processes. ``put`` writes many comments.

    One of the processes has faults. A write that fails is counted if it was executed.
    """
    faulty = FaultyClient(each_table.service, *met)
    stores = Stores(Table(faulty, each_table.name)).comments, Stores(each_table).comments
    products = [uuid.uuid4().hex for _ in range(PRODUCTS)]
    for writes in history:
        work = [do(stores[n % 2], step, products, put) for n, step in enumerate(writes)]
        for end in await asyncio.gather(*work, return_exceptions=True):
            assert end is None or isinstance(end, DalError), end
    stored = [await recount.check(each_table, product) for product in products]
    await _check_board(each_table, dict(zip(products, stored, strict=True)))


@FEW
@SECOND_IN_SOAK
@given(history=histories, met=faults)
async def test_after_any_history_counters_equal_a_recount(
    each_table: Table, history: list[list[Step]], met: list[Fault]
) -> None:
    await check_history(each_table, history, met, put_comments)


async def _check_board(table: Table, stored: dict[str, list[Comment]]) -> None:
    """Check that the leaderboard has exactly the products with comments rated 5, with
    their counts.
    """
    page = await Stores(table).leaderboard.page(None, Slice(10_000), ranked=False)
    shown = {node.product.product_id: node.count for node in page.nodes}
    fives = {
        product: sum(row.rating == 5 for row in rows) or None for product, rows in stored.items()
    }
    assert {product: shown.get(product) for product in stored} == fives


async def test_after_random_writes_of_two_processes_counters_equal_a_recount(
    each_table: Table,
) -> None:
    """Adds, repeated adds, edits and deletions run concurrently."""
    async with Writers(each_table, seed=2) as writers:
        await writers.until(60)
    assert await verify(each_table, ignore) == []


@pytest.mark.parametrize(
    ("each_table", "processes"),
    [("dynoxide_url", 1), ("dynoxide_url", 4), ("ministack_url", 4)],
    indirect=["each_table"],
)
async def test_concurrent_adds_of_many_clients_to_one_product_are_all_counted(
    each_table: Table, processes: int
) -> None:
    rows = [row._replace(rating=5) for row in oracle.make_comments("hot", 96, seed=8)]
    client = FaultyClient(each_table.service)
    stores = [Stores(Table(client, each_table.name)).comments for _ in range(processes)]
    conflicts = 0

    async def count_conflicts(real: Operation, arguments: Answer) -> Answer:
        nonlocal conflicts
        try:
            return await real(**arguments)
        except Exception:
            conflicts += 1
            raise

    client._faults = [count_conflicts] * 100_000
    left = iter(enumerate(rows))
    acknowledged: list[Comment] = []

    async def add_on() -> None:
        for number, row in left:
            acknowledged.append(edge_of(await stores[number % processes].add(row)).node)

    began = time.perf_counter()
    await asyncio.gather(*(add_on() for _ in range(CLIENTS)))
    seconds = time.perf_counter() - began
    print(  # noqa: T201 - figures for who runs pytest -s
        f"\n{CLIENTS} clients, one product, {processes} process(es): "
        f"{len(rows) / seconds:.0f} adds/s, {conflicts / len(rows):.2f} conflicts per add, "
        f"{len(client.calls) / len(rows):.2f} requests per add"
    )
    assert set(acknowledged) == set(rows)
    assert set(await recount.check(each_table, "hot")) == set(rows)
    if processes == 1:
        assert conflicts == 0


async def test_writes_of_disconnected_clients_are_counted_if_they_happened(
    each_table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deadlines pass, clients disconnect, and responses are lost. Then every client retries."""
    monkeypatch.setattr(retries, "DEADLINE", 0.2)
    chance = random.Random(9)
    rows = oracle.make_comments("hot", 60, seed=9)
    faulty = FaultyClient(each_table.service)
    faulty._faults = chance.choices([let_pass, lose_answer, let_others_first], (3, 2, 1), k=10_000)
    store = Stores(Table(faulty, each_table.name)).comments

    async def add(row: Comment) -> None:
        with suppress(TimeoutError, DalError):
            async with asyncio.timeout(chance.choice([0.01, 0.1, 1.0])):
                await store.add(row, row.comment_id)

    await asyncio.gather(*map(add, rows))
    monkeypatch.undo()
    faulty._faults.clear()
    # Wait for the writes of disconnected clients.
    await asyncio.gather(*store.writer.transactions._groups)
    await recount.check(each_table, "hot")
    again = [row._replace(comment_id=f"again-{row.comment_id}") for row in rows]
    await asyncio.gather(
        *(store.add(new, row.comment_id) for new, row in zip(again, rows, strict=True))
    )
    assert len(await recount.check(each_table, "hot")) == len(rows)


@pytest.mark.parametrize(
    ("each_table", "stride"),
    [
        ("dynoxide_url", 7),
        ("ministack_url", 21),
        pytest.param("dynoxide_url", 1, marks=pytest.mark.soak),
        pytest.param("ministack_url", 1, marks=pytest.mark.soak),
    ],
    indirect=["each_table"],
)
async def test_totals_of_every_selection_equal_the_oracles(each_table: Table, stride: int) -> None:
    """`make soak` compares every selection, and `make test` every ``stride``-th."""
    products = ("42", "42/en")
    data = [
        row
        for n, one in enumerate(products)
        for row in oracle.flagged(oracle.make_comments(one, 60, seed=n))
    ]
    store = Stores(each_table).comments
    await put_comments(store, data)
    for product in products:
        for selection in list(oracle.flagged_selections(product))[:: 4 * stride - 1]:
            assert await store.total(selection) == len(oracle.selected(data, selection))
