"""Forms: permissions, repeated forms, and texts that are kept after errors."""

import asyncio
from urllib.parse import quote

import httpx
import pytest
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from pages.comment import size_message
from pages.faults import SESSION_ENDED
from pages.page_request import NOTICES
from pages.sessions import OTHER_SESSION
from tests.pages.conftest import COMMENT, Parsed, client_of, jwt_of, opened, stored
from tests.server.applications import app_of

TYPED = {"rating": "4", "language": "en", "title": "Typed title", "text": "Typed\r\ntext"}


async def form_of(client: httpx.AsyncClient, address: str) -> dict[str, str]:
    """Return the hidden fields of the form on a page."""
    fields = (await opened(client, address)).fields()
    return {name: fields[name] for name in ("form_key", "key")}


async def titles(table: Table, product_id: str) -> list[str]:
    page = await Stores(table).comments.page(Selection(product_id), Slice(50))
    return [comment.title for comment in page.nodes]


async def test_a_comment_is_sent_and_shown(ann: httpx.AsyncClient, table: Table) -> None:
    hidden = await form_of(ann, "/products/w1")
    answer = await ann.post("/products/w1", data=hidden | TYPED)
    assert answer.status_code == 303
    page = await opened(ann, answer.headers["location"])
    assert NOTICES["added"] in page.text
    assert page.linked["reviewBody"] == "Typed\ntext"
    assert page.linked["author"]["name"] == "ann"
    assert await titles(table, "w1") == ["Typed title"]


async def test_pages_show_the_name_in_the_jwt_and_link_by_the_user_id(
    table: Table,
) -> None:
    """The identity provider's user id must not be shown to visitors as a name."""
    app, user, path = app_of(table), "auth0|64f0c1", "/authors/auth0%7C64f0c1"
    async with client_of(app, jwt_of(user, name="Ana Pérez")) as ana:
        before = await opened(ana, "/products/named")
        assert "Signed in as Ana Pérez" in before.text
        names = {" ".join("".join(texts).split()): given["href"] for texts, given in before.anchors}
        assert names["My comments"] == path
        answer = await ana.post("/products/named", data=hidden_of(before) | TYPED)
        address = answer.headers["location"].partition("?")[0]
    async with client_of(app) as visitor:
        comment = await opened(visitor, address)
        assert comment.linked["author"]["name"] == "Ana Pérez"
        assert "Comments by Ana Pérez" in (await opened(visitor, path)).text
        for one in (address, "/products/named", path):
            html = (await visitor.get(one)).text
            assert path in html
            assert "Ana Pérez" in html
            assert "auth0|" not in html
    async with client_of(app, jwt_of(user, name="Ana P. Gómez")) as renamed:
        hidden = hidden_of(await opened(renamed, address))
        edit = {"action": "save", "title": "Another", **hidden}
        assert (await renamed.post(address, data=TYPED | edit)).status_code == 303
        page = await opened(renamed, address)
        assert page.linked["name"] == "Another"
        assert page.linked["author"]["name"] == "Ana Pérez"


async def test_a_form_sent_twice_stores_one_comment(ann: httpx.AsyncClient, table: Table) -> None:
    body = await form_of(ann, "/products/w2") | TYPED
    answers = await asyncio.gather(*(ann.post("/products/w2", data=body) for _ in range(4)))
    assert {answer.status_code for answer in answers} == {303}
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert await titles(table, "w2") == ["Typed title"]


async def test_a_form_sent_again_with_another_text_is_not_saved_at_once(
    ann: httpx.AsyncClient, table: Table
) -> None:
    body = await form_of(ann, "/products/w3") | TYPED
    await ann.post("/products/w3", data=body)
    second = await ann.post("/products/w3", data=body | {"title": "Another"})
    assert second.status_code == 422
    page = Parsed(second.text)
    assert page.fields()["key"] != body["key"]
    third = await ann.post("/products/w3", data=body | {"title": "Another"} | hidden_of(page))
    assert third.status_code == 303
    assert sorted(await titles(table, "w3")) == ["Another", "Typed title"]


def hidden_of(page: Parsed) -> dict[str, str]:
    return {name: page.fields()[name] for name in ("form_key", "key")}


