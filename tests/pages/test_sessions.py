"""Sign-in, sign-out, and the limits of the session's cookie."""

import base64
import time
from dataclasses import replace
from http.cookies import SimpleCookie

import httpx
import pytest
from starlette.types import ASGIApp

from dal.dynamodb.table import Table
from pages.addresses import product_path
from pages.faults import FLAWS
from pages.sessions import pasted_jwt
from pages.sign_in import DEMO_ROLES
from server.app import create_app
from server.auth.authenticator import DEMO_USER, Authenticator, SignInCode
from server.auth.claims import TokenFlaw
from server.services import services_of
from server.settings import Settings
from tests.pages.conftest import SECRET, SITE, Parsed, client_of, flags, jwt_of, opened
from tests.server.applications import app_of
from tests.viewers import viewer_of

FORM = {"next": "/products/1?rating=5#write"}


@pytest.mark.parametrize(
    "form",
    [
        "{jwt}",
        "Bearer {jwt}",
        ' {{"Authorization": "Bearer {jwt}"}}\n',
        "Bearer {jwt} for seven days",
        "{jwt}\nana@host:~$ ",
    ],
)
async def test_a_pasted_jwt_signs_in(client: httpx.AsyncClient, form: str) -> None:
    pasted = form.format(jwt=jwt_of("ann"))
    answer = await client.post("/sign-in", data=FORM | {"jwt": pasted}, headers={"Origin": SITE})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/products/1?rating=5#write"
    page = await opened(client, "/")
    assert "Signed in as ann" in page.text
    left = await client.post("/sign-out", data={"form_key": page.fields()["form_key"]})
    assert left.status_code == 303
    assert "Signed in as" not in (await opened(client, "/")).text


@pytest.mark.parametrize("ending", ["\n", "\r\n  ", " "])
async def test_a_jwt_that_a_terminal_broke_into_lines_signs_in(
    client: httpx.AsyncClient, ending: str
) -> None:
    line = f'  {{"Authorization": "Bearer {jwt_of("ann")}"}}\n\n  Ctrl-C ends it.'
    broken = ending.join(line[at : at + 80] for at in range(0, len(line), 80))
    answer = await client.post("/sign-in", data={"jwt": broken}, headers={"Origin": SITE})
    assert answer.status_code == 303


async def test_a_broken_jwt_with_a_nested_algorithm_does_not_sign_in(
    client: httpx.AsyncClient,
) -> None:
    header = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 1_000 + b"]" * 1_000 + b"}").decode()
    broken = f"{header.rstrip('=')}.e30.eA\nabc"
    answer = await client.post("/sign-in", data={"jwt": broken}, headers={"Origin": SITE})
    assert answer.status_code == 422


@pytest.mark.parametrize("width", [7, 43, 80])
@pytest.mark.parametrize(
    ("algorithm", "size"),
    [
        *(("HS256", 43), ("ES256", 86), ("EdDSA", 86), ("RS256", 342), ("RS256", 512)),
        *(("RS256", 683), ("RS256", 470), ("RS256", 171)),
    ],
)
def test_text_around_a_pasted_jwt_is_ignored(algorithm: str, size: int, width: int) -> None:
    header = base64.urlsafe_b64encode(b'{"alg":"%s","typ":"JWT"}' % algorithm.encode()).decode()
    jwt = f"{header.rstrip('=')}.eyJzdWIiOiJhbm4ifQ.{'s' * size}"
    lines = "\n".join(jwt[at : at + width] for at in range(0, len(jwt), width))
    for text in (jwt, lines):
        assert pasted_jwt(f"$ marginalia token ann\n{text}\nana@host:~$ ") == jwt


@pytest.mark.parametrize("product_id", ["الغلاية", "a?b#c", "a%2Fb", "42/en", "a b"])
async def test_sign_in_leads_back_to_any_page(client: httpx.AsyncClient, product_id: str) -> None:
    page = await opened(client, product_path(product_id) + "?rating=5")
    (link,) = [
        str(given["href"])
        for _, given in page.elements
        if "/sign-in?next=" in (given.get("href") or "") and "write" not in str(given["href"])
    ]
    following = (await opened(client, link)).fields()["next"]
    answer = await client.post("/sign-in", data={"jwt": jwt_of("ann"), "next": following})
    back = await opened(client, answer.headers["location"])
    assert f"Product {product_id}" in back.texts
    assert answer.headers["location"].endswith("?rating=5")


