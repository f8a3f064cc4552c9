"""The moderators' page, and unpublished comments on the page of their author."""

from collections.abc import AsyncIterator
from contextlib import suppress
from copy import copy
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from starlette.types import ASGIApp
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.errors import NotFoundError
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.table.index import QueryRequest, QueryResponse
from features.moderation.model import ReportReason
from pages.comment import REASONS, size_message
from pages.moderation import _CAUSES, _ERRORS
from pages.page_request import NOTICES
from tests.conftest import Clients, fresh_table
from tests.fakes import anybody
from tests.moderating import held_for
from tests.pages.conftest import (
    COMMENT,
    Parsed,
    client_of,
    invalid_html,
    jwt_of,
    opened,
)
from tests.server.applications import app_of

MOST = 22
"""The number of waiting comments, which need two pages."""


def name_of(number: int) -> str:
    return f"w{number:02}"


def node(number: int) -> str:
    return to_base64("Submission", name_of(number))


@pytest.fixture(scope="module")
async def shop(clients: Clients, dynoxide_url: str) -> Table:
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture
async def stores(shop: Table) -> AsyncIterator[Stores]:
    """The repositories. Comments of the user ann wait for review, in the order of their numbers."""
    stores = Stores(shop)
    for number in range(MOST):
        one = COMMENT._replace(
            comment_id=name_of(number),
            title=f"Title {name_of(number)}",
            created_at=COMMENT.created_at + timedelta(minutes=number),
        )
        await stores.comments.add(one, hold=held_for(list(ReviewCause)[number % len(ReviewCause)]))
    yield stores
    for number in range(MOST):
        with suppress(NotFoundError):
            await stores.comments.delete(name_of(number), anybody)
        # Remove the tombstone, because the next test adds a comment with the same id.
        await shop.write([{"Delete": {"Key": comment_key(name_of(number))}}])


@pytest.fixture
def app(shop: Table) -> ASGIApp:
    return app_of(shop, explain=True)


