"""Pages in other languages contain no English text, even in errors of forms and of the API."""

import re
from html.parser import HTMLParser

import httpx
import pytest
from graphql import GraphQLError

from dal.dynamodb.table import Table
from pages import i18n
from pages.comment import CommentForm
from pages.faults import fault_of
from schema.errors import KNOWN_ERRORS, UserErrorCode
from server.auth.authenticator import Authenticator
from server.auth.issuer import Issuer
from tests.pages.conftest import (
    COMMENT,
    client_of,
    jwt_of,
    numbered,
    stored,
)
from tests.pages.messages import TRANSLATED
from tests.server.applications import app_of

_SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")

_SHOWN = {"alt", "aria-label", "placeholder", "title", "data-copy", "data-some", "content"}

_AS_IT_IS = {"code", "bdi", "script", "style"}
"""Elements with names, or with texts for programs, which have no language."""


class Spoken(HTMLParser):
    """Finds the sentences that a page shows in its own language."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sentences: set[str] = set()
        self._path: list[tuple[str, str | None]] = []
        self.lang: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.lang = self.lang or given.get("lang")
        within = self._path[-1][1] if self._path else None
        lang = given.get("lang", within)
        if tag not in {"meta", "link", "input", "img"}:
            self._path.append((tag, None if tag in _AS_IT_IS else lang))
        if lang == self.lang and given.get("name") not in {"viewport", "color-scheme"}:
            self._note(*(value or "" for name, value in given.items() if name in _SHOWN))

    def handle_endtag(self, tag: str) -> None:
        while self._path and self._path.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._path and self._path[-1][1] == self.lang:
            self._note(data)

    def _note(self, *texts: str) -> None:
        self.sentences |= {" ".join(one.split()) for one in texts if _SENTENCE.search(one)}


@pytest.fixture(scope="module", autouse=True)
async def told(table: Table) -> None:
    await stored(table, numbered("told", 45))
    await stored(table, [COMMENT._replace(comment_id="told", product_id="told-1", text="Boils.")])


_EXPIRED = {"Cookie": f"marginalia_jwt={jwt_of('ann', lifetime=-60)}"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}

FAULTS = {
    "expired": ("GET", "/products/told", _EXPIRED, b""),
    "expired at the form": ("POST", "/products/told", _EXPIRED | _FORM, b"title=1&text=x"),
    "expired and deleting": ("POST", "/comments/told", _EXPIRED | _FORM, b"action=delete"),
    "no header": ("GET", "/", {"Authorization": "Basic x"}, b""),
    "pasted": ("POST", "/sign-in", _FORM, b"jwt=a.b.c"),
    "another key": (
        "POST",
        "/sign-in",
        _FORM,
        b"jwt=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIiwiZXhwIjozMjUwMzY4MDAwMH0.AAAA",
    ),
    "another way": ("POST", "/sign-in", _FORM, b"jwt=eyJhbGciOiJIUzUxMiJ9.e30.AAAA"),
    "too large": ("POST", "/products/told", _FORM, b"x" * 1_000_001),
    "no form": ("POST", "/products/told", _FORM, b"\xff"),
    "no language": ("GET", "/products/told?language=not+a+tag", {}, b""),
    "too many languages": (
        "GET",
        "/products/told?rating=1&rating=2&"
        + "&".join(f"language=a{n:c}" for n in range(97, 122))
        + "&"
        + "&".join(f"language=b{n:c}" for n in range(97, 122)),
        {},
        b"",
    ),
    "no cursor": ("GET", "/products/told?after=x", {}, b""),
    "no comment": ("GET", "/comments/none", {}, b""),
    "a used link": ("GET", "/sign-in?code=x", {}, b""),
    "no list by author": ("GET", "/authors/silent", {}, b""),
    "nothing": ("GET", "/nothing", {"Accept": "text/html"}, b""),
}


async def _said(
    client: httpx.AsyncClient, tag: str, request: tuple[str, str, dict[str, str], bytes]
) -> set[str]:
    method, address, headers, body = request
    answer = await client.request(
        method, address, headers=headers | {"Accept-Language": tag}, content=body
    )
    spoken = Spoken(answer.text)
    assert spoken.lang == tag
    return spoken.sentences


@pytest.mark.parametrize("request_", FAULTS.values(), ids=FAULTS)
async def test_an_error_is_shown_in_the_visitors_language(
    client: httpx.AsyncClient, request_: tuple[str, str, dict[str, str], bytes]
) -> None:
    english = await _said(client, "en", request_)
    assert english
    for tag in TRANSLATED:
        assert await _said(client, tag, request_) & english == set()


PAGES = (
    "/",
    "/products/told",
    "/products/told?rating=1&rating=2&language=en&from=2024-01-01",
    "/products/none",
    "/comments/told",
    "/sign-in",
    "/playground",
    "/widget",
    "/playground?product=told&rating=1&rating=4&language=en&language=eo",
    "/playground?product=told&rating=1&rating=2&rating=3&by=nothing&order=oldest",
    "/playground?product=told&by=counts&after=x",
)


@pytest.mark.parametrize("address", PAGES)
async def test_a_translated_page_has_no_english_text(ann: httpx.AsyncClient, address: str) -> None:
    english = await _said(ann, "en", ("GET", address, {}, b""))
    assert english
    for tag in TRANSLATED:
        assert await _said(ann, tag, ("GET", address, {}, b"")) & english == set()


async def test_a_failed_request_for_keys_is_reported(table: Table) -> None:
    issuer = Issuer(jwks_url="http://127.0.0.1:9/nobody")
    app = app_of(table, Authenticator(secret=lambda: None, issuer=issuer))
    header = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.AAAA"
    asked = ("GET", "/", {"Authorization": f"Bearer {header}"}, b"")
    async with client_of(app) as client:
        english = await _said(client, "en", asked)
        for tag in TRANSLATED:
            assert await _said(client, tag, asked) & english == set()


_KNOWN = {one.code for one in KNOWN_ERRORS.values()}


@pytest.mark.parametrize("code", sorted({*_KNOWN, "BAD_REQUEST", "INTERNAL", "NEW"}))
def test_every_error_code_has_a_message_of_the_pages(code: str) -> None:
    extensions = {"code": code, "argument": "first"}
    if code == "INTERNAL":
        extensions["requestId"] = "r1"
    for tag in TRANSLATED:
        error = GraphQLError("The API's words.", extensions=extensions)
        with i18n.speaking("en"):
            english = str(fault_of(error))
        with i18n.speaking(tag):
            assert str(fault_of(error)) not in {english, "The API's words."}


@pytest.mark.parametrize("code", [one.value for one in UserErrorCode])
@pytest.mark.parametrize("field", [None, ["input", "productId"], ["input", "idempotencyKey"]])
def test_every_user_error_code_has_a_message_of_the_form(
    code: str, field: list[str] | None
) -> None:
    error = {"field": field, "message": "The API's words.", "code": code}
    for tag in TRANSLATED:
        with i18n.speaking("en"):
            english = CommentForm().messages([error])
        with i18n.speaking(tag):
            assert CommentForm().messages([error])[""] not in {english[""], "The API's words."}
