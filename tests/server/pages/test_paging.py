"""Page boundaries: older pages keep their address and their 20 comments."""

import httpx
import pytest

from dal.client.table import Table
from dal.entities.comment import comment_position
from dal.query.pagination import encode_cursor
from dal.statistics.counter_items import item_key
from dal.statistics.counts import StatisticsKey
from server.pages.addresses import SIZE, cursor_of_previous, first_size
from tests.bulk import fill
from tests.server.pages.conftest import Parsed, numbered, opened, stored


@pytest.mark.parametrize(
    ("total", "size"),
    [(0, 20), (1, 20), (20, 20), (21, 21), (39, 39), (40, 20), (59, 39), (60, 20), (107, 27)],
)
def test_the_first_page_takes_the_remainder(total: int, size: int) -> None:
    assert first_size(total) == size


def test_every_older_page_is_full() -> None:
    for total in range(20, 400):
        assert (total - first_size(total)) % SIZE == 0
        assert 20 <= first_size(total) < 40


def test_the_previous_page_is_named_by_what_stands_before_it() -> None:
    cursors = [f"{number}" for number in range(40)]
    assert cursor_of_previous(cursors, remainder=True) == "19"
    assert cursor_of_previous(cursors[:39], remainder=True) is None
    assert cursor_of_previous(cursors, remainder=False) == "19"
    assert cursor_of_previous(cursors[:21], remainder=False) == "0"
    assert cursor_of_previous(cursors[:20], remainder=False) is None


async def test_counts_that_lag_hide_no_comment(client: httpx.AsyncClient, table: Table) -> None:
    await stored(table, numbered("lag", 25))
    for language in (None, "en"):
        await table.write([{"Delete": {"Key": item_key(StatisticsKey("lag", language))}}])
    pages = await walk(client, "/products/lag")
    assert [len(titles) for titles in pages.values()] == [20, 5]


async def walk(client: httpx.AsyncClient, address: str | None) -> dict[str, list[str]]:
    """Return the titles on each page by its address, from the first to the oldest."""
    pages: dict[str, list[str]] = {}
    while address is not None:
        page = await opened(client, address)
        pages[address] = page.headings
        assert page.link("canonical") == address
        address = page.link("next")
    return pages


@pytest.mark.parametrize("query", ["", "?rating=1&rating=4"])
async def test_older_pages_stay_while_comments_are_added(
    client: httpx.AsyncClient, table: Table, query: str
) -> None:
    product = f"stay{len(query)}"
    await stored(table, numbered(product, 215))
    before = await walk(client, f"/products/{product}{query}")
    first, *older = before
    expected = [f"{n}" for n in reversed(range(215)) if not query or n % 5 in {0, 3}]
    assert [title for titles in before.values() for title in titles] == expected
    assert {len(before[address]) for address in older} == {20}

    await stored(table, numbered(product, 50, start=215))
    after = await walk(client, f"/products/{product}{query}")
    assert {address: after[address] for address in older} == {
        address: before[address] for address in older
    }
    assert after[first][0] == ("264" if not query else "263")
    assert len(after) > len(before)


async def test_newer_links_lead_back_the_same_way(client: httpx.AsyncClient, table: Table) -> None:
    await stored(table, numbered("back", 95))
    there = list(await walk(client, "/products/back"))
    address, back = there[-1], [there[-1]]
    while (newer := (await opened(client, address)).link("prev")) is not None:
        answer = await client.get(newer)
        assert answer.status_code == 303
        address = answer.headers["location"]
        back.append(address)
    assert back == there[::-1]


@pytest.mark.parametrize("query", ["?order=oldest", "?from=2024-01-01&to=2024-01-01"])
async def test_other_lists_are_cut_into_twenties_as_they_run(
    client: httpx.AsyncClient, table: Table, query: str
) -> None:
    product = f"cut{len(query)}"
    await stored(table, numbered(product, 50))
    pages = await walk(client, f"/products/{product}{query}")
    order = range(50) if "oldest" in query else reversed(range(50))
    assert [len(titles) for titles in pages.values()] == [20, 20, 10]
    assert [title for titles in pages.values() for title in titles] == [f"{n}" for n in order]
    assert all(address.startswith(f"/products/{product}{query}") for address in pages)
    *_, middle, last = pages
    for address, earlier in ((last, middle), (middle, next(iter(pages)))):
        back = (await opened(client, address)).link("prev")
        assert back is not None
        assert (await client.get(back)).headers["location"] == earlier


async def test_the_deepest_page_costs_what_the_first_costs(
    client: httpx.AsyncClient, table: Table
) -> None:
    comments = numbered("deep", 2_000)
    await fill(table, comments)
    above = encode_cursor(comment_position(comments[20]))
    for query in ("", "?language=en", "?rating=1&rating=4"):
        first = await opened(client, f"/products/deep{query}")
        cursor = above if "rating" not in query else encode_cursor(comment_position(comments[50]))
        deepest = await opened(
            client, f"/products/deep{query}{'&' if query else '?'}after={cursor}"
        )
        assert deepest.headings[-1] == "0"
        assert (len(first.headings), len(deepest.headings)) == (20, 20)
        assert cost(deepest) == cost(first)


def cost(page: Parsed) -> tuple[str, str]:
    """Return a page's own Queries and its capacity."""
    account = page.account
    return account["Queries"].partition(" ")[0], account["Read capacity"].partition(",")[0]
