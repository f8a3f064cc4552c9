"""Requests for the same page share a read.

Its result includes all earlier writes of the process.
"""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.account import Account
from dal.dynamodb.concurrency import SharedReads
from dal.dynamodb.deadline import deadline_in
from dal.dynamodb.errors import StoreUnavailableError, ThrottledError
from dal.dynamodb.table import Table
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from dal.table.index import QueryRequest, QueryResponse
from tests.putting import put_comments
from tests.strategies import FEW, comment


class Slow:
    """A read that returns its own number when the test lets it continue."""

    def __init__(self, *faults: Exception) -> None:
        self.reads = 0
        self.go = asyncio.Event()
        self._faults = list(faults)

    async def __call__(self) -> int:
        self.reads += 1
        number = self.reads
        await self.go.wait()
        if self._faults:
            raise self._faults.pop()
        return number


async def begun(*work: asyncio.Task[int]) -> None:
    for _ in range(3):
        await asyncio.sleep(0)
    assert not any(one.done() for one in work)


async def test_concurrent_requests_share_a_read_and_later_requests_do_not() -> None:
    slow, shared = Slow(), SharedReads[int]()
    tasks = [asyncio.create_task(shared.read("a", slow)) for _ in range(5)]
    other = asyncio.create_task(shared.read("b", slow))
    await begun(*tasks, other)
    slow.go.set()
    assert [*await asyncio.gather(*tasks), await other] == [1, 1, 1, 1, 1, 2]
    assert await shared.read("a", slow) == 3


async def test_if_a_shared_read_fails_the_other_requests_read_themselves() -> None:
    slow, shared = Slow(ThrottledError("busy")), SharedReads[int]()
    first, *others = (asyncio.create_task(shared.read("a", slow)) for _ in range(3))
    await begun(first, *others)
    slow.go.set()
    with pytest.raises(ThrottledError):
        await first
    assert sorted(await asyncio.gather(*others)) == [2, 3]


async def test_a_shared_result_may_be_none() -> None:
    reads, go = 0, asyncio.Event()

    async def nothing() -> None:
        nonlocal reads
        reads += 1
        await go.wait()

    shared = SharedReads[None]()
    tasks = [asyncio.create_task(shared.read("a", nothing)) for _ in range(3)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*tasks)
    assert reads == 1


async def test_if_the_first_of_fifty_requests_leaves_one_other_reads() -> None:
    slow, shared = Slow(), SharedReads[int]()
    first, *others = (asyncio.create_task(shared.read("a", slow)) for _ in range(50))
    await begun(first, *others)
    first.cancel()
    await begun(*others)
    slow.go.set()
    assert await asyncio.gather(*others) == [2] * 49
    assert slow.reads == 2


async def test_a_request_that_leaves_does_not_end_the_shared_read() -> None:
    slow, shared = Slow(), SharedReads[int]()
    first, joiner, other = (asyncio.create_task(shared.read("a", slow)) for _ in range(3))
    await begun(first, joiner, other)
    joiner.cancel()
    await begun(first, other)
    slow.go.set()
    assert (await first, await other) == (1, 1)
    assert joiner.cancelled()


async def test_a_shorter_deadline_ends_only_its_own_request() -> None:
    slow, shared = Slow(), SharedReads[int]()
    first = asyncio.create_task(shared.read("a", slow))
    await begun(first)

    async def late() -> int:
        raise StoreUnavailableError("Late.")

    with deadline_in(0.01), pytest.raises(StoreUnavailableError, match="Late"):
        await shared.read("a", late)
    slow.go.set()
    assert await first == 1


async def test_a_shared_page_is_charged_to_the_request_that_reads_it(table: Table) -> None:
    store = Stores(table).comments
    await put_comments(store, [comment(str(number), product_id="42") for number in range(3)])

    async def paid() -> int:
        with Account() as account:
            page = await store.page(Selection("42"), Slice(20))
        assert (len(page.edges), page.stats.requests) == (3, 1)
        return account.requests

    assert sorted(await asyncio.gather(*(paid() for _ in range(5)))) == [0, 0, 0, 0, 1]


async def test_only_requests_that_select_a_total_get_it(table: Table) -> None:
    store, any_rating = Stores(table).comments, Selection("42")
    await put_comments(store, [comment(str(number), product_id="42") for number in range(3)])
    counted, plain = await asyncio.gather(
        store.counted_page(any_rating, Slice(20)), store.page(any_rating, Slice(20))
    )
    assert (counted.total_count, plain.total_count) == (3, None)
    assert (counted.stats.requests, plain.stats.requests) == (2, 1)


numbers = iter(range(1, 1_000_000))
steps = st.lists(
    st.sampled_from(["add", "edit", "delete", "read", "read", "turn"]), min_size=1, max_size=25
)


class Product:
    """The comments of a product with their acknowledged versions and deletions.

    A text is a version.
    """

    def __init__(self, store: CommentRepository) -> None:
        self._store = store
        self.product_id = f"shared-{next(numbers)}"
        self._versions: dict[str, int] = {}
        self._going: set[str] = set()
        self._gone: set[str] = set()
        self._writing = asyncio.Lock()

    async def write(self, step: str) -> None:
        async with self._writing:
            left = [one for one in self._versions if one not in self._going]
            if step == "add" or not left:
                new = comment(f"s{next(numbers)}", product_id=self.product_id, text="1")
                await self._store.add(new)
                self._versions[new.comment_id] = 1
            elif step == "edit":
                version = self._versions[left[0]] + 1
                await self._store.update(left[0], {"text": str(version)}, lambda _: None)
                self._versions[left[0]] = version
            else:
                self._going.add(left[0])
                await self._store.delete(left[0], lambda _: None)
                self._gone.add(left[0])
        await asyncio.gather(self.read(), self.read())

    async def read(self) -> None:
        versions, gone = dict(self._versions), set(self._gone)
        page = await self._store.page(Selection(self.product_id), Slice(50))
        seen = {row.comment_id: int(row.text) for row in page.nodes}
        assert not gone & seen.keys()
        for one, version in versions.items():
            assert one in self._going or seen[one] >= version


@FEW
@given(steps=steps)
async def test_a_read_sees_every_write_that_was_acknowledged_before_it_began(
    table: Table, steps: Sequence[str]
) -> None:
    """Reads and writes overlap at random. The embedded engine's indexes do not lag."""
    product = Product(Stores(_answering_late(table)).comments)
    async with asyncio.TaskGroup() as group:
        for step in steps:
            if step == "turn":
                await asyncio.sleep(0.001)
            else:
                group.create_task(product.read() if step == "read" else product.write(step))


def _answering_late(table: Table) -> Table:
    """Return a table whose Queries respond later than a write."""
    late = Table(table.service, table.name)

    async def query(request: QueryRequest) -> QueryResponse:
        answer = await table.query(request)
        await asyncio.sleep(0.02)
        return answer

    late.query = query  # type: ignore[method-assign]
    return late
