import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import InvalidSubjectError

from dal.table.errors import InvalidArgumentError
from resolvers.context import Viewer
from server.auth.authenticator import Authenticator, make_token
from server.auth.claims import InvalidTokenError, TokenFlaw
from server.auth.issuer import Issuer, KeysUnavailableError
from tests.server.auth.conftest import DEEP
from tests.viewers import viewer_of

SECRET = "a secret of thirty-two bytes, or more"
OTHER = "another secret of thirty-two bytes or more"

RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
STRANGER = rsa.generate_private_key(65537, 2048)
SHARED = base64.urlsafe_b64encode(OTHER.encode()).decode().rstrip("=")

KEY_SET = {
    "keys": [
        {**RSAAlgorithm.to_jwk(RSA_KEY.public_key(), as_dict=True), "kid": "rsa"},
        {**ECAlgorithm.to_jwk(EC_KEY.public_key(), as_dict=True), "kid": "ec"},
        {**OKPAlgorithm.to_jwk(ED_KEY.public_key(), as_dict=True), "kid": "ed"},
        {"kty": "oct", "k": SHARED, "kid": "shared"},
    ]
}


def claims(**changes: Any) -> dict[str, Any]:
    soon = datetime.now(UTC) + timedelta(days=1)
    made = {"sub": "ada", "name": "Ada", "roles": ["moderator"], "exp": soon, **changes}
    return {name: value for name, value in made.items() if value is not None}


def signed(key: Any = SECRET, algorithm: str = "HS256", kid: Any = None, **changes: Any) -> str:
    headers = {"kid": kid} if kid else None
    return f"Bearer {jwt.encode(claims(**changes), key, algorithm=algorithm, headers=headers)}"


DEEP_ALGORITHM = b'{"alg":' + b"[" * 900 + b"]" * 900 + b"}"


@pytest.fixture
def authenticator() -> Authenticator:
    return Authenticator(secret=lambda: SECRET)


@pytest.fixture(scope="module")
def jwks_url(serve_body: Callable[[bytes], str]) -> str:
    return serve_body(json.dumps(KEY_SET).encode())


@pytest.fixture
def either(jwks_url: str) -> Authenticator:
    """An authenticator with both a secret and a key set."""
    return Authenticator(secret=lambda: SECRET, issuer=Issuer(jwks_url=jwks_url))


async def test_a_jwt_signed_with_the_secret_has_user_and_roles(
    authenticator: Authenticator,
) -> None:
    roles = ["moderator", "editor"]
    made = make_token(SECRET, user="ада/1", roles=roles, lifetime=timedelta(hours=1))
    viewer = await viewer_of(authenticator, f"bearer {made}")
    assert viewer == Viewer("ада/1", roles=frozenset(roles))


async def test_a_session_ends_when_requests_are_refused(authenticator: Authenticator) -> None:
    """Requests are accepted for 10 seconds after ``exp``, because clocks differ."""
    viewer = await viewer_of(authenticator, signed(exp=32_503_680_000))
    assert viewer.expires == 32_503_680_010


async def test_a_jwt_without_roles_has_no_roles(authenticator: Authenticator) -> None:
    viewer = await viewer_of(authenticator, signed(roles=None))
    assert viewer == Viewer("ada", name="Ada")


class Noon(datetime):
    """A ``datetime`` for the JWT library whose ``now`` is always noon."""

    @classmethod
    def now(cls, tz: Any = None) -> "Noon":
        return cls(2026, 1, 1, 12, tzinfo=tz)


async def test_a_jwt_is_valid_if_clocks_differ_by_less_than_ten_seconds(
    authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp())
    monkeypatch.setattr("jwt.api_jwt.datetime", Noon)
    monkeypatch.setattr("time.time", lambda: noon)
    assert await viewer_of(authenticator, signed(exp=noon - 9)) is not None
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, signed(exp=noon - 10))
    assert caught.value.flaw is TokenFlaw.EXPIRED


async def test_the_second_request_with_a_jwt_does_not_verify_it_again(
    authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorization = signed()
    viewer = await viewer_of(authenticator, authorization)
    monkeypatch.delattr("jwt.decode")
    assert await viewer_of(authenticator, authorization) is viewer


async def test_a_verified_jwt_is_refused_when_it_expires(
    authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorization = signed(exp=32_503_680_000)
    await viewer_of(authenticator, authorization)
    monkeypatch.setattr("time.time", lambda: 32_503_680_009)
    await viewer_of(authenticator, authorization)
    monkeypatch.setattr("time.time", lambda: 32_503_680_010)
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, authorization)
    assert caught.value.flaw is TokenFlaw.EXPIRED


async def test_a_verified_jwt_is_refused_when_the_secret_changes() -> None:
    held = [SECRET]
    authenticator = Authenticator(secret=lambda: held[0])
    authorization = signed()
    await viewer_of(authenticator, authorization)
    held[0] = OTHER
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, authorization)
    assert caught.value.flaw is TokenFlaw.UNKNOWN_KEY


