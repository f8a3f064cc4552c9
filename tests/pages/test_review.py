"""``/review``: customers comment on the products of an order by a link, without an account."""

import asyncio
import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from dal.entities.order import ORDER
from dal.model import Comment, CommentSource, OrderStatus, ProductDetails
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.items import Item
from features.invitations.entity import INVITATION
from features.invitations.links import claims_of
from features.invitations.model import Invitation, Link
from features.photos.uploads import PhotoUploads
from pages import i18n
from pages.page_request import NOTICES
from pages.review import _REPLACES, _USED
from server.app import create_app
from server.auth.authenticator import sign
from server.observability.access_log import AccessLog
from server.observability.signals import Signals
from server.services import authenticator_of, services_of
from server.settings import Settings
from tests.pages.conftest import (
    SECRET,
    Parsed,
    client_of,
    invalid_html,
    jwt_of,
    opened,
)
from tests.pages.test_photos import Bucket
from tests.server.applications import app_of
from tests.server.observability.observed import traced
from tests.strategies import order

TYPED = {"rating": "4", "language": "en", "title": "Typed title", "text": "Typed text"}

PRIVATE = {
    "cache-control": "private, no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
}


def jwt_for(*products: str, days: float = 60, secret: str = SECRET, **fields: Any) -> str:
    """Return the JWT of a link of lena's order, which has the name of its first product."""
    now = datetime.now(UTC)
    link = Link(
        order_id=products[0],
        username="lena",
        products=products,
        made_at=now - timedelta(days=1),
        expires_at=now + timedelta(days=days),
        name="Lena S.",
    )
    return sign(secret, claims_of(replace(link, **fields)))


def review(jwt: str, **parameters: str) -> str:
    return f"/review?{urlencode({'invitation': jwt, **parameters})}"


async def stored(table: Table, product_id: str) -> Sequence[Comment]:
    return (await Stores(table).comments.page(Selection(product_id), Slice(9))).nodes


@pytest.fixture(scope="module")
def held(table: Table) -> ASGIApp:
    """An application that publishes comments only after an approval."""
    return app_of(table, moderation="before-publishing")