@pytest.mark.parametrize(
    ("changed", "name", "said"),
    [
        ({"rating": ""}, "rating", "five stars"),
        ({"rating": "6"}, "rating", "five stars"),
        ({"text": " "}, "text", size_message("", 1)),
        ({"text": "\u200b\u200b"}, "text", size_message("", 1)),
        ({"language": "not a tag"}, "language", "en or pt-BR"),
        ({"language": "*", "another": "not a tag"}, "language", "en or pt-BR"),
        ({"language": ""}, "language", "en or pt-BR"),
        ({"title": "x" * 201}, "title", "201 characters"),
        ({"text": "x" * 10_001}, "text", "10,001 characters"),
    ],
)
async def test_errors_are_shown_next_to_their_fields_and_the_text_is_kept(
    ann: httpx.AsyncClient, table: Table, changed: dict[str, str], name: str, said: str
) -> None:
    body = await form_of(ann, "/products/w4") | TYPED | changed
    answer = await ann.post("/products/w4", data=body)
    assert answer.status_code == 422
    page = Parsed(answer.text)
    described = [
        given
        for _, given in page.elements
        if "aria-invalid" in given
        and f"{name}-error" in (given.get("aria-describedby") or "").split()
    ]
    assert len(described) == 1
    (error,) = [given for _, given in page.elements if given.get("id") == f"{name}-error"]
    assert error["class"] == "error"
    assert said in page.text
    assert page.fields()["title"] == body["title"]
    assert page.fields()["key"] == body["key"]
    assert body["text"].replace("\r\n", " ").strip() in page.text
    assert await titles(table, "w4") == []


async def test_an_invalid_typed_language_is_marked_at_its_field(ann: httpx.AsyncClient) -> None:
    wrong = {"language": "*", "another": "not a tag"}
    body = await form_of(ann, "/products/w4") | TYPED | wrong
    page = Parsed((await ann.post("/products/w4", data=body)).text)
    (marked,) = [given for _, given in page.elements if "aria-invalid" in given]
    assert marked["id"] == "another"
    assert marked["aria-describedby"] == "language-error another-hint"


async def test_all_errors_of_a_form_are_shown_at_once(ann: httpx.AsyncClient, table: Table) -> None:
    await stored(table, [COMMENT._replace(comment_id="e9", product_id="at-once")])
    wrong = {"rating": "", "language": "not a tag", "title": "x" * 201, "text": " "}
    for address, key in (("/products/at-once", ""), ("/comments/e9", "edit-")):
        body = await form_of(ann, address) | wrong
        page = Parsed((await ann.post(address, data=body)).text)
        marked = [given["id"] for _, given in page.elements if given.get("class") == "error"]
        assert marked == [f"{key}{name}-error" for name in wrong]


@pytest.mark.parametrize("form_key", ["", "0" * 64, "é"])
async def test_a_form_with_a_wrong_form_key_changes_nothing(
    ann: httpx.AsyncClient, table: Table, form_key: str
) -> None:
    product = f"w5-{len(form_key)}{form_key[:1]}"
    body = await form_of(ann, f"/products/{product}") | TYPED | {"form_key": form_key}
    answer = await ann.post(f"/products/{product}", data=body)
    assert answer.status_code == 422
    page = Parsed(answer.text)
    assert OTHER_SESSION in page.text
    assert page.fields()["title"] == "Typed title"
    assert await titles(table, product) == []
    again = await ann.post(f"/products/{product}", data=body | hidden_of(page))
    assert again.status_code == 303


async def test_the_form_key_of_another_session_is_refused(
    app: ASGIApp, ann: httpx.AsyncClient
) -> None:
    async with client_of(app, jwt_of("bob")) as bob:
        hidden = await form_of(bob, "/products/w6")
    answer = await ann.post("/products/w6", data=hidden | TYPED)
    assert (answer.status_code, OTHER_SESSION in answer.text) == (422, True)


async def test_the_text_is_kept_if_the_session_has_ended(app: ASGIApp, table: Table) -> None:
    async with client_of(app, jwt_of("ann", lifetime=-60)) as client:
        answer = await client.post("/products/w7", data=TYPED)
        page = Parsed(answer.text)
        assert answer.status_code == 422
        assert SESSION_ENDED in page.text
        assert "Use another tab to sign in" in page.text
        assert page.fields()["title"] == "Typed title"
        assert "marginalia_jwt" not in client.cookies
    assert await titles(table, "w7") == []


