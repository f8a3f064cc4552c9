"""The playground: one page of comments by two plans, with the numbers of the API."""

import re
from collections import Counter
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dal.dynamodb.account import MAX_REQUESTS
from dal.dynamodb.table import Table
from dal.query.plan import MAX_SEGMENTS
from dal.stores import Stores
from pages.faults import _CODES, TOO_LARGE
from pages.page_documents import DOCUMENTS
from pages.playground import DEEPEST, LARGEST, LARGEST_DRAWING
from tests.pages.conftest import (
    Parsed,
    client_of,
    numbered,
    opened,
    stored,
)
from tests.schema.execution.test_cost import cost_of
from tests.server.applications import app_of

PLAN = r"(\d+)(?: and \d+ to plan)? (\d+) ([\d.]+)(?: and [\d.]+ to plan)?"
FIGURES = re.compile(f"Marginalia's plan {PLAN} The articles' plan {PLAN} The ideal {PLAN}")


@pytest.fixture(scope="package")
async def teapot(table: Table) -> str:
    """The playground's address for a product with 90 comments in two languages."""
    made = [*numbered("teapot", 60), *numbered("teapot", 90, 60, language="de")]
    await stored(table, made)
    return "/playground?product=teapot"


async def told(client: httpx.AsyncClient, link: str) -> Any:
    """Execute the query of a link to GraphiQL. Return the connection."""
    ((document,), (variables,)) = parse_qs(urlsplit(link).query).values()
    assert document == DOCUMENTS["playground"]
    answer = await client.get(link, headers={"Accept": "application/json"})
    assert "errors" not in answer.json(), variables
    return answer.json()["data"]["product"]["comments"]


@pytest.mark.parametrize(
    ("chosen", "lanes"),
    [
        ("&rating=1&rating=4&rating=5&language=en", 3),
        ("&rating=1&rating=2&language=de&language=en&language=tlh&by=nothing", 6),
        ("&rating=2&rating=3&order=oldest&by=counts&size=7&page=3", 2),
        ("", 1),
    ],
)
async def test_both_plans_have_the_figures_of_the_api_and_equal_rows(
    client: httpx.AsyncClient, teapot: str, chosen: str, lanes: int
) -> None:
    page = await opened(client, teapot + chosen)
    assert "rows, the same by both plans" in page.text
    links = [href for _, given in page.elements if "/graphql?" in (href := given.get("href") or "")]
    ours, articles = [await told(client, link) for link in links]
    assert ours["nodes"] == articles["nodes"] != []
    assert len(articles["plan"]["segments"]) == lanes
    assert articles["plan"]["consumedCapacity"] == articles["plan"]["fullPages"]["capacity"]
    shown = FIGURES.search(page.text)
    assert shown is not None
    figures = [
        (one["requests"], one["itemsRead"], one["consumedCapacity"])
        for one in (ours["plan"], articles["plan"])
    ]
    rows = len(ours["nodes"])
    assert [float(one) for one in shown.groups()[:6]] == [*figures[0], *figures[1]]
    assert [float(one) for one in shown.groups()[6:8]] == [1, rows]
    read = ours["plan"]["itemsRead"] + articles["plan"]["itemsRead"]
    assert page.marks == Counter(shown=2 * rows, dropped=read - 2 * rows, taken=2 * rows)


@pytest.mark.parametrize(("chosen", "gains"), [("&rating=1&rating=2&rating=3", True), ("", False)])
async def test_the_page_says_whether_the_plans_differ_and_shows_each_query(
    client: httpx.AsyncClient, teapot: str, chosen: str, gains: bool
) -> None:
    page = await opened(client, teapot + chosen)
    (heading,) = [given for _, given in page.elements if given.get("id") == "verdict-heading"]
    assert (heading.get("class") is None) is gains
    links = [href for _, given in page.elements if "/graphql?" in (href := given.get("href") or "")]
    plans = [(await told(client, link))["plan"] for link in links]
    sent = sum(not one["skipReason"] for plan in plans for one in plan["segments"])
    assert page.text.count("aws dynamodb query") == sent
    moves = [given for tag, given in page.elements if given.get("id") == "step"]
    assert [given["max"] for given in moves] == ["20"]