@pytest.mark.parametrize(
    ("site", "root", "name", "path", "secure"),
    [
        (SITE, "", "marginalia_jwt", "/", False),
        ("https://shop.localhost", "", "__Host-marginalia_jwt", "/", True),
        ("https://shop.localhost", "/comments", "marginalia_jwt", "/comments", True),
    ],
)
async def test_the_cookie_of_a_session_has_safe_flags(
    app: ASGIApp, site: str, root: str, name: str, path: str, *, secure: bool
) -> None:
    transport = httpx.ASGITransport(app, root_path=root)
    async with httpx.AsyncClient(transport=transport, base_url=f"{site}{root}") as client:
        answer = await client.post("/sign-in", data={"jwt": jwt_of("ann")})
        (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
        assert flags(cookie) == (name, path, "strict", secure)
        assert (cookie["domain"], cookie["max-age"]) == ("", "")
        page = await opened(client, "/")
        assert "Signed in as ann" in page.text
        left = await client.post("/sign-out", data={"form_key": page.fields()["form_key"]})
        (gone,) = SimpleCookie(left.headers["set-cookie"]).values()
        assert flags(gone) == flags(cookie)
        assert gone["max-age"] == "0"
        assert "Signed in as" not in (await opened(client, "/")).text


async def test_over_https_a_cookie_that_another_subdomain_can_set_is_ignored(app: ASGIApp) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="https://shop.localhost"
    ) as client:
        client.cookies.set("marginalia_jwt", jwt_of("eve"), domain="shop.localhost")
        assert "Signed in as" not in (await opened(client, "/")).text