@pytest.fixture
async def waiting(held: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(held) as client:
        yield client


async def test_a_customer_writes_a_comment_by_a_link(
    client: httpx.AsyncClient, table: Table
) -> None:
    await Stores(table).products.put_many({"kettle-1": ProductDetails("Kettle")})
    jwt = jwt_for("kettle-1", incentive="A voucher")
    page = await opened(client, review(jwt))
    assert "Kettle" in page.text
    assert "Lena S." in page.text
    assert "A voucher" in page.text
    assert page.fields()["grant"] == jwt
    answer = await client.post("/review", data=page.fields() | TYPED)
    assert (answer.status_code, answer.headers["location"]) == (303, review(jwt, notice="added"))
    (one,) = await stored(table, "kettle-1")
    assert (one.username, one.author_name, one.text) == ("lena", "Lena S.", "Typed text")
    assert (one.source, one.incentive) == (CommentSource.INVITATION, "A voucher")
    assert one.verified_purchase
    page = await opened(client, answer.headers["location"])
    assert NOTICES["added"] in page.text
    assert "rating" not in page.fields()
    links = [given["href"] for _, given in page.anchors]
    assert f"/comments/{one.comment_id}" in links
    assert not [one for one in links if "product=" in str(one)]


QUEUE = """{ moderationQueue(kind: PENDING, first: 50) {
  nodes { submission { id commentId createdAt updatedAt } } } }"""
DECIDE = """mutation($input: DecideCommentsInput!) {
  decideComments(input: $input) { userErrors { code } } }"""


async def decide(client: httpx.AsyncClient, page: Parsed, verdict: str) -> None:
    """Approve or reject the only comment on a page, as a moderator."""

    async def run(document: str, **variables: Any) -> Any:
        headers = {"Authorization": f"Bearer {jwt_of('mo', 'moderator')}"}
        body = {"query": document, "variables": variables}
        return (await client.post("/graphql", json=body, headers=headers)).json()["data"]

    (comment_id,) = [one["data-comment"] for _, one in page.elements if "data-comment" in one]
    nodes = (await run(QUEUE))["moderationQueue"]["nodes"]
    (found,) = [one["submission"] for one in nodes if one["submission"]["commentId"] == comment_id]
    seen = found["updatedAt"] or found["createdAt"]
    reason = "An advert" if verdict == "REJECT" else None
    decision = {"id": found["id"], "seen": seen, "verdict": verdict, "reason": reason}
    decided = await run(DECIDE, input={"decisions": [decision]})
    assert decided["decideComments"]["userErrors"] == []


async def test_a_comment_can_be_edited_until_it_is_published(
    waiting: httpx.AsyncClient, table: Table
) -> None:
    jwt = jwt_for("held-1")
    hidden = (await opened(waiting, review(jwt))).fields()
    answer = await waiting.post("/review", data=hidden | TYPED)
    page = await opened(waiting, answer.headers["location"])
    assert NOTICES["sent"] in page.text
    assert "rating" not in page.fields()
    assert not [given for _, given in page.anchors if "/authors/" in str(given["href"])]
    edit = review(jwt, product="held-1")
    assert edit in [given["href"] for _, given in page.anchors]
    form = await opened(waiting, edit)
    assert form.fields()["title"] == "Typed title"
    changed = form.fields() | TYPED | {"title": "Changed"}
    answer = await waiting.post("/review", data=changed)
    assert answer.headers["location"] == review(jwt, notice="resent")
    page = await opened(waiting, answer.headers["location"])
    assert "Changed" in page.text
    await decide(waiting, page, "APPROVE")
    assert [one.title for one in await stored(table, "held-1")] == ["Changed"]
    for address in (review(jwt), edit):
        page = await opened(waiting, address)
        assert "rating" not in page.fields()
        assert edit not in [given["href"] for _, given in page.anchors]
    late = await waiting.post("/review", data=changed | {"text": "Too late"})
    assert late.status_code == 422
    assert _USED in Parsed(late.text).text
    assert "Too late" in late.text
    assert [one.title for one in await stored(table, "held-1")] == ["Changed"]


async def test_a_rejected_comment_states_the_reason_and_can_be_edited(
    waiting: httpx.AsyncClient,
) -> None:
    jwt = jwt_for("rejected-1")
    hidden = (await opened(waiting, review(jwt))).fields()
    await waiting.post("/review", data=hidden | TYPED)
    await decide(waiting, await opened(waiting, review(jwt)), "REJECT")
    assert "An advert" in (await opened(waiting, review(jwt))).text
    form = (await opened(waiting, review(jwt, product="rejected-1"))).fields()
    assert (await waiting.post("/review", data=form | TYPED)).status_code == 303


async def test_the_products_of_an_order_follow_one_another(
    client: httpx.AsyncClient, table: Table
) -> None:
    products = ("several-1", "several-2", "several-3")
    jwt = jwt_for(*products)
    choices = {one: review(jwt, product=one) for one in products}

    def offered(page: Parsed) -> list[str | None]:
        return [given["href"] for _, given in page.anchors if "product=" in str(given["href"])]

    page = await opened(client, review(jwt))
    assert page.fields()["product"] == "several-1"
    assert offered(page) == [choices["several-2"], choices["several-3"]]
    page = await opened(client, choices["several-3"])
    assert page.fields()["product"] == "several-3"
    for left in (["several-2"], [], None):
        answer = await client.post("/review", data=page.fields() | TYPED)
        assert answer.status_code == 303
        page = await opened(client, answer.headers["location"])
        assert offered(page) == [choices[one] for one in left or ()]
        assert ("rating" in page.fields()) == (left is not None)
    assert page.text.count("Typed text") == 3
    assert [len(await stored(table, one)) for one in products] == [1, 1, 1]


USED = {"rating": "2", "text": "Other text"}


async def test_two_tabs_that_send_at_once_store_one_comment(
    client: httpx.AsyncClient, waiting: httpx.AsyncClient, table: Table
) -> None:
    jwt = jwt_for("twice-1")
    hidden = (await opened(client, review(jwt))).fields()
    same = [client.post("/review", data=hidden | TYPED) for _ in range(4)]
    assert {one.status_code for one in await asyncio.gather(*same)} == {303}
    assert len(await stored(table, "twice-1")) == 1
    jwt = jwt_for("twice-2")
    hidden = (await opened(waiting, review(jwt))).fields()
    sent = [hidden | TYPED, hidden | TYPED | USED]
    answers = await asyncio.gather(*(waiting.post("/review", data=one) for one in sent))
    assert sorted(one.status_code for one in answers) == [303, 422]
    # The form of the second tab keeps its text, and replaces the comment if it is sent again.
    (refused,) = [one for one in answers if one.status_code == 422]
    page = Parsed(refused.text)
    assert _REPLACES in page.text
    assert ("Other text" in refused.text) == (answers[1] is refused)
    again = await waiting.post("/review", data=page.fields() | TYPED | USED)
    assert again.headers["location"] == review(jwt, notice="resent")
    assert "Other text" in (await opened(waiting, again.headers["location"])).text


async def test_a_refused_form_keeps_its_text_and_its_link(
    client: httpx.AsyncClient, table: Table
) -> None:
    jwt = jwt_for("refused-1", "refused-2")
    hidden = (await opened(client, review(jwt, product="refused-2"))).fields()
    for wrong in ({"rating": "6"}, {"rating": ""}, {"text": "x" * 10_001}, {"language": "?"}):
        answer = await client.post("/review?lang=de", data=hidden | TYPED | wrong)
        assert answer.status_code == 422
        assert answer.headers.items() >= PRIVATE.items()
        assert '<html lang="de"' in answer.text
        page = Parsed(answer.text)
        assert (page.fields()["grant"], page.fields()["product"]) == (jwt, "refused-2")
        assert page.fields()["title"] == "Typed title"
        assert wrong.get("text", "Typed text") in answer.text
        (action,) = [
            given["action"] for _, given in page.elements if given.get("class") == "comment-form"
        ]
        assert action == "/review?lang=de"
    other = await client.post("/review", data=hidden | TYPED | {"product": "not-in-the-order"})
    assert other.status_code == 400
    assert await stored(table, "refused-2") == []


@pytest.mark.parametrize(
    ("jwt", "status"),
    [
        ("", 400),
        ("a.b.c", 400),
        (jwt_for("1", secret="another secret of thirty-two bytes"), 400),
        (jwt_of("ann", lifetime=9_999), 400),
        (sign(SECRET, {"scope": "vote", "sub": "lena", "exp": 99_999_999_999}), 400),
        (jwt_for("1", days=-1), 410),
    ],
    ids=["none", "unreadable", "forged", "of-a-user", "of-another-scope", "expired"],
)
async def test_an_invalid_link_has_a_page_that_says_so(
    client: httpx.AsyncClient, jwt: str, status: int
) -> None:
    for answer in (
        await client.get(review(jwt)),
        await client.post("/review", data=TYPED | {"grant": jwt, "product": "1"}),
    ):
        assert answer.status_code == status
        assert answer.headers.items() >= PRIVATE.items()
        assert not [one for _, one in Parsed(answer.text).anchors if "sign-in" in str(one["href"])]


CANCELLED = ORDER.encode(order(order_id="cancelled", username="lena", status=OrderStatus.CANCELLED))
REVOKED = INVITATION.encode(Invitation("revoked", "lena", revoked_at=datetime.now(UTC)))


@pytest.mark.parametrize(("order_id", "item"), [("cancelled", CANCELLED), ("revoked", REVOKED)])
async def test_a_link_that_has_ended_has_a_page_that_says_so(
    client: httpx.AsyncClient, table: Table, order_id: str, item: Item
) -> None:
    hidden = (await opened(client, review(jwt_for(order_id)))).fields()
    await table.put_many([item])
    for answer in (
        await client.get(review(hidden["grant"])),
        await client.post("/review", data=hidden | TYPED),
    ):
        assert answer.status_code == 410
        assert answer.headers.items() >= PRIVATE.items()
    assert await stored(table, order_id) == []


@pytest.mark.parametrize(
    ("product", "lifetime"), [("signed-in", 60), ("signed-out", -60)], ids=["valid", "expired"]
)
async def test_the_page_ignores_and_sets_no_cookies(
    app: ASGIApp, table: Table, product: str, lifetime: float
) -> None:
    jwt = jwt_for(product)
    async with client_of(app, jwt_of("ann", lifetime=lifetime)) as client:
        shown = await client.get(review(jwt, lang="de"))
        sent = await client.post("/review?lang=de", data=Parsed(shown.text).fields() | TYPED)
        refused = await client.get(review("a.b.c", lang="de"))
        for answer in (shown, sent, refused):
            assert "set-cookie" not in answer.headers
            assert answer.headers.items() >= PRIVATE.items()
            assert "ann" not in Parsed(answer.text).text.split()
    assert '<html lang="de"' in shown.text
    assert sent.headers["location"] == review(jwt, notice="added", lang="de")
    assert {one.username for one in await stored(table, product)} == {"lena"}


async def test_only_the_links_own_page_contains_its_jwt(client: httpx.AsyncClient) -> None:
    jwt = jwt_for("secret-1", "secret-2")
    page = await opened(client, review(jwt))
    named = [
        (name, value)
        for _, given in page.elements
        for name, value in given.items()
        if jwt.rpartition(".")[2] in str(value)
    ]
    assert {name for name, _ in named} == {"href", "value"}
    assert all(str(value).startswith(("/review?", jwt)) for _, value in named)
    assert "/review" in (await client.get("/robots.txt")).text


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/review/", 404), ("PUT", "/review", 405)]
)
async def test_the_page_for_a_broken_link_keeps_its_jwt_from_others(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    query = urlencode({"invitation": jwt_for("broken")})
    answer = await client.request(method, f"{path}?{query}", headers={"Accept": "text/html"})
    assert answer.status_code == status
    assert answer.headers.items() >= PRIVATE.items()
    assert "/sign-in" not in answer.text


async def test_logs_and_traces_do_not_contain_the_jwt(table: Table) -> None:
    stream, exporter = io.StringIO(), InMemorySpanExporter()
    signals = Signals(access_log=AccessLog("json", stream), tracing=traced(exporter))
    settings, jwt = Settings(), jwt_for("logged-1")
    authenticator = authenticator_of(settings, lambda: SECRET)
    services = services_of(settings, table, authenticator, signals=signals)
    async with client_of(create_app(settings, services)) as client:
        await client.get(review(jwt))
        sent = await client.post("/review", data=TYPED | {"grant": jwt, "product": "logged-1"})
        await client.get(sent.headers["location"])
    lines = stream.getvalue().splitlines()
    assert [('"path":"/review"' in line, '"route":"page"' in line) for line in lines] == [
        (True, True)
    ] * 3
    spans = "".join(one.to_json() for one in exporter.get_finished_spans())
    for part in jwt.split("."):
        assert part not in stream.getvalue()
        assert part not in spans


async def test_scripts_receive_forms_for_uploads_of_the_links_author(table: Table) -> None:
    uploads = await PhotoUploads.open(Bucket(), "https://photos.example/shop")
    settings = Settings()
    services = services_of(settings, table, authenticator_of(settings, lambda: SECRET))
    app = create_app(settings, replace(services, uploads=uploads))
    jwt, given = jwt_for("uploads-1"), {"types": "image/png"}
    folders = []
    for visitor, fields in ((None, {"grant": jwt}), (jwt_of("lena"), {})):
        async with client_of(app, visitor) as client:
            page = await opened(client, review(jwt) if fields else "/products/uploads-1")
            (field,) = [one for _, one in page.elements if "data-uploads" in one]
            own = {"form_key": page.fields()["form_key"], **fields}
            answer = await client.post(str(field["data-uploads"]), data=own | given)
            (upload,) = answer.json()
            folders.append(upload["photoUrl"].rpartition("/")[0])
            refused = await client.post(str(field["data-uploads"]), data=given | {"grant": "a.b.c"})
            assert (refused.status_code, "uploads/" in refused.text) == (400, False)
    assert folders[0] == folders[1]


async def test_the_validator_finds_no_fault(client: httpx.AsyncClient, tmp_path: Path) -> None:
    jwt = jwt_for("valid-1", "valid-2", "valid-3", incentive="<b>Tea</b>")
    hidden = (await opened(client, review(jwt))).fields()
    await client.post("/review", data=hidden | TYPED)
    for tag in i18n.LOCALES:
        (tmp_path / f"{tag}.html").write_text((await client.get(review(jwt, lang=tag))).text)
    wrong = await client.post("/review", data=hidden | {"product": "valid-2"})
    (tmp_path / "wrong.html").write_text(wrong.text)
    assert invalid_html(tmp_path) == []
