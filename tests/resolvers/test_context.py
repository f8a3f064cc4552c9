import asyncio
from dataclasses import replace
from typing import ClassVar

import pytest

from dal.dynamodb.errors import ThrottledError
from dal.model import Organization
from dal.query.pagination import Page, PageInfo, Slice
from dal.query.statistics import ExecutionStatistics
from resolvers.context import Built, Context, NotAvailableError, PrefetchedPages, RequestCache
from tests.resolvers.recording import STORES

CONTEXT = Context(None, STORES)
PAGE: Page[str] = Page([], PageInfo(None, None, None, None), ExecutionStatistics("T1"))


class Store:
    """Returns the arguments of each read, and records them."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    async def get(self, *of: str) -> tuple[str, ...]:
        self.asked.append(of)
        await asyncio.sleep(0)
        if of == ("broken",):
            raise ThrottledError("Busy.")
        return of


async def test_concurrent_and_later_fields_share_one_read() -> None:
    store, once = Store(), RequestCache(CONTEXT)
    answers = await asyncio.gather(*(once.read(store.get, "a", "b") for _ in range(5)))
    assert [*answers, await once.read(store.get, "a", "b")] == 6 * [("a", "b")]
    assert await once.read(store.get, "a") == ("a",)
    assert store.asked == [("a", "b"), ("a",)]


async def test_each_request_and_each_repository_has_its_own_reads() -> None:
    store, other = Store(), Store()
    once = RequestCache(CONTEXT)
    for read in (
        once.read(store.get, "a"),
        once.read(other.get, "a"),
        RequestCache(CONTEXT).read(store.get, "a"),
    ):
        assert await read == ("a",)
    assert (store.asked, other.asked) == ([("a",), ("a",)], [("a",)])


async def test_an_error_is_raised_in_every_waiting_field() -> None:
    store, once = Store(), RequestCache(CONTEXT)
    outcomes = await asyncio.gather(
        *(once.read(store.get, "broken") for _ in range(3)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == 3 * [ThrottledError]
    assert len(store.asked) == 1


async def test_a_cancelled_field_does_not_cancel_others() -> None:
    store, once = Store(), RequestCache(CONTEXT)
    leaving = asyncio.create_task(once.read(store.get, "a"))
    staying = asyncio.create_task(once.read(store.get, "a"))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == ("a",)
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_a_read_without_waiting_fields_is_cancelled() -> None:
    ended = asyncio.Event()

    async def endless(of: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    once = RequestCache(CONTEXT)
    leaving = [asyncio.create_task(once.read(endless, "a")) for _ in range(2)]
    await asyncio.sleep(0)
    leaving[0].cancel()
    await asyncio.sleep(0)
    assert not ended.is_set()
    leaving[1].cancel()
    async with asyncio.timeout(60):
        await ended.wait()
    asking = asyncio.create_task(once.read(endless, "a"))
    await asyncio.sleep(0.01)
    assert not asking.done(), "it is read anew"
    asking.cancel()


def test_a_prefetched_page_is_used_once_and_only_for_its_slice() -> None:
    prefetched = PrefetchedPages(CONTEXT)
    prefetched.keep("acme", Slice(20, next_page=True), PAGE)
    assert prefetched.take("acme", Slice(20)) is None
    assert prefetched.take("other", Slice(20, next_page=True)) is None
    assert prefetched.take("acme", Slice(20, next_page=True)) is PAGE
    assert prefetched.take("acme", Slice(20, next_page=True)) is None


def test_two_equal_owners_have_separate_pages() -> None:
    """Two fields of a request may read the same organisation."""
    prefetched, owners = (
        PrefetchedPages(CONTEXT),
        (Organization("acme", "free"), Organization("acme", "free")),
    )
    pages = replace(PAGE), replace(PAGE)
    for owner, page in zip(owners, pages, strict=True):
        prefetched.keep(owner, Slice(20), page)
    assert prefetched.take(owners[0], Slice(20)) is pages[0]
    assert prefetched.take(owners[1], Slice(20)) is pages[1]


def test_a_request_has_one_object_of_each_kind_of_part() -> None:
    first, second = Context(None, STORES), Context(None, STORES)
    pages = first.part(PrefetchedPages)
    assert first.part(PrefetchedPages) is pages
    assert isinstance(first.part(Built), Built)
    assert second.part(PrefetchedPages) is not pages


class Present:
    missing: ClassVar[str] = "present"


class Absent:
    missing: ClassVar[str] = "absent"


def test_a_service_that_the_server_lacks_is_not_available() -> None:
    present = Present()
    context = Context(None, STORES, services={Present: present})
    assert context.service(Present) is present
    with pytest.raises(NotAvailableError, match=Absent.missing):
        context.service(Absent)