def listed(page: Parsed) -> list[str]:
    """Return the distinct addresses of a page's comments."""
    links = [(given.get("href") or "").partition("#")[0] for _, given in page.elements]
    return list(dict.fromkeys(link for link in links if link.startswith("/comments/")))


async def test_pages_are_selected_by_number_and_by_cursor(
    client: httpx.AsyncClient, teapot: str
) -> None:
    chosen = teapot + "&rating=1&rating=2&size=10"
    walked, address = list[str](), chosen
    for number in count(1):
        page = await opened(client, address)
        titles = listed(page)
        assert listed(await opened(client, f"{chosen}&page={number}")) == titles
        walked += titles
        onward = [one.get("href") or "" for _, one in page.elements if one.get("rel") == "next"]
        if not onward:
            break
        (address,) = onward
    wanted = [f"/comments/teapot-{n:05}" for n in reversed(range(150)) if n % 5 < 2]
    assert walked == wanted


async def test_without_a_product_the_playground_shows_the_first_of_the_leaderboard(
    client: httpx.AsyncClient, table: Table, teapot: str
) -> None:
    await Stores(table).boards.correct(["teapot"])
    page = await opened(client, "/playground")
    assert FIGURES.search(page.text)
    examples = [
        href
        for _, given in page.elements
        if (href := given.get("href") or "")[:12] == "/playground?"
    ]
    query = "{ leaderboard(first: 1) { nodes { product { productId } } } }"
    answer = (await client.post("/graphql", json={"query": query})).json()
    (first,) = answer["data"]["leaderboard"]["nodes"]
    chosen = "/playground?rating=1&rating=2&rating=3&rating=4&product="
    assert examples[0] == chosen + first["product"]["productId"]
    lanes = [given for tag, given in page.elements if tag == "text" and given["class"] == "many"]
    assert len(lanes) >= 4 + 1, "the articles' plan has four lanes"
    links = [given.get("href") for _, given in (await opened(client, "/")).elements]
    assert "/playground" in links


async def test_a_products_plan_links_to_the_same_list_in_the_playground(
    client: httpx.AsyncClient, teapot: str
) -> None:
    chosen = "rating=1&rating=2&language=de&from=2024-01-01"
    page = await opened(client, f"/products/teapot?{chosen}")
    links = [given.get("href") or "" for _, given in page.elements]
    (link,) = [one for one in links if one.startswith("/playground?")]
    assert link.startswith("/playground?" + chosen)
    assert listed(await opened(client, link)) == listed(page)
    assert teapot


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("&rating=6", "1 to 5"),
        ("&size=101", "'101'"),
        ("&page=12", "1 to 11"),
        ("&by=magic", "all, counts, nothing"),
        ("&after=nonsense", _CODES["BAD_CURSOR"]),
        (
            "&size=100&rating=1&rating=2&rating=3"
            + "&language=".join(["", *(f"a{n}" for n in "abcdefghijkl")]),
            TOO_LARGE,
        ),
    ],
)
async def test_an_invalid_address_is_reported(
    client: httpx.AsyncClient, teapot: str, chosen: str, said: str
) -> None:
    answer = await client.get(teapot + chosen)
    assert answer.status_code == 400
    assert said in Parsed(answer.text).text


async def test_a_server_without_explain_has_no_playground(table: Table) -> None:
    async with client_of(app_of(table)) as visitor:
        answer = await visitor.get("/playground?product=teapot")
        drawing = await visitor.post("/playground/drawing", json=POSTED)
    assert answer.status_code == 404
    assert "The playground is not available on this server" in answer.text
    assert "<form" not in answer.text.partition("<main")[2]
    assert drawing.status_code == 404