async def test_an_invalid_jwt_is_reported_next_to_the_field(client: httpx.AsyncClient) -> None:
    answer = await client.post("/sign-in", data=FORM | {"jwt": "a.b.c"})
    assert answer.status_code == 422
    page = Parsed(answer.text)
    assert FLAWS[TokenFlaw.UNREADABLE] in page.text
    assert page.fields()["next"] == FORM["next"]
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "elsewhere",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "", "/a\r\nb: c"],
)
async def test_sign_in_does_not_redirect_to_another_site(
    client: httpx.AsyncClient, elsewhere: str
) -> None:
    body = {"jwt": jwt_of("ann"), "next": elsewhere}
    answer = await client.post("/sign-in", data=body)
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": SITE},
        {"Origin": "https://evil.example"},
        {"Origin": f"{SITE}:8080"},
        {"Origin": "null"},
        {"Origin": "http://["},
    ],
)
async def test_another_site_cannot_sign_a_visitor_in(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    answer = await client.post("/sign-in", data={"jwt": jwt_of("eve")}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_a_site_on_another_port_accepts_its_own_sign_in_form(app: ASGIApp) -> None:
    site = f"{SITE}:8080"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=site) as client:
        body = {"jwt": jwt_of("ann")}
        answers = [
            await client.post("/sign-in", data=body, headers={"Origin": origin})
            for origin in (site, SITE)
        ]
    assert [answer.status_code for answer in answers] == [303, 403]


async def test_an_expired_cookie_is_reported_once(app: ASGIApp) -> None:
    async with client_of(app, jwt_of("ann", lifetime=-60)) as client:
        assert "You are signed out. Your session has expired" in (await opened(client, "/")).text
        assert "You are signed out" not in (await opened(client, "/")).text


async def test_the_authorization_header_is_accepted_by_pages(client: httpx.AsyncClient) -> None:
    headers = {"Authorization": f"Bearer {jwt_of('ann')}"}
    page = Parsed((await client.get("/", headers=headers)).text)
    assert "Signed in as ann" in page.text
    answer = await client.get("/", headers={"Authorization": "Bearer x"})
    assert (answer.status_code, FLAWS[TokenFlaw.UNREADABLE] in answer.text) == (401, True)


async def test_graphql_ignores_the_sessions_cookie(ann: httpx.AsyncClient) -> None:
    comment = {"productId": "none", "rating": 5, "language": "en", "text": "x"}
    query = "mutation ($i: AddCommentInput!) { addComment(input: $i) { comment { commentId } } }"
    answer = await ann.post("/graphql", json={"query": query, "variables": {"i": comment}})
    assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_in_a_demo_one_click_signs_in(table: Table) -> None:
    authenticator = Authenticator(secret=lambda: SECRET)
    async with client_of(app_of(table, authenticator, demo=True)) as visitor:
        for address in ("/sign-in?next=/products/1", "/products/1"):
            page = await opened(visitor, address)
            assert any(
                one.get("value") == "shopper" for tag, one in page.elements if tag == "button"
            )
        elsewhere = {"Origin": "https://evil.example"}
        refused = await visitor.post("/sign-in", data=FORM | {"demo": "shopper"}, headers=elsewhere)
        assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
        answer = await visitor.post("/sign-in", data=FORM | {"demo": "shopper"})
        assert answer.headers["location"] == FORM["next"]
        page = await opened(visitor, "/products/1")
        assert "Signed in as demo" in page.text
        assert "Try it as" not in page.text


async def test_a_demo_has_accounts_of_a_moderator_and_a_merchant(table: Table) -> None:
    authenticator = Authenticator(secret=lambda: SECRET)
    app = app_of(table, authenticator, demo=True)
    async with client_of(app) as visitor:
        page = await visitor.get("/sign-in")
        for part, roles in DEMO_ROLES.items():
            assert f'name="demo" value="{part}"' in page.text
            answer = await visitor.post("/sign-in", data=FORM | {"demo": part})
            jwt = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
            viewer = await viewer_of(authenticator, f"Bearer {jwt}")
            assert viewer.roles == roles
            assert (viewer.user_id == DEMO_USER) is (part == "shopper")
        unknown = await visitor.post("/sign-in", data=FORM | {"demo": "owner"})
        assert unknown.status_code == 404


async def test_the_link_that_a_demo_prints_signs_in_once_and_expires_after_minutes(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    authenticator = Authenticator(secret=lambda: SECRET)
    code, late = SignInCode(), SignInCode()
    link = f"/sign-in?code={code.text}"
    settings = Settings(demo=True)
    services = replace(services_of(settings, table, authenticator), code=code)
    app = create_app(settings, services)
    async with client_of(app) as visitor:
        for wrong in ("", "x", "é", late.text):
            answer = await visitor.get("/sign-in", params={"code": wrong})
            assert (answer.status_code, "set-cookie" in answer.headers) == (410, False)
            assert 'role="alert"' in answer.text
        looked = await visitor.head(link)  # as a program does that shows a preview of the link
        assert (looked.status_code, "set-cookie" in looked.headers) == (200, False)
        assert (await visitor.get(link)).headers["location"] == "/"
        assert "Signed in as demo" in (await opened(visitor, "/")).text
        again = await visitor.get(f"{link}&next=/products/1")
        assert again.headers["location"] == "/products/1"
    async with client_of(app) as another:
        answer = await another.get(link)
        assert (answer.status_code, 'role="alert"' in answer.text) == (410, True)
        assert 'value="shopper"' in answer.text
        assert not another.cookies
        assert 'role="alert"' not in (await another.get("/sign-in")).text
    made = time.monotonic()
    monkeypatch.setattr("server.auth.authenticator.time.monotonic", lambda: made + 601)
    assert not late.take(late.text)


async def test_a_server_without_a_demo_has_no_sign_in_by_one_click(
    client: httpx.AsyncClient,
) -> None:
    assert "marginalia token" not in (await opened(client, "/sign-in")).text
    assert "Try it as" not in (await opened(client, "/sign-in")).text
    answer = await client.post("/sign-in", data=FORM | {"demo": "shopper"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (404, False)
