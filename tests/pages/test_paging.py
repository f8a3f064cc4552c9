"""Pages of a list: to its end and back, with the position of each page."""

import re
from datetime import timedelta

import httpx
import pytest
from starlette.types import ASGIApp

from dal.counts.counter_items import item_key
from dal.counts.counts import StatisticsKey
from dal.dynamodb.table import Table
from dal.entities.comment import comment_position
from dal.query.cursors import encode_cursor
from dal.stores import Stores
from tests.bulk import fill
from tests.pages.conftest import START, Parsed, client_of, jwt_of, numbered, opened, stored


async def walk(
    client: httpx.AsyncClient, address: str | None, rel: str = "next"
) -> list[tuple[str | None, list[str]]]:
    """Return the position, such as "1-20 of 45" with an en dash, and the titles of each page."""
    pages = []
    while address is not None:
        answer = await client.get(address, follow_redirects=True)
        page = Parsed(answer.text)
        where = re.search("[\\d,]+\u2013[\\d,]+ of [\\d,]+", page.text)
        pages.append((where and where[0], page.headings))
        address = page.link(rel)
    return pages


def sliced(titles: list[str], *ranges: tuple[int, int]) -> list[tuple[str | None, list[str]]]:
    """Return what ``walk`` must return for these ranges.

    Only the first and last pages have a position.
    """
    return [
        (
            f"{first}\u2013{last} of {len(titles)}" if first == 1 or last == len(titles) else None,
            titles[first - 1 : last],
        )
        for first, last in ranges
    ]


@pytest.mark.parametrize(
    "query", ["", "?rating=1&rating=4", "?order=oldest", "?order=highest", "?order=helpful"]
)
async def test_a_visitor_pages_to_the_end_of_a_list_and_back(
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


async def test_links_keep_the_size_of_the_page(client: httpx.AsyncClient, table: Table) -> None:
    await stored(table, numbered("sizes", 115))
    titles = [f"{n}" for n in reversed(range(115))]
    address = "/products/sizes?show=50"
    assert await walk(client, address) == sliced(titles, (1, 50), (51, 100), (101, 115))
    end = f"{address}&page=last"
    assert await walk(client, end, "prev") == sliced(titles, (66, 115), (16, 65), (1, 50))
    page = await opened(client, address)
    links = [str(given["href"]) for _, given in page.anchors if "data-swap" in given]
    others = [link for link in links if "show=50" not in link]
    # The links to the two other page sizes.
    assert others == ["/products/sizes", "/products/sizes?show=100"]
    assert page.fields()["show"] == "50"
    assert page.link("canonical") == "/products/sizes"
    refused = await client.get("/products/sizes?show=7")
    assert refused.status_code == 400
    assert "20, 50, 100" in refused.text


async def test_a_page_between_the_ends_shows_the_range_of_its_days(
    client: httpx.AsyncClient, table: Table
) -> None:
    comments = [
        one._replace(created_at=START + timedelta(days=n))
        for n, one in enumerate(numbered("between", 45))
    ]
    await stored(table, comments)
    second = (await opened(client, "/products/between")).link("next") or ""
    assert "6\u201325 Jan 2024" in (await opened(client, second)).text
    german = await opened(client, f"{second}&lang=de")
    assert "6.\u201325. Jan. 2024" in german.text


async def test_no_position_is_wrong_while_comments_are_added_and_deleted(
    client: httpx.AsyncClient, table: Table
) -> None:
    """Between two pages, one comment is deleted and one is added, so the total stays the same."""
    comments = numbered("moving", 70)
    await stored(table, comments)
    there = [one.title for one in comments]
    address: str | None = "/products/moving"
    for turn in range(4):
        assert address is not None
        page = await opened(client, address)
        listed = list(reversed(there))
        first = listed.index(page.headings[0]) + 1
        shown = re.findall("(\\d+)\u2013(\\d+) of (\\d+)", page.text)
        last = first + len(page.headings) - 1
        assert shown == ([(str(first), str(last), "70")] if turn in {0, 3} else [])
        await Stores(table).comments.delete(comments[turn].comment_id, lambda _: None)
        there.remove(comments[turn].title)
        (added,) = numbered("moving", 1, start=100 + turn)
        await stored(table, [added])
        there.append(added.title)
        address = page.link("next")


async def test_the_first_page_is_full_after_deletions(
    client: httpx.AsyncClient, table: Table
) -> None:
    comments = numbered("fewer", 45)
    await stored(table, comments)
    cursor = encode_cursor(comment_position(comments[30]))  # only 14 newer comments precede it
    answer = await client.get(f"/products/fewer?before={cursor}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/products/fewer")


@pytest.mark.parametrize(
    "first",
    [
        "/products/walk?rating=5&language=en&order=oldest&show=50",
        "/authors/ann",
        "/?language=en",
        "/products?q=kettle",
        "/moderation?queue=reported",
    ],
)
async def test_an_invalid_cursor_leads_to_the_first_page_of_the_same_list(
    app: ASGIApp, first: str
) -> None:
    mark = "&" if "?" in first else "?"
    async with client_of(app, jwt_of("mod", "moderator")) as moderator:
        answer = await moderator.get(f"{first}{mark}after=x&lang=en")
    assert answer.status_code == 400
    assert Parsed(answer.text).buttons == [first]


async def test_counts_that_lag_hide_no_comment(client: httpx.AsyncClient, table: Table) -> None:
    await stored(table, numbered("lag", 25))
    for language in (None, "en"):
        await table.write([{"Delete": {"Key": item_key(StatisticsKey("lag", language))}}])
    assert [len(titles) for _, titles in await walk(client, "/products/lag")] == [20, 5]


async def test_a_list_between_days_has_no_count(client: httpx.AsyncClient, table: Table) -> None:
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


async def test_the_deepest_page_costs_as_much_as_the_first(
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
    """Return the number of a page's Queries and its read capacity, without those for planning."""
    account = page.account
    return account["Queries"].partition(" ")[0], account["Read capacity"].partition(",")[0]
