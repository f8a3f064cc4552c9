"""ID tokens of providers for the pages' sign-in, and forged ID tokens."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from pages.sign_in import Attempt, SignIn
from resolvers.context import Viewer
from server.auth.claims import InvalidTokenError, TokenFlaw
from server.auth.issuer import AUTH_METHODS, KeysUnavailableError
from tests.server.auth.conftest import DEEP, MALFORMED
from tests.server.auth.test_providers import OTHER_KEY, SECRET, TOKENS, provider, signed
from tests.viewers import viewer_of

ATTEMPT = Attempt("state", "nonce", "verifier")
CLIENT = "pages"
BACK = "https://shop.example/sign-in/callback"
ID_TOKENS: dict[str, dict[str, Any]] = {
    "auth0": {},
    "cognito": {
        "client_id": None,
        "username": None,
        "cognito:username": "ana",
        "token_use": "id",
    },
    "keycloak": {"azp": CLIENT, "typ": "ID"},
    "supabase": {},
    "entra": {},
}
"""The claims of each provider that differ from its access token, except ``aud`` and ``nonce``."""


def sign_in_at(url: str, **members: Any) -> SignIn:
    """Return the sign-in at an issuer whose endpoints are at ``url``.

    ``members`` are further members of the discovery document.
    """
    checked = provider("keycloak")
    assert checked.issuer is not None
    checked.issuer._metadata = {"authorization_endpoint": url, "token_endpoint": url} | members
    return SignIn(checked, checked.issuer, CLIENT, "secret")


async def finish(
    monkeypatch: pytest.MonkeyPatch, name: str, changes: dict[str, Any] | None = None
) -> Viewer:
    """Sign in with a provider's ID token. Return the user of the session."""

    async def answer(*_: Any, **__: Any) -> tuple[int, bytes]:
        given = {"aud": CLIENT, "azp": None, "nonce": "nonce", **ID_TOKENS[name], **(changes or {})}
        return 200, orjson.dumps(
            {"id_token": signed(TOKENS[name], **given).removeprefix("Bearer ")}
        )

    monkeypatch.setattr("pages.sign_in.exchange", answer)
    checked = provider(name)
    assert checked.issuer is not None
    checked.issuer._metadata = {
        "authorization_endpoint": "https://login.example/authorize",
        "token_endpoint": "https://login.example/token",
    }
    sign_in = SignIn(checked, checked.issuer, CLIENT, "secret")
    jwt = await sign_in.finish(
        ATTEMPT,
        "state",
        (changes or {}).get("code", "code"),
        BACK,
    )
    return await viewer_of(checked, f"Bearer {jwt}")


@pytest.mark.parametrize(
    ("name", "shown", "role"),
    [
        ("auth0", "Ana Pérez", "staff"),
        ("cognito", "ana", "moderator"),
        ("keycloak", "Ana Pérez", "moderator"),
        ("supabase", "Ana Pérez", "moderator"),
        ("entra", "Ana Pérez", "moderator"),
    ],
)
async def test_documented_id_tokens_sign_in(
    monkeypatch: pytest.MonkeyPatch, name: str, shown: str, role: str
) -> None:
    viewer = await finish(monkeypatch, name)
    assert viewer == Viewer(TOKENS[name]["sub"], frozenset({role}), shown)


@pytest.mark.parametrize(
    ("changes", "flaw"),
    [
        ({"nonce": "another"}, TokenFlaw.UNREADABLE),
        ({"nonce": None}, TokenFlaw.UNREADABLE),
        ({"key": SECRET, "algorithm": "HS256"}, TokenFlaw.UNREADABLE),
        ({"aud": "another-client"}, TokenFlaw.AUDIENCE),
        ({"aud": ["pages", "other"], "azp": "other"}, TokenFlaw.AUDIENCE),
        ({"iss": "https://evil.example"}, TokenFlaw.ISSUER),
        ({"key": OTHER_KEY}, TokenFlaw.UNKNOWN_KEY),
        ({"exp": 1_600_000_000}, TokenFlaw.EXPIRED),
        ({"code": ""}, TokenFlaw.UNREADABLE),
    ],
)
async def test_forged_id_tokens_are_refused_at_sign_in(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], flaw: TokenFlaw
) -> None:
    with pytest.raises(InvalidTokenError) as caught:
        await finish(monkeypatch, "keycloak", changes)
    assert caught.value.flaw is flaw


