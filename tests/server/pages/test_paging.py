"""Pages of 20 comments: each list is walked to its end and back, and says where it is."""

import re

import httpx
import pytest

from dal.client.table import Table
from dal.entities.comment import comment_position
from dal.query.pagination import encode_cursor
from dal.statistics.counter_items import item_key
from dal.statistics.counts import StatisticsKey
from tests.bulk import fill
from tests.server.pages.conftest import Parsed, numbered, opened, stored


async def walk(
    client: httpx.AsyncClient, address: str | None, rel: str = "next"
) -> list[tuple[str | None, list[str]]]:
    """Return each page's "1 to 20 of 45" and titles, until a page lacks the link."""
    pages = []
    while address is not None:
        page = await opened(client, address)
        where = re.search("[\\d,]+\u2013[\\d,]+ of [\\d,]+", page.text)
        pages.append((where and where[0], page.headings))
        address = page.link(rel)
    return pages


def sliced(titles: list[str], *ranges: tuple[int, int]) -> list[tuple[str, list[str]]]:
    return [
        (f"{first}\u2013{last} of {len(titles)}", titles[first - 1 : last])
        for first, last in ranges
    ]


@pytest.mark.parametrize(
    "query", ["", "?rating=1&rating=4", "?order=oldest", "?order=highest", "?order=helpful"]
)
async def test_a_list_is_walked_to_its_end_and_back(
    client: httpx.AsyncClient, table: Table, query: str
) -> None:
    product, size = f"walk-{query[-7:]}", 115 if "rating" in query else 46
    await stored(table, numbered(product, size))
    titles = [f"{n}" for n in reversed(range(size)) if "rating" not in query or n % 5 in {0, 3}]
    if "oldest" in query:
        titles.reverse()
    elif "highest" in query:
        titles.sort(key=lambda title: int(title) % 5, reverse=True)
    address = f"/products/{product}{query}"
    assert await walk(client, address) == sliced(titles, (1, 20), (21, 40), (41, 46))
    end = f"{address}{'&' if query else '?'}page=last"
    assert await walk(client, end, "prev") == sliced(titles, (27, 46), (7, 26), (1, 20))


async def test_a_page_knows_its_place_after_comments_were_added(
    client: httpx.AsyncClient, table: Table
) -> None:
    await stored(table, numbered("added", 45))
    second = (await opened(client, "/products/added")).link("next")
    await stored(table, numbered("added", 10, start=45))
    (where, titles), *_ = await walk(client, second)
    assert (where, titles[0]) == ("31\u201350 of 55", "24")
    back = (await opened(client, second or "")).link("prev")
    assert (await walk(client, back))[0] == (
        "11\u201330 of 55",
        [f"{n}" for n in range(44, 24, -1)],
    )


async def test_the_first_page_is_full_after_deletions(
    client: httpx.AsyncClient, table: Table
) -> None:
    comments = numbered("fewer", 45)
    await stored(table, comments)
    cursor = encode_cursor(comment_position(comments[30]))  # the 14 newest comments precede it
    answer = await client.get(f"/products/fewer?before={cursor}&place=45")
    assert (answer.status_code, answer.headers["location"]) == (303, "/products/fewer")


@pytest.mark.parametrize(
    "place", ["", "&place=0", "&place=-1", "&place=999", "&place=x", "&place=5"]
)
async def test_an_impossible_place_is_not_shown(
    client: httpx.AsyncClient, table: Table, place: str
) -> None:
    comments = numbered("place", 60)
    await stored(table, comments)
    cursor = encode_cursor(comment_position(comments[50]))
    (where, titles), *_ = await walk(client, f"/products/place?after={cursor}{place}")
    assert (where, titles[0]) == (None, "49")


async def test_late_counts_hide_no_comment(client: httpx.AsyncClient, table: Table) -> None:
    await stored(table, numbered("lag", 25))
    for language in (None, "en"):
        await table.write([{"Delete": {"Key": item_key(StatisticsKey("lag", language))}}])
    assert [len(titles) for _, titles in await walk(client, "/products/lag")] == [20, 5]


async def test_a_list_between_days_is_not_counted(client: httpx.AsyncClient, table: Table) -> None:
    await stored(table, numbered("days", 50))
    pages = await walk(client, "/products/days?from=2024-01-01&to=2024-01-01")
    assert [(where, len(titles)) for where, titles in pages] == [(None, 20), (None, 20), (None, 10)]


@pytest.mark.parametrize("parameter", ["before", "page"])
async def test_crawlers_index_only_consecutive_pages(
    client: httpx.AsyncClient, table: Table, parameter: str
) -> None:
    comments = numbered(f"crawl{parameter}", 60)
    await stored(table, comments)
    value = {"page": "last", "before": encode_cursor(comment_position(comments[5]))}[parameter]
    page = await client.get(f"/products/crawl{parameter}?{parameter}={value}")
    assert '<meta name="robots" content="noindex">' in page.text


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