async def test_the_author_edits_and_deletes_a_comment(ann: httpx.AsyncClient, table: Table) -> None:
    comment = COMMENT._replace(comment_id="e1", product_id="e", title="<b>old</b>")
    await stored(table, [comment])
    page = await opened(ann, "/comments/e1")
    assert page.fields()["title"] == "<b>old</b>"
    body = hidden_of(page) | TYPED | {"action": "save"}
    answer = await ann.post("/comments/e1", data=body | {"rating": "9"})
    assert (answer.status_code, "five stars" in answer.text) == (422, True)
    answer = await ann.post("/comments/e1", data=body)
    assert answer.headers["location"] == "/comments/e1?notice=changed"
    page = await opened(ann, "/comments/e1?notice=changed")
    assert NOTICES["changed"] in page.text
    assert page.linked["name"] == "Typed title"

    answer = await ann.post("/comments/e1", data=body | {"action": "delete", "form_key": "x"})
    assert answer.status_code == 403
    answer = await ann.post("/comments/e1", data=body | {"action": "delete"})
    assert answer.headers["location"] == "/products/e?notice=deleted"
    assert (await ann.get("/comments/e1")).status_code == 404
    assert await titles(table, "e") == []


async def test_other_users_have_no_forms_and_cannot_post_them(
    app: ASGIApp, client: httpx.AsyncClient, table: Table
) -> None:
    await stored(table, [COMMENT._replace(comment_id="e2", product_id="e2")])
    assert "Delete" not in (await opened(client, "/comments/e2")).text
    delete = {"action": "delete"}
    assert (await client.post("/comments/e2", data=delete)).status_code == 401
    async with client_of(app, jwt_of("bob")) as bob:
        page = await opened(bob, "/comments/e2")
        assert "Delete" not in page.text
        forged = await bob.post(
            "/comments/e2", data=delete | {"form_key": page.fields()["form_key"]}
        )
        assert forged.status_code == 403
    async with client_of(app, jwt_of("mo", "moderator")) as moderator:
        page = await opened(moderator, "/comments/e2")
        assert "Delete permanently" in page.text
        body = delete | {"form_key": page.fields()["form_key"]}
        assert (await moderator.post("/comments/e2", data=body)).status_code == 303


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"\xff\xfe", 400), (b"text=%ff", 400), (b"a=1&" * 60, 400), (b"x" * 1_000_001, 413)],
)
async def test_a_body_that_is_not_a_form_is_refused(
    ann: httpx.AsyncClient, body: bytes, status: int
) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await ann.post("/products/w8", content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")


async def test_a_form_of_another_site_changes_nothing(ann: httpx.AsyncClient, table: Table) -> None:
    body = await form_of(ann, "/products/w9") | TYPED
    elsewhere = {"Origin": "https://evil.example"}
    assert (await ann.post("/products/w9", data=body, headers=elsewhere)).status_code == 403
    left = await ann.post("/sign-out", data={}, headers=elsewhere)
    assert (left.status_code, "set-cookie" in left.headers) == (403, False)
    assert await titles(table, "w9") == []


def options(page: Parsed) -> list[str]:
    """Return the values of a select element in order."""
    return [given["value"] or "" for tag, given in page.elements if tag == "option"]


def selected(page: Parsed) -> list[str | None]:
    return [given["value"] for _, given in page.elements if "selected" in given]


async def test_the_browsers_language_is_first_and_another_language_is_last(
    ann: httpx.AsyncClient, table: Table
) -> None:
    await stored(table, [COMMENT._replace(comment_id="f1", product_id="fr", language="fr")])
    accepted = {"Accept-Language": "en;q=0.5, pt-BR, xx;q=0.9, de-AT;q=0.8"}
    page = Parsed((await ann.get("/products/fr", headers=accepted)).text)
    assert options(page)[:4] == ["pt-BR", "de", "en", "fr"]
    assert options(page)[-1] == "*"
    assert len(options(page)) == len(set(options(page))) > 50
    assert selected(page) == ["pt-BR"]


async def test_a_browser_without_preferred_languages_has_no_selected_language(
    ann: httpx.AsyncClient,
) -> None:
    page = Parsed((await ann.get("/products/none", headers={"Accept-Language": "*"})).text)
    assert (options(page)[0], selected(page)) == ("", [])


async def test_a_language_that_is_not_in_the_list_can_be_typed(ann: httpx.AsyncClient) -> None:
    body = await form_of(ann, "/products/w10") | TYPED | {"language": "*", "another": "OC"}
    refused = Parsed((await ann.post("/products/w10", data=body | {"text": ""})).text)
    assert (selected(refused), refused.fields()["another"]) == (["*"], "OC")
    answer = await ann.post("/products/w10", data=body)
    edited = await opened(ann, answer.headers["location"].partition("?")[0])
    assert edited.linked["inLanguage"] == "oc"
    assert (selected(edited), edited.fields()["another"]) == (["*"], "oc")


async def test_a_comment_that_waits_for_a_moderator_is_hidden(table: Table) -> None:
    app = app_of(table, moderation="before-publishing")
    await stored(table, [COMMENT._replace(comment_id="shown", product_id="waits")])
    for jwt, waits in ((jwt_of("ann"), True), (jwt_of("ann", "moderator"), False)):
        async with client_of(app, jwt) as writer:
            for address, button in (("/products/waits", "Publish"), ("/comments/shown", "Save")):
                words = (await opened(writer, address)).text
                assert ("Send for approval" in words, f"{button} " in words) == (waits, not waits)
    async with client_of(app, jwt_of("ann")) as ann:
        body = await form_of(ann, "/products/waits") | TYPED
        answer = await ann.post("/products/waits", data=body)
        assert answer.headers["location"] == "/products/waits?notice=held"
        page = await opened(ann, answer.headers["location"])
        assert NOTICES["held"] in page.text
        assert TYPED["title"] not in page.text


async def replied(
    client: httpx.AsyncClient, address: str, text: str, **more: str
) -> httpx.Response:
    """Send a reply by the form on a comment's page."""
    form_key = (await opened(client, address)).fields()["form_key"]
    body = {"form_key": form_key, "action": "reply", "text": text, **more}
    return await client.post(address, data=body)


async def test_a_merchant_replies_changes_and_removes_the_reply(
    app: ASGIApp, table: Table, client: httpx.AsyncClient
) -> None:
    comment = COMMENT._replace(comment_id="r1", product_id="replied", username="replied")
    await stored(table, [comment])
    async with client_of(app, jwt_of("mia", "merchant")) as mia:
        for text in ("Thank you.", "Thanks, <b>Ann</b>."):
            answer = await replied(mia, "/comments/r1", text)
            assert answer.status_code == 303
            assert NOTICES["replied"] in (await opened(mia, answer.headers["location"])).text
            for address in ("/comments/r1", "/products/replied", "/authors/replied"):
                page = await opened(client, address)
                assert text in page.text
        (review,) = (await opened(client, "/products/replied")).linked["review"]
        reply = (await Stores(table).comments.page(Selection("replied"), Slice(1))).nodes[0].reply
        assert reply is not None
        assert review["comment"] == {
            "@type": "Comment",
            "author": {"@type": "Organization", "url": "http://shop.localhost/"},
            "dateCreated": reply.created_at.isoformat(),
            "text": "Thanks, <b>Ann</b>.",
        }
        answer = await replied(mia, "/comments/r1", "", action="unreply")
        assert answer.status_code == 303
        page = await opened(client, "/comments/r1")
        assert text not in page.text
        assert "comment" not in page.linked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", size_message("", 1)),
        (" \u200b", size_message("", 1)),
        ("x" * 2_001, "2,001 characters"),
    ],
    ids=["empty", "blank", "too long"],
)
async def test_a_refused_reply_is_kept_in_its_form(
    app: ASGIApp, table: Table, text: str, said: str
) -> None:
    await stored(table, [COMMENT._replace(comment_id="r2", product_id="refused")])
    async with client_of(app, jwt_of("mia", "merchant")) as mia:
        answer = await replied(mia, "/comments/r2", text)
        assert answer.status_code == 422
        assert said in Parsed(answer.text).text
        assert text.strip() in answer.text
        strange = await replied(mia, "/comments/r2", "Kept.", form_key="of another session")
        assert (strange.status_code, "Kept." in strange.text) == (422, True)


