"""The page of an author: the author's comments on all products, and links to the page."""

from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import quote

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.maintenance.tables import create_table
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from pages.faults import _ARGUMENTS, _CODES
from tests.conftest import Clients
from tests.moderating import held_for
from tests.pages.conftest import COMMENT, Parsed, client_of, jwt_of, opened, stored
from tests.server.applications import app_of

NAME = "Zoë </a> 50 % /#1?🙂"
ADDRESS = f"/authors/{quote(NAME, safe='')}"
COMMENTS = [
    COMMENT._replace(
        comment_id=f"z{number:02}",
        product_id=f"p/{number % 3}",
        username=NAME,
        title=f"{number}",
        created_at=COMMENT.created_at + timedelta(minutes=number),
    )
    for number in range(45)
]


@pytest.fixture(scope="module")
async def listing(clients: Clients, dynoxide_url: str) -> Table:
    table = Table(await clients.of(dynoxide_url), "pages-by-author")
    await create_table(table)
    await stored(
        table,
        [
            *COMMENTS,
            *(COMMENT._replace(comment_id=f"by{one}", username=one) for one in (".b", "..")),
        ],
    )
    return table


@pytest.fixture
async def visitor(listing: Table) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app_of(listing, explain=True)) as client:
        yield client


def led_to(page: Parsed, start: str) -> list[str]:
    """Return the distinct addresses of a page's links that begin with ``start``, without
    fragments.
    """
    links = [str(given.get("href")).partition("#")[0] for _, given in page.anchors]
    return list(dict.fromkeys(one for one in links if one.startswith(start)))


async def test_a_visitor_reads_an_authors_pages_forwards_and_backwards(
    visitor: httpx.AsyncClient,
) -> None:
    walked, address = [], ADDRESS
    pages = []
    while address:
        page = await opened(visitor, address)
        pages.append(page)
        walked += led_to(page, "/comments/")
        assert page.link("canonical") == address
        address = page.link("next") or ""
    assert walked == [f"/comments/z{number:02}" for number in reversed(range(45))]
    assert [len(led_to(page, "/comments/")) for page in pages] == [20, 20, 5]
    first = pages[0]
    assert sorted(led_to(first, "/products/")) == [f"/products/p%2F{n}" for n in range(3)]
    assert f"Comments by {NAME}" in first.text
    assert first.account["Index"] == "byAuthor"
    back = await opened(visitor, str(pages[2].link("prev")))
    assert led_to(back, "/comments/") == led_to(pages[1], "/comments/")
    back = await opened(visitor, str(back.link("prev")))
    assert led_to(back, "/comments/") == led_to(first, "/comments/")
    assert back.link("prev") is None


async def test_only_an_authors_first_page_shows_unpublished_comments(listing: Table) -> None:
    waiting = COMMENTS[0]._replace(comment_id="waiting", title="Waiting")
    await Stores(listing).comments.add(waiting, hold=held_for(ReviewCause.SETTING))
    async with client_of(app_of(listing), jwt_of(NAME)) as author:
        first = await opened(author, ADDRESS)
        assert "Waiting" in first.headings
        second = await opened(author, str(first.link("next")))
        assert "Waiting" not in second.headings


async def test_the_name_on_a_comment_links_to_the_authors_page(visitor: httpx.AsyncClient) -> None:
    for address in ("/products/p%2F1", "/comments/z01"):
        page = await opened(visitor, address)
        assert led_to(page, "/authors/") == [ADDRESS]
    assert led_to(await opened(visitor, "/comments/by.b"), "/authors/") == ["/authors/.b"]
    assert led_to(await opened(visitor, "/comments/by.."), "/authors/") == [], "it would be home"


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/authors/nobody%2F1", 404, "nobody/1"),
        ("/authors/a%09b", 400, _ARGUMENTS["username"]),
        ("/authors/a?after=x", 400, _CODES["BAD_CURSOR"]),
        ("/authors/Z?lang=de", 404, "Von Z gibt es keine Kommentare."),
    ],
)
async def test_a_missing_author_has_an_error_page(
    visitor: httpx.AsyncClient, address: str, status: int, said: str
) -> None:
    answer = await visitor.get(address)
    assert answer.status_code == status
    assert said in Parsed(answer.text).text
    assert 'content="noindex"' in answer.text
