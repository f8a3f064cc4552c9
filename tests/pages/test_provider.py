"""The pages' sign-in at a real OpenID Connect issuer."""

import hashlib
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import oidc_provider_mock
import pytest

from dal.dynamodb.table import Table
from pages.faults import KEYS_AWAY
from pages.sign_in import SignIn
from server.auth.issuer import Issuer
from server.services import authenticator_of
from server.settings import Settings
from tests.pages.conftest import SITE, client_of, flags, opened
from tests.server.applications import SECRET, app_of
from tests.viewers import viewer_of

USER = "auth0|64f0c2a1"
CLAIMS = {"name": "Ana Pérez", "roles": ["moderator"]}
START = "/sign-in/provider?next=/products/1"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    known = oidc_provider_mock.User(sub=USER, claims=CLAIMS)
    with oidc_provider_mock.run_server_in_thread(user_claims=[known]) as server:
        yield f"http://localhost:{server.server_port}"


def options(issuer: str) -> dict[str, Any]:
    return {
        "jwt_issuer": issuer,
        "jwt_audience": "comments-api",
        "sign_in_client_id": "pages",
        "sign_in_client_secret": "the client's secret",
    }


@pytest.fixture
async def browser(table: Table, issuer: str) -> AsyncIterator[httpx.AsyncClient]:
    given = options(issuer)
    authenticator = authenticator_of(Settings(**given), lambda: SECRET)
    async with client_of(app_of(table, authenticator, **given)) as client:
        yield client


async def agreed(browser: httpx.AsyncClient, action: str = "continue") -> str:
    """Confirm a sign-in at the issuer.

    Return the address to which the issuer redirects the browser.
    """
    started = await browser.get(START)
    assert started.status_code == 303
    async with httpx.AsyncClient() as elsewhere:
        form = {"sub": USER, "action": action}
        answer = await elsewhere.post(started.headers["location"], data=form)
    return str(answer.headers["location"])


async def test_a_visitor_signs_in_at_the_issuer(browser: httpx.AsyncClient) -> None:
    page = await opened(browser, "/sign-in?next=/products/1")
    assert "Sign in with your account" in page.text
    assert "JWT" not in page.text
    back = await browser.get(await agreed(browser))
    assert back.status_code == 200
    assert back.headers["refresh"] == "0;url=/products/1"
    assert "samesite=strict" in back.headers["set-cookie"].lower()
    signed_in = await opened(browser, "/products/1")
    assert "Signed in as" in signed_in.text


@pytest.mark.parametrize(
    ("site", "name", "secure"),
    [
        (SITE, "marginalia_sign_in", False),
        ("https://shop.localhost", "__Host-marginalia_sign_in", True),
    ],
)
async def test_the_cookie_of_a_sign_in_attempt_has_safe_flags(
    browser: httpx.AsyncClient, site: str, name: str, *, secure: bool
) -> None:
    """SameSite=Lax is necessary, because the redirect comes from the issuer's site."""
    browser.base_url = httpx.URL(site)
    back = await agreed(browser)
    (attempt,) = browser.cookies.jar
    assert (attempt.name, attempt.path, attempt.secure) == (name, "/", secure)
    assert attempt.has_nonstandard_attr("HttpOnly")
    assert attempt.get_nonstandard_attr("SameSite") == "lax"
    assert 0 < (attempt.expires or 0) - time.time() <= 600
    answer = await browser.get(back)
    assert [
        flags(cookie)
        for line in answer.headers.get_list("set-cookie")
        for cookie in SimpleCookie(line).values()
    ] == [(one, "/", "strict", secure) for one in (name, name.replace("sign_in", "jwt"))]


async def test_the_session_has_the_id_name_and_roles_of_the_user(
    browser: httpx.AsyncClient, table: Table, issuer: str
) -> None:
    await browser.get(await agreed(browser))
    jwt = browser.cookies.get("marginalia_jwt", domain="shop.localhost")
    checked = authenticator_of(Settings(**options(issuer)), lambda: SECRET)
    viewer = await viewer_of(checked, f"Bearer {jwt}")
    assert (viewer.user_id, viewer.name) == (USER, "Ana Pérez")
    assert viewer.roles == {"moderator"}


@pytest.mark.parametrize(
    "case", ["denied", "no cookie", "another state", "a used code", "no code", "a bad cookie"]
)
async def test_a_response_to_another_attempt_is_refused(
    browser: httpx.AsyncClient, case: str
) -> None:
    back = await agreed(browser, action="deny" if case == "denied" else "continue")
    if case == "a used code":
        kept = dict(browser.cookies)
        await browser.get(back)
        browser.cookies.clear()
        browser.cookies.update(kept)
    if case == "no cookie":
        browser.cookies.clear()
    if case == "a bad cookie":
        browser.cookies.set("marginalia_sign_in", "a.b", domain="shop.localhost")
    if case == "another state":
        back = back.replace("state=", "state=x")
    if case == "no code":
        back = back.replace("code=", "other=")
    answer = await browser.get(back)
    assert answer.status_code == 422
    assert "Sign-in failed." in answer.text
    assert "marginalia_jwt" not in answer.headers.get("set-cookie", "")


async def test_the_address_has_the_challenge_of_the_verifier(issuer: str) -> None:
    authenticator = authenticator_of(Settings(**options(issuer)), lambda: SECRET)
    provider = SignIn(authenticator, Issuer(issuer), "pages", "secret")
    address, attempt = await provider.start(f"{SITE}/sign-in/callback")
    asked = parse_qs(urlsplit(address).query)
    digest = hashlib.sha256(attempt.verifier.encode()).digest()
    assert asked["code_challenge"] == [urlsafe_b64encode(digest).decode().rstrip("=")]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["openid profile"]
    assert asked["redirect_uri"] == [f"{SITE}/sign-in/callback"]


async def test_without_the_issuer_sign_in_is_reported_as_unavailable(table: Table) -> None:
    given = options("http://127.0.0.1:9")
    authenticator = authenticator_of(Settings(**given), lambda: SECRET)
    async with client_of(app_of(table, authenticator, **given)) as client:
        answer = await client.get(START)
    assert answer.status_code == 503
    assert KEYS_AWAY in answer.text


async def test_a_server_without_a_provider_has_no_such_pages(client: httpx.AsyncClient) -> None:
    for path in (START, "/sign-in/callback?code=a&state=b"):
        assert (await client.get(path)).status_code == 404