@pytest.fixture
async def mo(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    """A moderator."""
    async with client_of(app, jwt_of("mo", "moderator")) as client:
        yield client


def listed(page: Parsed) -> list[str]:
    """Return the ids of a page's comments in order."""
    return [str(given["data-comment"]) for _, given in page.elements if "data-comment" in given]


def seen(page: Parsed, *numbers: int) -> dict[str, str]:
    """Return the form's fields that select these comments."""
    return {f"seen:{node(one)}": page.fields()[f"seen:{node(one)}"] for one in numbers}


async def state_of(stores: Stores, number: int) -> str:
    if await stores.comments.get(name_of(number)):
        return "published"
    found = await stores.moderation.get(name_of(number))
    return f"{found.state.name} {found.reason or ''}".strip() if found else "deleted"


@pytest.mark.usefixtures("stores")
async def test_a_moderator_pages_through_the_queue_in_both_directions(
    mo: httpx.AsyncClient,
) -> None:
    first = await opened(mo, "/moderation")
    assert listed(first) == [name_of(number) for number in range(20)]
    assert f"{MOST} comments are waiting" in first.text
    assert ("Moderation", "/moderation") in {("".join(t), g["href"]) for t, g in first.anchors}
    ways = {"".join(texts): given["href"] for texts, given in first.anchors}
    second = await opened(mo, str(ways["Newer"]))
    assert listed(second) == [name_of(20), name_of(21)]
    ways = {"".join(texts): given["href"] for texts, given in second.anchors}
    assert listed(await opened(mo, str(ways["Older"]))) == listed(first)


@pytest.mark.usefixtures("stores")
async def test_a_row_shows_author_product_and_why_the_comment_waits(mo: httpx.AsyncClient) -> None:
    page = await opened(mo, "/moderation")
    links = [given["href"] for _, given in page.anchors]
    assert "/authors/ann" in links
    assert "/products/p1" in links
    assert "/comments/w00" not in links
    assert {cause.name for cause in ReviewCause} == set(_CAUSES)
    assert [words for words in _CAUSES.values() if words not in page.text] == []


@pytest.mark.usefixtures("stores")
async def test_only_moderators_see_the_queue(app: ASGIApp) -> None:
    async with client_of(app) as visitor:
        answer = await visitor.get("/moderation?after=x")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/sign-in?next=%2Fmoderation%3Fafter%3Dx"
        assert (await visitor.post("/moderation", data={})).status_code == 401
    async with client_of(app, jwt_of("ann", "merchant", "staff")) as ann:
        answer = await ann.get("/moderation")
        assert answer.status_code == 403
        assert "Title w" not in answer.text
        page = Parsed(answer.text)
        assert "Moderation" not in page.text
        body = {"form_key": page.fields()["form_key"], "approve": "yes"}
        body[f"seen:{node(0)}"] = "2024-01-01T00:00:00Z"
        assert (await ann.post("/moderation", data=body)).status_code == 403


@pytest.mark.parametrize(
    ("given", "notice", "state"),
    [
        ({"approve": "yes"}, "approved", "published"),
        ({"reject": "yes", "reason": " An advert "}, "rejected", "REJECTED An advert"),
    ],
)
async def test_a_decision_leads_back_to_the_same_page(
    mo: httpx.AsyncClient, stores: Stores, given: dict[str, str], notice: str, state: str
) -> None:
    first = await opened(mo, "/moderation")
    onward = next(str(g["href"]) for texts, g in first.anchors if "".join(texts) == "Newer")
    page = await opened(mo, onward)
    key = {"form_key": page.fields()["form_key"]}
    answer = await mo.post(onward, data=key | given | seen(page, 20))
    assert answer.headers["location"] == f"{onward}&notice={notice}"
    back = await opened(mo, answer.headers["location"])
    assert NOTICES[notice] in back.text
    assert listed(back) == [name_of(21)]
    assert [await state_of(stores, one) for one in (20, 21)] == [state, "PENDING"]
    answer = await mo.post(onward, data=key | given | seen(page, 21))
    answer = await mo.get(answer.headers["location"])
    assert answer.headers["location"] == f"/moderation?notice={notice}", "no row is left"


async def test_all_chosen_submissions_are_decided_by_one_form(
    mo: httpx.AsyncClient, stores: Stores
) -> None:
    page = await opened(mo, "/moderation")
    body = {"form_key": page.fields()["form_key"], "chosen": "yes", "reason": "Twice"}
    await mo.post("/moderation", data=body | {"reject": "yes"} | seen(page, 3, 5, 7))
    answer = await mo.post("/moderation", data=body | {"approve": "yes"} | seen(page, 4, 6))
    assert answer.status_code == 303
    states = {number: await state_of(stores, number) for number in range(3, 9)}
    assert states == {
        3: "REJECTED Twice",
        4: "published",
        5: "REJECTED Twice",
        6: "published",
        7: "REJECTED Twice",
        8: "PENDING",
    }


async def test_a_failed_decision_is_marked_at_its_row(
    mo: httpx.AsyncClient, stores: Stores
) -> None:
    page = await opened(mo, "/moderation")
    await stores.comments.update(name_of(1), {"text": "It burns."}, anybody)
    await stores.comments.delete(name_of(2), anybody)
    body = {"form_key": page.fields()["form_key"], "chosen": "yes", "approve": "yes"}
    answer = await mo.post("/moderation", data=body | seen(page, 0, 1, 2))
    assert answer.status_code == 422
    after = Parsed(answer.text)
    assert _ERRORS["CONFLICT"] in after.text
    assert _ERRORS["NOT_FOUND"] in after.text
    assert "It burns." in after.text
    assert listed(after) == [name_of(one) for one in (1, *range(3, 22))][: len(listed(after))]
    assert await state_of(stores, 0) == "published"
    assert not [given for _, given in after.elements if "checked" in given], "it is read first"
    again = {"form_key": body["form_key"], "approve": "yes"}
    assert (await mo.post("/moderation", data=again | seen(after, 1))).status_code == 303
    assert await state_of(stores, 1) == "published"


@pytest.mark.parametrize("reason", ["", "\u200b", "x" * 201])
async def test_a_rejection_requires_a_reason(
    mo: httpx.AsyncClient, stores: Stores, reason: str
) -> None:
    page = await opened(mo, "/moderation")
    said = "201 characters" if len(reason) > 1 else size_message("", 1)
    body = {"form_key": page.fields()["form_key"], "reject": "yes", "reason": reason}
    for more in ({}, {"chosen": "yes"}):
        answer = await mo.post("/moderation", data=body | more | seen(page, 0, *[1] * len(more)))
        assert answer.status_code == 422
        after = Parsed(answer.text)
        assert said in after.text
        checked = [given["name"] for _, given in after.elements if "checked" in given]
        assert checked == ([f"seen:{node(one)}" for one in (0, 1)] if more else [])
        assert reason in {given.get("value") for _, given in after.elements}
    assert await state_of(stores, 0) == "PENDING"


async def test_a_comment_edited_meanwhile_is_not_selected_again(
    mo: httpx.AsyncClient, stores: Stores
) -> None:
    page = await opened(mo, "/moderation")
    await stores.comments.update(name_of(1), {"text": "It burns."}, anybody)
    body = {"form_key": page.fields()["form_key"], "chosen": "yes", "reject": "yes"}
    after = Parsed((await mo.post("/moderation", data=body | seen(page, 0, 1))).text)
    checked = [given["name"] for _, given in after.elements if "checked" in given]
    assert checked == [f"seen:{node(0)}"]


async def test_a_decided_comment_is_not_listed_again_while_the_index_lags(
    shop: Table, stores: Stores
) -> None:
    lagging, read = copy(shop), dict[str, QueryResponse]()

    async def query(request: QueryRequest) -> QueryResponse:
        if str(request) not in read:
            read[str(request)] = await shop.query(request)
        return read[str(request)]

    lagging.query = query  # type: ignore[method-assign]
    async with client_of(app_of(lagging), jwt_of("mo", "moderator")) as mo:
        page = await opened(mo, "/moderation")
        await stores.comments.delete(name_of(2), anybody)
        body = {"form_key": page.fields()["form_key"], "chosen": "yes", "approve": "yes"}
        answer = await mo.post("/moderation", data=body | seen(page, 0, 2))
    assert answer.status_code == 422
    assert await state_of(stores, 0) == "published"
    assert name_of(0) not in listed(Parsed(answer.text))


@pytest.mark.usefixtures("stores")
async def test_a_form_without_a_selected_comment_decides_nothing(mo: httpx.AsyncClient) -> None:
    key = (await opened(mo, "/moderation")).fields()["form_key"]
    body = {"form_key": key, "chosen": "yes", "approve": "yes"}
    answer = await mo.post("/moderation", data=body)
    assert answer.status_code == 422
    assert [given for _, given in Parsed(answer.text).elements if given.get("class") == "errors"]
    answer = await mo.post("/moderation", data=body | {"form_key": "x", f"seen:{node(0)}": "x"})
    assert answer.status_code == 403


async def test_authors_see_and_change_their_unpublished_comments(
    app: ASGIApp, stores: Stores
) -> None:
    found = await stores.moderation.get(name_of(0))
    assert found is not None
    await stores.moderation.reject(name_of(0), found.created_at, "mo", "No <b>")
    async with client_of(app, jwt_of("ann")) as ann:
        page = await opened(ann, "/authors/ann")
        assert listed(page) == [name_of(number) for number in range(21, 1, -1)]
        assert page.text.count("Waiting for approval") == 20
        more = next(str(g["href"]) for texts, g in page.anchors if "".join(texts) == "Older")
        page = await opened(ann, more)
        assert listed(page) == [name_of(1), name_of(0)]
        assert "Rejected: No <b>" in page.text
        assert "/comments/w00#edit" in {given["href"] for _, given in page.anchors}
        page = await opened(ann, "/comments/w00")
        assert "Rejected: No <b>" in page.text
        assert page.linked is None
        assert page.link("canonical") is None
        body = page.fields() | {"rating": "5", "language": "en", "title": "Mild", "text": "Yes."}
        body["action"] = "save"
        answer = await ann.post("/comments/w00", data=body)
        assert answer.headers["location"] == "/products/p1?notice=held"
        assert await state_of(stores, 0) == "PENDING"
        await ann.post("/comments/w00", data=body | {"action": "delete"})
        assert await state_of(stores, 0) == "deleted"
    async with client_of(app, jwt_of("mia", "merchant", "moderator")) as mia:
        found_ids = {given.get("id") for _, given in (await opened(mia, "/comments/w01")).elements}
    assert found_ids & {"edit", "write-reply", "report"} == {"edit"}, "no reply before approval"
    for who in ("bob", None):
        async with client_of(app, who and jwt_of(who)) as other:
            answer = await other.get("/comments/w01")
            assert answer.status_code == 404
            assert (await other.get("/authors/ann")).status_code == 404


async def test_reported_comments_have_pages_of_their_own(
    mo: httpx.AsyncClient, shop: Table
) -> None:
    stores = Stores(shop)
    for number in range(21):
        one = COMMENT._replace(comment_id=f"many{number:02}", product_id="many")
        await stores.comments.add(one)
        await stores.reports.report(one.comment_id, "bob", ReportReason.SPAM, "", 5, anybody)
    first = await opened(mo, "/moderation?kind=reported")
    ways = {"".join(texts): str(given["href"]) for texts, given in first.anchors}
    second = await opened(mo, ways["Newer"])
    assert listed(first) + listed(second) == [f"many{number:02}" for number in range(21)]
    ways = {"".join(texts): str(given["href"]) for texts, given in second.anchors}
    assert listed(await opened(mo, ways["Older"])) == listed(first)
    for number in range(21):
        await stores.comments.delete(f"many{number:02}", anybody)


async def test_reported_comments_have_their_own_queue(mo: httpx.AsyncClient, shop: Table) -> None:
    stores = Stores(shop)
    for one in ("r1", "r2"):
        await stores.comments.add(COMMENT._replace(comment_id=one, product_id="reported"))
        await stores.reports.report(one, "bob", ReportReason.SPAM, f"See {one}", 5, anybody)
    assert listed(await opened(mo, "/moderation")) == []
    page = await opened(mo, "/moderation?kind=reported")
    assert listed(page) == ["r1", "r2"]
    assert "2 reported comments" in page.text
    assert page.text.count("Reported since") == 2
    assert "Advertising (1) See r1" in page.text
    key = {"form_key": page.fields()["form_key"]}
    ids = [to_base64("Comment", one) for one in ("r1", "r2")]
    for one, decision in zip(
        ids, ({"approve": "yes"}, {"reject": "yes", "reason": "Advert"}), strict=True
    ):
        chosen = {f"seen:{one}": page.fields()[f"seen:{one}"]}
        answer = await mo.post("/moderation?kind=reported", data=key | decision | chosen)
        assert answer.headers["location"].startswith("/moderation?kind=reported&notice=")
    assert listed(await opened(mo, "/moderation?kind=reported")) == []
    assert await stores.comments.get("r1")
    assert await stores.comments.get("r2") is None
    assert {reason.name for reason in ReportReason} == set(REASONS)


@pytest.mark.usefixtures("stores")
async def test_a_moderator_blocks_a_user_and_ends_the_block(mo: httpx.AsyncClient) -> None:
    page = await opened(mo, "/moderation")
    blocks = [given for tag, given in page.elements if given.get("name") == "block"]
    assert {given["value"] for given in blocks} == {"ann"}
    body = {"form_key": page.fields()["form_key"], "block": "ann"}
    answer = await mo.post("/moderation", data=body | {"reason": "x" * 201})
    assert answer.status_code == 422
    assert "201 characters" in answer.text
    assert (await mo.post("/moderation", data=body | {"form_key": "x"})).status_code == 403
    answer = await mo.post("/moderation", data=body | {"reason": "Adverts <b>"})
    assert answer.headers["location"] == "/moderation?notice=blocked"
    page = await opened(mo, "/moderation?kind=blocked")
    assert "Adverts <b>" in page.text
    unblock = [given["value"] for _, given in page.elements if given.get("name") == "unblock"]
    assert unblock == ["ann"]
    key = {"form_key": page.fields()["form_key"]}
    answer = await mo.post("/moderation?kind=blocked", data=key | {"unblock": "ann"})
    assert answer.headers["location"] == "/moderation?kind=blocked&notice=unblocked"
    page = await opened(mo, "/moderation?kind=blocked")
    assert "unblock" not in {given.get("name") for _, given in page.elements}


@pytest.mark.usefixtures("stores")
async def test_the_html_is_valid(mo: httpx.AsyncClient, app: ASGIApp, tmp_path: Path) -> None:
    page = await mo.get("/moderation")
    (tmp_path / "queue.html").write_text(page.text)
    (tmp_path / "arabic.html").write_text((await mo.get("/moderation?lang=ar")).text)
    mo.cookies.delete("marginalia_lang")
    (tmp_path / "blocked.html").write_text((await mo.get("/moderation?kind=blocked")).text)
    body = {"form_key": Parsed(page.text).fields()["form_key"], "reject": "yes"}
    failed = await mo.post("/moderation", data=body | seen(Parsed(page.text), 0))
    (tmp_path / "failed.html").write_text(failed.text)
    async with client_of(app, jwt_of("ann")) as ann:
        (tmp_path / "own.html").write_text((await ann.get("/authors/ann")).text)
        (tmp_path / "one.html").write_text((await ann.get("/comments/w00")).text)
    assert invalid_html(tmp_path) == []