async def test_a_session_too_large_for_a_cookie_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    longest = "\U0001f600" * 128
    with pytest.raises(InvalidTokenError) as caught:
        await finish(monkeypatch, "keycloak", {"sub": longest, "name": longest})
    assert caught.value.flaw is TokenFlaw.UNVERIFIABLE


@pytest.mark.parametrize(
    ("methods", "basic"),
    [
        ({}, True),
        ({AUTH_METHODS: ["client_secret_post", "client_secret_basic"]}, True),
        ({AUTH_METHODS: ["client_secret_post"]}, False),
    ],
)
async def test_the_client_authenticates_by_http_basic_unless_the_issuer_lacks_it(
    monkeypatch: pytest.MonkeyPatch, methods: dict[str, Any], *, basic: bool
) -> None:
    sent: dict[str, Any] = {}

    async def answer(*_: Any, **options: Any) -> tuple[int, bytes]:
        sent.update(options)
        return 400, b""

    monkeypatch.setattr("pages.sign_in.exchange", answer)
    with pytest.raises(InvalidTokenError):
        await sign_in_at("https://login.example", **methods).finish(ATTEMPT, "state", "code", BACK)
    credentials = {"client_id": CLIENT, "client_secret": "secret"}
    assert ("Authorization" in sent["headers"]) == basic
    assert (credentials.items() <= sent["data"].items()) == (not basic)
    if basic:
        assert sent["headers"]["Authorization"] == "Basic cGFnZXM6c2VjcmV0"


@pytest.mark.parametrize(
    ("endpoint", "start"),
    [
        ("https://login.example", "https://login.example?response_type=code&"),
        ("https://login.example?p=policy", "https://login.example?p=policy&response_type=code&"),
    ],
)
async def test_the_authorization_endpoint_keeps_its_query(endpoint: str, start: str) -> None:
    address, _ = await sign_in_at(endpoint).start(BACK)
    assert address.startswith(start)


async def test_the_code_is_not_sent_to_another_address(serve_body: Callable[..., str]) -> None:
    """A response of the other address, which is malformed, would mean that it got the code."""
    url = serve_body(b"", status=307, Location=serve_body(b"5"))
    with pytest.raises(InvalidTokenError):
        await sign_in_at(url).finish(ATTEMPT, "state", "code", BACK)


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, InvalidTokenError), (500, KeysUnavailableError), (503, KeysUnavailableError)],
)
async def test_a_refused_code_differs_from_a_failure_of_the_issuer(
    serve_body: Callable[..., str], status: int, error: type[Exception]
) -> None:
    url = serve_body(b'{"error": "invalid_grant"}', status=status)
    with pytest.raises(error):
        await sign_in_at(url).finish(ATTEMPT, "state", "code", BACK)


async def test_a_session_has_only_marginalias_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = ["moderator", *(f"group-{number}" for number in range(500))]
    viewer = await finish(monkeypatch, "cognito", {"cognito:groups": groups})
    assert viewer.roles == {"moderator"}


@pytest.mark.parametrize(
    ("spaces", "error"), [(0, InvalidTokenError), (1, KeysUnavailableError)], ids=["at", "above"]
)
async def test_the_response_to_the_code_has_the_maximum_length_of_a_document(
    serve_body: Callable[[bytes], str], spaces: int, error: type[Exception]
) -> None:
    """The invalid ID token is read up to the maximum only."""
    url = serve_body(b'{"id_token": "x"}'.ljust(1_000_000 + spaces))
    with pytest.raises(error):
        await sign_in_at(url).finish(ATTEMPT, "state", "code", BACK)


@pytest.mark.parametrize(
    "body",
    [
        *MALFORMED,
        b'{"expires_in": 1e999}',
        b'{"expires_at": {}}',
        b'{"id_token": ' + DEEP[2] + b"}",
        b'{"id_token": "\\ud800.e30.eA"}',
        None,
    ],
)
async def test_a_malformed_response_to_the_code_does_not_sign_in(
    serve_body: Callable[[bytes], str], body: bytes | None
) -> None:
    url = "http://é..é/" if body is None else serve_body(body)
    with pytest.raises((InvalidTokenError, KeysUnavailableError)):
        await sign_in_at(url).finish(ATTEMPT, "state", "code", BACK)