@pytest.mark.parametrize(
    "later",
    [[], [{**RSAAlgorithm.to_jwk(STRANGER.public_key(), as_dict=True), "kid": "rsa"}]],
)
async def test_a_verified_jwt_is_refused_when_the_key_set_changes(
    monkeypatch: pytest.MonkeyPatch, later: list[dict[str, Any]]
) -> None:
    issuer = Issuer(jwks_url="https://issuer.example/keys")
    served = [KEY_SET, {"keys": [*later, KEY_SET["keys"][1]]}]

    async def exchange(*_: Any, **__: Any) -> tuple[int, bytes]:
        return 200, json.dumps(served.pop(0)).encode()

    monkeypatch.setattr("server.auth.issuer.exchange", exchange)
    authenticator = Authenticator(secret=lambda: None, issuer=issuer)
    authorization = signed(RSA_KEY, "RS256", "rsa")
    await viewer_of(authenticator, authorization)
    await issuer.fetch()
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, authorization)
    assert caught.value.flaw is TokenFlaw.UNKNOWN_KEY


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer  ", "Basic YTpi", signed().replace("Bearer", "Token")],
)
async def test_a_header_without_a_jwt_is_refused(
    authenticator: Authenticator, authorization: str
) -> None:
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, authorization)
    assert caught.value.flaw is TokenFlaw.UNREADABLE
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("authorization", "flaw"),
    [
        ("Bearer <JWT>", TokenFlaw.UNREADABLE),
        ("Bearer a.b.c", TokenFlaw.UNREADABLE),
        ("Bearer ü.ü.ü", TokenFlaw.UNREADABLE),
        (signed()[:-43] + "A" * 43, TokenFlaw.UNKNOWN_KEY),
        (signed(OTHER), TokenFlaw.UNKNOWN_KEY),
        (signed(exp=datetime.now(UTC) - timedelta(minutes=1)), TokenFlaw.EXPIRED),
        (signed(nbf=datetime.now(UTC) + timedelta(days=1)), TokenFlaw.EARLY),
        (signed(exp=[]), TokenFlaw.UNREADABLE),
        (signed(exp=inf), TokenFlaw.UNREADABLE),
        (signed(exp=10**400), TokenFlaw.UNREADABLE),
        (signed(iat={}), TokenFlaw.UNREADABLE),
        ("Bearer \ud800.e30.eA", TokenFlaw.UNREADABLE),
    ],
)
async def test_a_jwt_that_pyjwt_refuses_is_refused(
    authenticator: Authenticator, authorization: str, flaw: TokenFlaw
) -> None:
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, authorization)
    assert caught.value.flaw is flaw
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("audience", ["elsewhere", 7])
async def test_a_jwt_for_another_audience_is_refused(
    authenticator: Authenticator, audience: Any
) -> None:
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, signed(aud=audience))
    assert caught.value.flaw is TokenFlaw.AUDIENCE


@pytest.mark.parametrize(
    ("claim", "value", "cause"),
    [
        ("exp", None, jwt.MissingRequiredClaimError),
        ("sub", None, jwt.MissingRequiredClaimError),
        ("sub", "", InvalidArgumentError),
        ("sub", "\u3000", InvalidArgumentError),
        ("sub", "a\nb", InvalidArgumentError),
        ("sub", "erased-1a2b3c4d", InvalidArgumentError),
        ("sub", "a" * 513, InvalidArgumentError),
        ("sub", "VXNlcjphbmE=", InvalidArgumentError),  # User:ana
        ("name", " ", None),
        ("name", "\u200b", InvalidArgumentError),
        ("name", ["Ada"], None),
        ("name", "A\u202eda", InvalidArgumentError),
        ("roles", {"moderator": True}, None),
        ("roles", [1], None),
    ],
)
async def test_an_invalid_claim_is_named(
    authenticator: Authenticator, claim: str, value: Any, cause: type[Exception] | None
) -> None:
    with pytest.raises(InvalidTokenError, match=f"claim '{claim}'") as caught:
        await viewer_of(authenticator, signed(**{claim: value}))
    assert caught.value.flaw is TokenFlaw.CLAIMS
    assert isinstance(caught.value.__cause__, cause or type(None))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("authorization", "algorithm"),
    [
        (f"Bearer {base64.urlsafe_b64encode(DEEP_ALGORITHM).decode()}.e30.eA", "''"),
        (signed("", "none"), "'none'"),
        (signed(SECRET * 2, "HS512"), "'HS512'"),
        (signed(RSA_KEY, "RS256", "rsa"), "'RS256'"),
    ],
)
async def test_a_jwt_with_an_unsupported_algorithm_is_refused(
    authenticator: Authenticator, authorization: str, algorithm: str
) -> None:
    with pytest.raises(InvalidTokenError, match=algorithm) as caught:
        await viewer_of(authenticator, authorization)
    assert caught.value.flaw is TokenFlaw.UNVERIFIABLE