async def test_a_refused_removal_of_a_reply_shows_no_form(
    app: ASGIApp, table: Table, client: httpx.AsyncClient
) -> None:
    await stored(table, [COMMENT._replace(comment_id="r4", product_id="kept")])
    async with client_of(app, jwt_of("mia", "merchant")) as mia:
        await replied(mia, "/comments/r4", "Kept.")
        body = {"action": "unreply", "form_key": "of another session"}
        answers = [await one.post("/comments/r4", data=body) for one in (mia, client)]
    assert [answer.status_code for answer in answers] == [403, 401]
    assert not any("<textarea" in answer.text for answer in answers)
    assert "Kept." in (await opened(client, "/comments/r4")).text


async def test_a_customer_has_no_reply_form(ann: httpx.AsyncClient, table: Table) -> None:
    await stored(table, [COMMENT._replace(comment_id="r3", product_id="owned")])
    assert (await replied(ann, "/comments/r3", "Mine.")).status_code == 403
    assert "Mine." not in (await opened(ann, "/comments/r3")).text


@pytest.mark.parametrize(
    ("user", "actions"),
    [
        (None, {"report"}),
        ("bob", {"report"}),
        ("acts-author", {"edit", "delete"}),
        ("mia", {"write-reply", "report"}),
    ],
)
async def test_a_card_links_to_the_forms_on_the_comments_page(
    app: ASGIApp, table: Table, user: str | None, actions: set[str]
) -> None:
    """Scripts open the same forms in the card. They fetch the forms from these addresses."""
    await stored(
        table, [COMMENT._replace(comment_id="acted", product_id="acts", username="acts-author")]
    )
    jwt = user and jwt_of(user, *(["merchant"] if user == "mia" else []))
    async with client_of(app, jwt) as client:
        for address in ("/products/acts", "/authors/acts-author"):
            page = await opened(client, address)
            links = {
                str(given["href"]).rpartition("#")[::2]
                for _, given in page.anchors
                if "data-act" in given and "acted" in str(given["href"])
            }
            assert links == {("/comments/acted", name) for name in actions}
            own = await opened(client, "/comments/acted")
            forms = {"edit", "delete", "write-reply", "report"}
            assert {given.get("id") for _, given in own.elements} & forms == actions
            assert ("reason" in own.fields()) == (user is not None and "report" in actions)


