import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.async_api import Locator, Page, Route, WebSocketRoute, expect

from tests.browser.conftest import NEEDS_CHROMIUM, Server, Witness

pytestmark = NEEDS_CHROMIUM

RUN = ".graphiql-execute-button"
TABS = ".graphiql-tab-button"
RESULT = ".result-window"

README_QUERY = (
    Path("README.md")
    .read_text("utf-8")
    .partition("### Read the plan")[2]
    .split("```graphql\n")[1]
    .split("```")[0]
)


async def open_graphiql(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/graphql")
    await expect(page.locator(RUN)).to_be_visible()
    await expect(page.locator(TABS)).to_have_count(2)


MARKS = """paths => paths.flatMap(
    path => path.getAttribute("d").match(/M/g).map(() => path.classList[1]))"""
"""Returns the kind of each mark in a drawing: shown, dropped or taken."""


async def open_without(page: Page, server: Server, attribute: str) -> None:
    """Open GraphiQL's page without an attribute, as a server with other options sends it."""

    async def plain(route: Route) -> None:
        answer = await route.fetch()
        body = re.sub(rf' {attribute}(="[^"]*")?', "", await answer.text())
        await route.fulfill(response=answer, body=body)

    await page.route(f"{server.url}/graphql", plain, times=1)
    await open_graphiql(page, server)


async def written_in(editor: Locator) -> str:
    text: str = await editor.locator(".CodeMirror").evaluate(
        "editor => editor.CodeMirror.getValue()"
    )
    return text


async def write_in(editor: Locator, text: str) -> None:
    await editor.locator(".CodeMirror").evaluate(
        "(editor, text) => editor.CodeMirror.setValue(text)", text
    )


def variables_of(page: Page) -> Locator:
    return page.locator(".graphiql-editor-tool .graphiql-editor").nth(0)


def headers_of(page: Page) -> Locator:
    return page.locator(".graphiql-editor-tool .graphiql-editor").nth(1)


async def run(page: Page) -> Any:
    """Click the button that runs the query. Return the content of the result pane."""
    result = page.locator(RESULT)
    await write_in(result, "")
    await page.locator(RUN).click()
    await expect(result.locator(".CodeMirror-code")).to_contain_text('"')
    return json.loads(await written_in(result))


async def drawn(page: Page, plan: Any, shown: int) -> None:
    """Check the drawing of a plan: a lane for each segment, and marks for rows and for the list."""
    drawing = page.locator(".lanes > svg")
    await expect(drawing.locator(".many")).to_have_count(len(plan["segments"]))
    marks = await drawing.locator(".mark").evaluate_all(MARKS)
    assert marks.count("taken") == shown
    assert len(marks) == plan["itemsRead"] + shown
    link = await page.get_by_role("link", name="Compare two plans").get_attribute("href")
    assert link == ("playground?rating=1&rating=2&language=en&product=1&size=10")


async def test_the_prepared_query_runs(page: Page, server: Server) -> None:
    await open_graphiql(page, server)
    assert await page.title() == "GraphiQL · Marginalia"
    answer = await run(page)
    assert "errors" not in answer
    comments = answer["data"]["product"]["comments"]
    nodes = [edge["node"] for edge in comments["edges"]]
    assert len(nodes) == 10
    assert {node["rating"] for node in nodes} <= {1, 2}
    assert {node["language"] for node in nodes} == {"en"}
    await expect(page.locator(RESULT)).to_contain_text(
        '"edges"'
    )  # wait until the comments are shown, which precede the plans
    editor = page.locator(".graphiql-query-editor .CodeMirror-scroll")
    box = await editor.bounding_box()
    assert box is not None
    assert box["width"] > 1280 * 0.35
    # Browsers round scrollWidth and clientWidth separately.
    assert await editor.evaluate("one => one.scrollWidth - one.clientWidth") <= 1
    await page.get_by_label("Show Plan").click()
    await drawn(page, comments["plan"], len(nodes))

    variables = json.loads(await written_in(variables_of(page)))
    after = comments["pageInfo"]["endCursor"]
    variables |= {"after": after, "verifiedOnly": False, "hasPhotos": True}
    await write_in(variables_of(page), json.dumps(variables))
    following = (await run(page))["data"]["product"]["comments"]["edges"]
    assert following[0]["node"]["createdAt"] <= nodes[-1]["createdAt"]
    assert {edge["cursor"] for edge in following}.isdisjoint(
        edge["cursor"] for edge in comments["edges"]
    )
    link = await page.get_by_role("link", name="Compare two plans").get_attribute("href")
    assert link is not None
    assert parse_qs(urlsplit(link).query) == {
        "rating": ["1", "2"],
        "language": ["en"],
        "product": ["1"],
        "size": ["10"],
        "photos": ["yes"],
        "after": [after],
    }


async def test_a_response_without_data_removes_the_drawing(
    page: Page, server: Server, witness: Witness
) -> None:
    await open_graphiql(page, server)
    await page.get_by_label("Show Plan").click()
    drawing = page.locator(".lanes > svg")
    for fail in (fail_with_a_message, no_connection):
        await run(page)
        await expect(drawing).to_have_count(1)
        await page.route("**/graphql", fail)
        await run(page)
        await expect(drawing).to_have_count(0)
        await page.unroute("**/graphql")
    witness.complaints.clear()  # Chromium reports the aborted request


async def no_connection(route: Route) -> None:
    await route.abort()


async def fail_with_a_message(route: Route) -> None:
    await route.fulfill(json={"errors": [{"message": "The test fails this request."}]})


async def test_a_server_without_plans_has_none_in_its_first_query(
    page: Page, server: Server
) -> None:
    await open_without(page, server, "data-plans")
    await expect(page.get_by_label("Show Plan")).to_have_count(0)
    comments = (await run(page))["data"]["product"]["comments"]
    assert comments.keys() == {"edges", "pageInfo"}


async def test_no_pane_violates_the_content_security_policy(page: Page, server: Server) -> None:
    """The fixture ``witness`` fails the test after a violation."""
    await open_graphiql(page, server)
    await page.get_by_label("Show Documentation Explorer").click()
    await expect(page.locator(".graphiql-plugin")).to_contain_text("Mutation")
    await expect(page.locator(".graphiql-plugin")).to_contain_text("comments on products")
    await page.get_by_label("Show History").click()
    await page.get_by_label("Show GraphiQL Explorer").click()
    await expect(page.locator(".graphiql-plugin")).to_contain_text("verifiedPurchase")
    for dialogue in ("Open settings dialog", "Open short keys dialog"):
        await page.get_by_label(dialogue).click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()
    await page.locator(".graphiql-query-editor .CodeMirror").click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type("query Q { ")
    await page.keyboard.press("Control+Space")
    await expect(page.locator(".CodeMirror-hints")).to_contain_text("product")


async def test_the_second_tab_writes_as_the_demos_user_or_with_a_jwt(
    page: Page, server: Server, adas_jwt: str
) -> None:
    await open_graphiql(page, server)
    await page.locator(TABS).nth(1).click()
    query = page.locator(".graphiql-query-editor .CodeMirror")
    # GraphiQL notices the name of the operation a moment after the text has changed.
    while await query.evaluate("one => one.CodeMirror.operationName") != "AddComment":
        await page.wait_for_timeout(50)
    added = (await run(page))["data"]["addComment"]
    assert (added["comment"]["authorName"], added["userErrors"]) == ("demo", [])

    await page.get_by_role("button", name="Headers").click()
    assert await written_in(headers_of(page)) == ""
    for name in ("Authorization", "authorization"):
        await write_in(headers_of(page), json.dumps({name: f"Bearer {adas_jwt}"}))
        added = (await run(page))["data"]["addComment"]
        assert (added["comment"]["authorName"], added["userErrors"]) == ("ada", [])


async def test_the_placeholder_of_a_jwt_is_not_sent(
    page: Page, server: Server, witness: Witness
) -> None:
    await open_without(page, server, "data-jwt")
    await page.locator(TABS).nth(1).click()
    witness.requests.clear()
    (error,) = (await run(page))["errors"]
    assert "<JWT>" in error["message"]
    assert f"{server.url}/graphql" not in witness.requests
    assert "<JWT>" in await written_in(headers_of(page))
    await page.get_by_label("Show Documentation Explorer").click()
    await page.get_by_label("Re-fetch GraphQL schema").click()
    await expect(page.locator(".graphiql-plugin")).to_contain_text("Mutation")


async def test_a_link_from_a_page_runs_its_query_and_shows_its_plan(
    page: Page, server: Server
) -> None:
    address = f"{server.url}/playground?rating=1&rating=2&product=1"
    await page.goto(address)
    await page.get_by_role("link", name="Open this query in GraphiQL").first.click()
    await expect(page.locator(".lanes > svg")).to_have_count(1)
    await expect(page.locator(RESULT)).to_contain_text('"product"')
    back = page.locator(".graphiql-logo a")
    await expect(back).to_have_text("Back to the playground")
    await back.click()
    await page.wait_for_url(address)
    await page.goto(f"{server.url}/graphql", referer="https://shop.example/")
    await expect(back).to_have_attribute("href", f"{server.url}/")


@pytest.mark.parametrize(
    "document", ["query Q { __typename } mutation M { __typename }", "mutation { __typename", ""]
)
async def test_a_link_does_not_run_other_documents(
    page: Page, server: Server, witness: Witness, document: str
) -> None:
    await page.goto(f"{server.url}/graphql?{urlencode({'query': document})}")
    await expect(page.locator(RUN)).to_be_visible()
    await expect(page.locator(TABS)).to_have_count(3)
    await page.get_by_label("Show Documentation Explorer").click()
    await expect(page.locator(".graphiql-plugin")).to_contain_text("Mutation")
    assert witness.requests.count(f"{server.url}/graphql") == 1, "only the schema is requested"
    assert await written_in(page.locator(RESULT)) == ""


async def test_each_response_has_its_own_drawing(page: Page, server: Server) -> None:
    """The first query is the query in README.md."""
    await open_graphiql(page, server)
    await page.get_by_label("Show Plan").click()
    drawing, query = page.locator(".lanes > svg"), page.locator(".graphiql-query-editor")
    await write_in(query, README_QUERY)
    await expect(page.locator(TABS).nth(0)).to_have_text("<untitled>")
    comments = (await run(page))["data"]["product"]["comments"]
    plan = comments["plan"]
    fields = {"index", "requests", "itemsRead", "consumedCapacity", "segments"}
    assert plan.keys() == fields, "the response has only the fields of the query"
    await expect(drawing.locator(".many")).to_have_count(len(plan["segments"]))
    found = await drawing.locator(".mark").evaluate_all(MARKS)
    assert len(found) == plan["itemsRead"] + len(comments["nodes"])
    await page.locator(TABS).nth(1).click()
    await expect(drawing).to_have_count(0)
    await page.locator(TABS).nth(0).click()
    await expect(drawing).to_have_count(1)
    await write_in(query, "{ __typename }")
    await run(page)
    await expect(drawing).to_have_count(0)


async def test_connections_that_end_normally_do_not_flood_the_server(
    page: Page, server: Server
) -> None:
    opened: list[WebSocketRoute] = []

    async def ends(socket: WebSocketRoute) -> None:
        opened.append(socket)
        await socket.close(code=1000)

    await page.clock.install()
    await page.route_web_socket("**/graphql", ends)
    await open_graphiql(page, server)
    await page.get_by_label("Add tab").click()
    subscription = 'subscription { commentEvents(productId: "1") { kind } }'
    await write_in(page.locator(".graphiql-query-editor"), subscription)
    await page.clock.run_for(1_000)  # GraphiQL recognizes a subscription a moment later
    await page.locator(RUN).click()
    for _ in range(40):
        await page.clock.run_for(250)
    assert 1 < len(opened) <= 11, "one connection a second"


async def test_a_phone_shows_the_answer_below_the_query(phone: Page, server: Server) -> None:
    await open_graphiql(phone, server)
    await expect(phone.locator(".graphiql-logo a")).to_be_visible()
    comments = (await run(phone))["data"]["product"]["comments"]
    query = await phone.locator(".graphiql-query-editor").bounding_box()
    result = await phone.locator(RESULT).bounding_box()
    assert query
    assert result
    assert result["y"] >= query["y"] + query["height"]
    assert result["width"] > 350
    assert result["height"] > 250
    assert await phone.evaluate("document.documentElement.scrollWidth") <= 390
    await phone.get_by_label("Show Plan").click()
    await drawn(phone, comments["plan"], len(comments["edges"]))
    lanes = await phone.locator(".lanes").bounding_box()
    assert lanes
    assert lanes["width"] > 300


async def test_a_subscription_runs(page: Page, server: Server) -> None:
    await open_graphiql(page, server)
    await page.get_by_label("Add tab").click()
    query = page.locator(".graphiql-query-editor")
    await write_in(query, 'subscription { commentEvents(productId: "1") { kind } }')
    answer = await run(page)
    # GraphiQL recognizes a subscription a moment after the text has changed.
    while "errors" in answer:
        answer = await run(page)
    assert answer == {"data": {"commentEvents": {"kind": "READY"}}}