def test_a_page_of_the_playground_stays_below_the_cost_limit_of_a_request() -> None:
    product = {"productId": "1"}
    languages = [f"l{n}" for n in range(MAX_SEGMENTS // 4)]
    widest = {**product, "rating": [1, 2, 3, 4], "language": languages}
    requests = cost_of(DOCUMENTS["playground.languages"], **product)[0]
    shown = widest | {"first": 20, "shown": True}
    requests += cost_of(DOCUMENTS["playground"], **shown, planBy="FULL_PAGES")[0]
    requests += cost_of(DOCUMENTS["playground"], **shown, planBy="COUNTS")[0]
    walks = -(-DEEPEST // LARGEST)
    requests += walks * cost_of(DOCUMENTS["playground"], **widest, first=LARGEST, shown=False)[0]
    assert 4 * MAX_SEGMENTS < requests <= MAX_REQUESTS


STEP: dict[str, Any] = {"purpose": "PAGE", "index": "byLang", "segments": 1}
SEGMENT: dict[str, Any] = {"partitionKey": "P#1", "itemsRead": 1, "skipReason": None}
ROW: dict[str, Any] = {
    "position": "2024-01-02T00:00:00.000000Z#a",
    "segment": 0,
    "refill": 0,
    "outcome": "SHOWN",
}
POSTED: dict[str, Any] = {"residual": [], "steps": [STEP], "segments": [SEGMENT], "rows": [ROW]}


async def test_a_posted_plan_is_drawn_like_that_of_a_page(
    client: httpx.AsyncClient, teapot: str
) -> None:
    page = await opened(client, teapot + "&rating=1&rating=4&language=en")
    links = [href for _, given in page.elements if "/graphql?" in (href := given.get("href") or "")]
    drawings = []
    for link in links:
        answer = await client.post("/playground/drawing", json=(await told(client, link))["plan"])
        assert answer.headers["content-type"] == "application/json"
        drawings.append(Parsed(answer.json()))
    assert drawings[0].marks + drawings[1].marks == page.marks
    assert page.marks["taken"] == 2 * 20
    ids = [given["id"] for one in drawings for _, given in one.elements if "id" in given]
    assert len(ids) == len(set(ids)) == 4


async def test_posted_text_is_escaped(client: httpx.AsyncClient) -> None:
    evil = "<script>alert(1)</script>"
    plan = {
        "residual": [evil],
        "steps": [STEP, {"purpose": "REST", "index": evil, "segments": 1}],
        "segments": [{**SEGMENT, "partitionKey": evil}, {**SEGMENT, "skipReason": evil}],
        "rows": [ROW, {**ROW, "position": evil, "outcome": "FILTERED"}, {**ROW, "outcome": evil}],
    }
    drawing = (await client.post("/playground/drawing", json=plan)).json()
    assert drawing.count("&lt;script&gt;") == 4
    assert "<script" not in drawing


@pytest.mark.parametrize(
    ("posted", "status", "said"),
    [
        (b"", 400, "residual steps {"),
        (b'{"rows": []}', 400, "residual steps {"),
        (POSTED | {"rows": [ROW] * LARGEST_DRAWING}, 413, "2,000 rows and 1 key"),
        (b" " * 1_000_001, 413, "1,000,000 bytes"),
    ],
)
async def test_an_invalid_posted_plan_is_reported(
    client: httpx.AsyncClient, posted: Any, status: int, said: str
) -> None:
    body = {"content": posted} if isinstance(posted, bytes) else {"json": posted}
    answer = await client.post("/playground/drawing", **body)
    assert answer.status_code == status
    assert said in answer.json()["errors"][0]["message"]


_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 1, 2, 10**9, 0.5, "", "2024-99-99#", "REST", [], {}]
)
_PLANS = st.fixed_dictionaries(
    {"residual": _VALUES | st.lists(_VALUES, max_size=2)},
    optional={
        name: _VALUES
        | st.lists(
            st.fixed_dictionaries({field: st.just(value) | _VALUES for field, value in of.items()}),
            max_size=2,
        )
        for name, of in (("steps", STEP), ("segments", SEGMENT), ("rows", ROW))
    },
)


@given(_PLANS | _VALUES)
@example(POSTED | {"steps": [{**STEP, "segments": 2}, {**STEP, "segments": -1}]})
@example(POSTED | {"rows": [{**ROW, "segment": -1}]})
async def test_any_posted_plan_is_drawn_or_refused(
    client: httpx.AsyncClient, posted: object
) -> None:
    assert (await client.post("/playground/drawing", json=posted)).status_code in {200, 400}


async def test_crawlers_list_the_first_view_only(client: httpx.AsyncClient) -> None:
    noindex = '<meta name="robots" content="noindex">'
    assert noindex not in (await client.get("/playground")).text
    assert noindex in (await client.get("/playground?product=1")).text
