"""Helpful votes without scripts: the buttons, and the most helpful comments of a product."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from dal.stores import Stores
from pages.page_request import NOTICES
from tests.calls import calls_of
from tests.pages.conftest import COMMENT, client_of, jwt_of, numbered, opened, stored
from tests.server.applications import app_of

ODD = "lid & spout/2"
"""An id that must be escaped in addresses and in HTML."""

JSON = {"Accept": "application/json"}


@pytest.fixture
async def bob(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app, jwt_of("bob")) as client:
        yield client


@pytest.fixture(scope="module", autouse=True)
async def comments(table: Table) -> None:
    odd = COMMENT._replace(comment_id=ODD, product_id="voted", username="dora")
    bobs = COMMENT._replace(comment_id="bobs", product_id="voted", username="bob", votes_before=7)
    await stored(table, [odd, bobs])


async def buttons(client: httpx.AsyncClient, address: str) -> dict[str, tuple[str, str]]:
    """Return the name and aria-pressed of each comment's button on a page."""
    page = await opened(client, address)
    found = [given for tag, given in page.elements if tag == "button" and "aria-pressed" in given]
    assert all(given["form"] == "votes" for given in found)
    return {str(one["value"]): (str(one["name"]), str(one["aria-pressed"])) for one in found}


async def send(client: httpx.AsyncClient, address: str, **fields: str) -> httpx.Response:
    """Send the form of a page with ``fields``, as a button does."""
    page = await opened(client, address)
    form = {name: page.fields()[name] for name in ("form_key", "next")}
    return await client.post("/votes", data=form | fields)


async def test_after_a_vote_the_page_shows_the_comment_and_the_vote_can_be_withdrawn(
    table: Table, bob: httpx.AsyncClient
) -> None:
    address = "/products/voted?rating=4&notice=added"
    assert await buttons(bob, address) == {ODD: ("mark", "false")}, "one's own has no button"
    answer = await send(bob, address, mark=ODD)
    back = "/products/voted?rating=4&notice=voted#vote-lid%20%26%20spout/2"
    assert (answer.status_code, answer.headers["location"]) == (303, back)
    page = await opened(bob, back)
    assert NOTICES["voted"] in page.text
    (place,) = [given for _, given in page.elements if given.get("id") == urlsplit(back).fragment]
    assert place["aria-pressed"] == "true"
    assert "1 person found this helpful" in page.text
    assert "7 people found this helpful" in page.text
    for address in ("/comments/lid%20%26%20spout%2F2", "/authors/dora"):
        assert (await buttons(bob, address))[ODD] == ("unmark", "true")
    answer = await bob.get("/products/voted")
    assert answer.headers["cache-control"] == "private, no-cache"
    await send(bob, "/products/voted", unmark=ODD)
    assert await buttons(bob, "/products/voted") == {ODD: ("mark", "false")}
    assert not await Stores(table).votes.marked("bob", [COMMENT._replace(comment_id=ODD)])


async def test_a_visitor_signs_in_before_voting_and_returns(client: httpx.AsyncClient) -> None:
    address = "/products/voted?order=oldest"
    assert (await buttons(client, address)).keys() == {ODD, "bobs"}
    answer = await send(client, address, mark=ODD)
    back = "/sign-in?next=%2Fproducts%2Fvoted%3Forder%3Doldest"
    assert (answer.status_code, answer.headers["location"]) == (303, back)
    assert (await opened(client, back)).fields()["next"] == address


async def test_scripts_receive_the_number_of_votes_and_errors_as_json(
    bob: httpx.AsyncClient,
) -> None:
    key = (await opened(bob, "/products/voted")).fields()["form_key"]
    for fields, status, count in (
        ({"mark": ODD}, 200, 1),
        ({"unmark": ODD}, 200, 0),
        ({"mark": "bobs"}, 200, None),
        ({"mark": "gone"}, 200, None),
        ({}, 200, None),
        ({"mark": ODD, "form_key": "another session's"}, 403, None),
    ):
        sent = {"form_key": key, "next": "/"} | fields
        answer = await bob.post("/votes", data=sent, headers=JSON)
        assert (answer.status_code, answer.json()) == (status, {"count": count})


@pytest.mark.parametrize("comment", ["gone", "bobs"])
async def test_a_refused_vote_leads_back_to_the_page(bob: httpx.AsyncClient, comment: str) -> None:
    answer = await send(bob, "/products/voted", mark=comment)
    back = answer.headers["location"]
    assert back == f"/products/voted?notice=vote-refused#vote-{comment}"
    page = await opened(bob, back)
    assert NOTICES["vote-refused"] in page.text


async def test_a_vote_that_is_not_saved_can_be_sent_again(bob: httpx.AsyncClient) -> None:
    answer = await send(bob, "/products/voted", mark=ODD, form_key="another session's")
    back = answer.headers["location"]
    assert back == "/products/voted?notice=not-voted#vote-lid%20%26%20spout/2"
    assert NOTICES["not-voted"] in (await opened(bob, back)).text


async def test_a_form_of_another_site_cannot_vote(bob: httpx.AsyncClient) -> None:
    answer = await bob.post(
        "/votes", data={"mark": ODD}, headers={"Origin": "https://evil.example"}
    )
    assert answer.status_code == 403
    answer = await bob.post("/votes", data={"mark": ODD, "next": "//evil.example"})
    assert answer.headers["location"].startswith("/?notice=not-voted")


async def test_the_first_page_shows_the_most_helpful_comments(
    table: Table, client: httpx.AsyncClient
) -> None:
    """They cost one Query on the first page, and none on other pages."""
    helped = numbered("helped", 25, username="cleo")
    await stored(table, [one._replace(votes_before=n % 7) for n, one in enumerate(helped)])
    page = await opened(client, "/products/helped")
    links = [given["href"] for text, given in page.anchors if "Read the comment" in text]
    # Comments 13 and 20 have 6 votes. Number 13 is rated 4, and number 20 is rated 1.
    assert links == ["/comments/helped-00013", "/comments/helped-00020"]
    assert "Most helpful positive" in page.text
    for other in ("?rating=1", "?order=helpful", "?page=last", "?language=en"):
        assert (
            "Most helpful positive" not in (await opened(client, f"/products/helped{other}")).text
        )
    assert "What helped other customers" not in (await opened(client, "/products/p1")).text
    counted = Table(table.service, table.name)
    calls = calls_of(counted)
    async with client_of(app_of(counted)) as visitor:
        await visitor.get("/products/helped")
    (query,) = [one for one in calls.queries if one.get("IndexName") == "byHelpful"]
    assert query["Limit"] == 12