async def test_a_number_as_user_is_refused(authenticator: Authenticator) -> None:
    body = jwt.api_jws.encode(
        json.dumps({"sub": 7, "exp": 32503680000}).encode(), SECRET, algorithm="HS256"
    )
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(authenticator, f"Bearer {body}")
    assert caught.value.flaw is TokenFlaw.CLAIMS
    assert isinstance(caught.value.__cause__, InvalidSubjectError)


async def test_without_a_secret_the_log_shows_once_what_to_configure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    authenticator = Authenticator(secret=lambda: None)
    for _ in range(2):
        with pytest.raises(InvalidTokenError) as caught:
            await viewer_of(authenticator, signed())
        assert caught.value.flaw is TokenFlaw.UNVERIFIABLE
    assert caplog.text.count("MARGINALIA_JWT_SECRET") == 1


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [(RSA_KEY, "RS256", "rsa"), (EC_KEY, "ES256", "ec"), (ED_KEY, "EdDSA", "ed")],
)
async def test_a_jwt_is_verified_by_the_key_set(
    either: Authenticator, key: Any, algorithm: str, kid: str
) -> None:
    viewer = await viewer_of(either, signed(key, algorithm, kid))
    assert viewer == Viewer("ada", frozenset({"moderator"}), "Ada")


async def test_a_secret_and_a_key_set_can_be_used_together(either: Authenticator) -> None:
    assert await viewer_of(either, signed()) is not None


@pytest.mark.parametrize(
    ("authorization", "flaw", "cause"),
    [
        (
            signed(STRANGER, "RS256", "rsa"),
            TokenFlaw.UNKNOWN_KEY,
            jwt.InvalidSignatureError,
        ),
        (signed(STRANGER, "RS256", "stranger"), TokenFlaw.UNKNOWN_KEY, jwt.PyJWKClientError),
        (signed(RSA_KEY, "RS256"), TokenFlaw.UNKNOWN_KEY, jwt.PyJWKClientError),
        (signed(RSA_KEY, "RS256", "ec"), TokenFlaw.UNREADABLE, jwt.InvalidAlgorithmError),
        (signed(RSA_KEY, "RS256", "shared"), TokenFlaw.UNREADABLE, jwt.InvalidAlgorithmError),
        (signed(RSA_KEY, "RS512", "rsa"), TokenFlaw.UNVERIFIABLE, type(None)),
        (signed(OTHER, "HS256", "shared"), TokenFlaw.UNKNOWN_KEY, jwt.InvalidSignatureError),
        (signed(RSA_KEY, "RS256", "rsa", aud="elsewhere"), TokenFlaw.AUDIENCE, type(None)),
    ],
)
async def test_a_jwt_that_the_key_set_does_not_verify_is_refused(
    either: Authenticator, authorization: str, flaw: TokenFlaw, cause: type
) -> None:
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(either, authorization)
    assert caught.value.flaw is flaw
    assert isinstance(caught.value.__cause__, cause)


@pytest.mark.parametrize("secret", [SECRET, None])
async def test_a_public_key_cannot_verify_hs256(jwks_url: str, secret: str | None) -> None:
    """A known attack: sign with HS256, and use the bytes of the published key as the secret."""
    pem = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa"}').rstrip(b"=")
    body = base64.urlsafe_b64encode(b'{"sub":"ada","exp":32503680000}').rstrip(b"=")
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
        head + b"." + body, pem
    )
    forged = b".".join([head, body, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()
    authenticator = Authenticator(secret=lambda: secret, issuer=Issuer(jwks_url=jwks_url))
    with pytest.raises(InvalidTokenError):
        await viewer_of(authenticator, f"Bearer {forged}")


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"<html>",
        b"\xff\xff",
        b"[]",
        b"{}",
        b'{"keys": []}',
        b'{"keys": {"kty": 5}}',
        json.dumps({"keys": [KEY_SET["keys"][0] | {"use": ["sig"]}]}).encode(),
        *DEEP,
    ],
)
async def test_an_unreachable_key_set_is_not_a_client_error(
    serve_body: Callable[[bytes], str], caplog: pytest.LogCaptureFixture, body: bytes | None
) -> None:
    url = "http://127.0.0.1:9/nobody" if body is None else serve_body(body)
    authenticator = Authenticator(secret=lambda: None, issuer=Issuer(jwks_url=url))
    with pytest.raises(KeysUnavailableError):
        await viewer_of(authenticator, signed(RSA_KEY, "RS256", "rsa"))
    assert url in caplog.text
