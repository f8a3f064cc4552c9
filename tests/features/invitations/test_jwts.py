"""JWTs of links: which are grants, which are accounts, and which are refused."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import httpx
import jwt
import pytest

from dal.dynamodb.table import Table
from features.invitations.links import LinkGrant, claims_of
from pages.faults import FLAWS
from resolvers.context import Viewer
from server.auth.authenticator import Authenticator, make_token, sign
from server.auth.claims import ClaimRules, InvalidTokenError, TokenFlaw
from server.services import GRANTS
from tests.features.invitations.shop import ADD, OPEN, link
from tests.pages.conftest import client_of
from tests.server.applications import SECRET, app_of

OTHER = "another secret of thirty-two bytes or more"
LINK = link("a", name="Ann B.", incentive="10 % off")
CLAIMS = claims_of(LINK)

Bearer = Callable[[str], Awaitable[Any]]


@pytest.fixture
def bearer() -> Bearer:
    authenticator = Authenticator(secret=lambda: SECRET, rules=ClaimRules(grants=GRANTS))

    async def bearer(encoded: str) -> Any:
        return await authenticator.bearer(f"Bearer {encoded}")

    return bearer


async def test_the_jwt_of_a_link_is_a_grant_and_no_account(bearer: Bearer) -> None:
    found = await bearer(sign(SECRET, CLAIMS))
    assert found == LinkGrant(replace(LINK, expires_at=LINK.expires_at.replace(microsecond=0)))
    assert found.author == Viewer("ann", name="Ann B.")


async def test_an_ordinary_jwt_of_this_server_is_an_account(bearer: Bearer) -> None:
    made = make_token(SECRET, user="ann", roles=["staff"], lifetime=timedelta(hours=1))
    assert await bearer(made) == Viewer("ann", frozenset({"staff"}))


async def test_the_scope_of_another_issuer_is_ignored(bearer: Bearer) -> None:
    """The shop's own program can sign JWTs with the server's secret."""
    made = jwt.encode({**CLAIMS, "iss": "shop"}, SECRET, algorithm="HS256")
    assert await bearer(made) == Viewer("ann", name="Ann B.")
    unsigned = jwt.encode(CLAIMS, SECRET, algorithm="HS256")
    assert await bearer(unsigned) == Viewer("ann", name="Ann B.")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("scope", [None, "", "admin", "comment openid", ["comment"], {}, 5]),
        ("sub", ["", " ann", "erased-12345678", "x" * 2000]),
        ("order", [None, "", 5, ["o1"], " o1", "x" * 2000]),
        ("products", [None, [], "a", {"a": 1}, [5], [""], ["a", None], ["p"] * 21]),
        ("name", [5, "", ["Ann"], "x" * 2000]),
        ("incentive", [5, "", " ", "x" * 201]),
        ("iat", [None, True, "now", [], -1e30]),
        ("exp", [1e300]),
        ("aud", ["shop", ["shop"]]),
    ],
)
async def test_a_malformed_claim_is_refused(
    bearer: Bearer, name: str, values: list[object]
) -> None:
    for value in values:
        claims: dict[str, Any] = {**CLAIMS, name: value}
        # A claim that is null counts as missing, except ``scope``: the JWT must be no account.
        if value is None and name != "scope":
            del claims[name]
        with pytest.raises(InvalidTokenError) as caught:
            await bearer(sign(SECRET, claims))
        expected = TokenFlaw.AUDIENCE if name == "aud" else TokenFlaw.CLAIMS
        unreadable = name in {"iat", "exp"} and caught.value.flaw is TokenFlaw.UNREADABLE
        assert caught.value.flaw is expected or unreadable, (name, value)


async def test_expired_and_forged_links_are_refused(bearer: Bearer) -> None:
    past = (datetime.now(UTC) - timedelta(minutes=1)).timestamp()
    head, body, signature = sign(SECRET, CLAIMS).split(".")
    other = sign(SECRET, {**CLAIMS, "products": ["b"]}).split(".")[1]
    for flaw, forged in [
        (TokenFlaw.EXPIRED, sign(SECRET, {**CLAIMS, "exp": past})),
        (TokenFlaw.UNKNOWN_KEY, sign(OTHER, CLAIMS)),
        (TokenFlaw.UNKNOWN_KEY, f"{head}.{other}.{signature}"),
        (TokenFlaw.UNVERIFIABLE, jwt.encode({"iss": "marginalia", **CLAIMS}, "", "none")),
        (TokenFlaw.UNREADABLE, f"{head}.{body}"),
    ]:
        with pytest.raises(InvalidTokenError) as caught:
            await bearer(forged)
        assert caught.value.flaw is flaw


async def test_a_server_without_this_scope_refuses_the_jwt() -> None:
    with pytest.raises(InvalidTokenError, match="scope 'comment'"):
        await Authenticator(secret=lambda: SECRET).bearer(f"Bearer {sign(SECRET, CLAIMS)}")


async def test_a_link_works_over_http_and_is_not_logged(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    app = app_of(table, access_log=True)
    encoded = sign(SECRET, CLAIMS)
    async with client_of(app) as client:
        assert await _codes(client, encoded, OPEN) == []
        given = {"product": "a", "text": "Good."}
        assert await _codes(client, encoded, ADD, **given) == []
        assert await _codes(client, encoded, '{ user(username: "ann") { id } }') == ["FORBIDDEN"]
        forged = await client.post(
            "/graphql",
            json={"query": OPEN},
            headers={"Authorization": f"Bearer {sign(OTHER, CLAIMS)}"},
        )
        assert forged.status_code == 401
        signed_in = await client.post("/sign-in", data={"jwt": encoded})
        assert "set-cookie" not in signed_in.headers
        assert FLAWS[TokenFlaw.CLAIMS] in unescape(signed_in.text)
    for part in encoded.split(".")[1:]:
        assert part not in caplog.text
    assert "/sign-in" in caplog.text


async def _codes(
    client: httpx.AsyncClient, encoded: str, query: str, **variables: str
) -> list[str]:
    headers = {"Authorization": f"Bearer {encoded}"}
    sent = {"query": query, "variables": variables}
    response = await client.post("/graphql", json=sent, headers=headers)
    return [one["extensions"]["code"] for one in response.json().get("errors", [])]