async def test_a_reader_reports_a_comment(app: ASGIApp, table: Table) -> None:
    await stored(table, [COMMENT._replace(comment_id="bad", product_id="reports")])
    async with client_of(app, jwt_of("bob")) as bob:
        form_key = (await opened(bob, "/comments/bad")).fields()["form_key"]
        body = {"form_key": form_key, "action": "report", "text": "Look."}
        for wrong, said in (
            ({}, "Choose a reason."),
            ({"reason": "OTHER", "text": " "}, size_message("", 1)),
            (
                {"reason": "SPAM", "text": "x" * 501},
                "501 characters",
            ),
            ({"reason": "SPAM", "form_key": ""}, OTHER_SESSION),
        ):
            answer = await bob.post("/comments/bad", data=body | wrong)
            assert (answer.status_code, said in Parsed(answer.text).text) == (422, True)
        assert (await Stores(table).reports.reports("bad")).total == 0
        listed = "/products/reports?rating=4&after=x&notice=held"
        answer = await bob.post(
            f"/comments/bad?list={quote(listed, safe='')}", data=body | {"reason": "SPAM"}
        )
        following = "/products/reports?rating=4&notice=reported&fresh=bad"
        assert answer.headers["location"] == following
        page = await opened(bob, following)
        assert NOTICES["reported"] in page.text
        assert "notice" in {given.get("id") for _, given in page.elements}, "scripts look for it"
        assert page.headings == ["-", "Good", "Good"], "a draft, the card alone, and the list"
        assert "fresh" in {given.get("id") for _, given in page.elements}
    assert (await Stores(table).reports.reports("bad")).total == 1
