"""The sentences of ``server/auth``: what clients and operators read when a JWT is refused."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from jwt.exceptions import InvalidSubjectError

from server.auth.authenticator import Authenticator, _invalid
from server.auth.claims import ClaimRules, InvalidTokenError
from server.auth.issuer import Issuer, KeysUnavailableError
from server.auth.secret import checked_secret, ensure_secret
from server.errors import CommandError
from tests.server.auth.test_authenticator import signed


def refused(authorization: str) -> None:
    """Send a header to a server without a secret and without an issuer."""
    asyncio.run(Authenticator(secret=lambda: None).bearer(authorization))


def claims(**changes: Any) -> None:
    ClaimRules(issuer="shop", audience="api").viewer(
        {"iss": "shop", "aud": "api", "sub": "ada", "name": "Ada", **changes}, by_secret=False
    )


REFUSALS: list[tuple[Callable[[], object], str]] = [
    (lambda: refused(""), "Send the header as 'Authorization: Bearer <JWT>'."),
    (
        lambda: refused(signed()),
        (
            "This server cannot verify a JWT signed with 'HS256': get a JWT from the issuer that "
            "this server trusts."
        ),
    ),
    (
        lambda: claims(iss="other"),
        "The JWT is from another issuer: sign in at this server's issuer.",
    ),
    (
        lambda: claims(aud="other"),
        "The JWT is meant for another audience: get one for this server.",
    ),
    (lambda: claims(aud=None), "The JWT lacks the claim 'aud': get one for this server."),
    (
        lambda: claims(name=None),
        "The JWT lacks the claim 'name', the name that comments show.",
    ),
    (
        lambda: claims(roles=[1]),
        "The JWT's claim 'roles' must be a list of strings or one string.",
    ),
    (lambda: claims(sub=""), "The JWT's claim 'sub' is not valid: sub is empty."),
]

PYJWT = [
    (jwt.ExpiredSignatureError(), "The JWT has expired: get a new one."),
    (
        jwt.ImmatureSignatureError(),
        "The JWT is not valid yet: the clock of the issuer or of this server is wrong.",
    ),
    (
        jwt.InvalidSignatureError(),
        "The JWT is not signed with a key that this server trusts: get a new one.",
    ),
    (InvalidSubjectError(), "The JWT's claim 'sub' must be a string, the user's id."),
    (
        jwt.PyJWKClientError(),
        "The JWT names no key, or a key that the issuer's key set lacks.",
    ),
    (
        jwt.MissingRequiredClaimError("exp"),
        "The JWT lacks the claim 'exp': it needs 'sub', the user's id, and 'exp', its expiry.",
    ),
    (
        jwt.DecodeError(),
        "The JWT cannot be read: send it whole, as 'Authorization: Bearer <JWT>'.",
    ),
]


@pytest.mark.parametrize(("refusal", "sentence"), REFUSALS)
def test_a_refused_jwt_has_a_sentence(refusal: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InvalidTokenError) as caught:
        refusal()
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("error", "sentence"), PYJWT)
def test_an_error_of_pyjwt_has_a_sentence(error: Exception, sentence: str) -> None:
    assert str(_invalid(error)) == sentence


def test_an_unusable_secret_has_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "jwt-secret").mkdir()
    attempts: list[tuple[Callable[[], object], str]] = [
        (
            lambda: checked_secret("short", "MARGINALIA_JWT_SECRET"),
            (
                "MARGINALIA_JWT_SECRET has 5 bytes, but HS256 needs at least 32: set a longer "
                "secret, for example the output of `openssl rand -base64 32`."
            ),
        ),
        (
            lambda: ensure_secret(tmp_path),
            (
                f"The secret in {tmp_path / 'jwt-secret'} cannot be read: [Errno 21] Is a "
                f"directory: '{tmp_path / 'jwt-secret'}'."
            ),
        ),
        (
            lambda: ensure_secret(tmp_path / "file"),
            (
                f"The secret cannot be written to {tmp_path / 'file'}: File exists. Choose another "
                "--data-dir or set MARGINALIA_JWT_SECRET."
            ),
        ),
    ]
    for attempt, sentence in attempts:
        with pytest.raises(CommandError) as caught:
            attempt()
        assert str(caught.value) == sentence


def test_the_log_tells_operators_what_to_configure(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidTokenError):
        refused(signed())
    with pytest.raises(ValueError, match="issuer") as mismatch:
        Issuer("https://a.example")._checked({"jwks_uri": "", "issuer": "https://b.example"})
    unavailable = Issuer("https://a.example")._unavailable("The key set", mismatch.value)
    assert caplog.messages == [
        (
            "JWTs signed with 'HS256' are refused: set MARGINALIA_JWT_SECRET for HS256, or "
            "MARGINALIA_JWT_ISSUER or MARGINALIA_JWKS_URL for RS256, ES256 and EdDSA."
        ),
        (
            "The key set cannot be used: it names the issuer 'https://b.example': set "
            "--jwt-issuer to exactly this text. Meanwhile the server refuses every JWT whose key "
            "it has not fetched before."
        ),
    ]
    assert isinstance(unavailable, KeysUnavailableError)
    assert str(unavailable) == (
        "The keys that verify JWTs cannot be fetched: try again in a moment."
    )
