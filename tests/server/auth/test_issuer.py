"""Discovery and key sets of a running issuer, a small OpenID Connect server."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import jwt
import oidc_provider_mock
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from server.auth.issuer import Issuer, KeysUnavailableError, exchange
from tests.server.auth.conftest import MALFORMED

KEY = rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with oidc_provider_mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


async def test_discovery_finds_the_issuers_keys(address: str) -> None:
    async with httpx.AsyncClient() as client:
        (published,) = (await client.get(f"{address}/jwks")).json()["keys"]
    key = await Issuer(address).key(published["kid"])
    assert key.key_id == published["kid"]
    with pytest.raises(jwt.PyJWKClientError):
        await Issuer(address).key("unknown")


async def test_discovery_with_another_issuer_name_is_refused(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeysUnavailableError):
        await Issuer(f"{address}/").key("any")
    assert repr(address) in caplog.text
    assert "--jwt-issuer" in caplog.text


async def test_an_unreachable_issuer_is_requested_at_most_every_five_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    issuer = Issuer("http://127.0.0.1:9")
    for _ in range(3):
        with pytest.raises(KeysUnavailableError):
            await issuer.key("any")
    assert len(caplog.records) == 1


async def test_the_start_logs_a_warning_if_the_issuer_is_unreachable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await Issuer(jwks_url="http://127.0.0.1:9/keys").warn_if_unavailable()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "http://127.0.0.1:9/keys" in record.getMessage()


async def test_cached_keys_are_used_while_the_issuer_is_unreachable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with oidc_provider_mock.run_server_in_thread() as server:
        issuer = Issuer(f"http://localhost:{server.server_port}")
        await issuer.warn_if_unavailable()
    (known,) = issuer._keys
    monkeypatch.setattr("server.auth.issuer._KEPT", 0)
    monkeypatch.setattr("server.auth.issuer._COOLDOWN", 0)
    with pytest.raises(KeysUnavailableError):
        await issuer.key("unknown")
    assert await issuer.key(known.key_id) is known


@pytest.mark.parametrize(
    "body",
    [
        *MALFORMED,
        b'{"issuer": "HERE", "jwks_uri": "http://["}',
        b'{"issuer": "HERE", "jwks_uri": "file:///dev/null"}',
        b'{"issuer": "HERE", "jwks_uri": ["HERE"]}',
        b'{"issuer": "HERE", "jwks_uri": "HERE", "token_endpoint_auth_methods_supported": null}',
    ],
)
async def test_a_malformed_discovery_document_is_not_used(
    serve_body: Callable[[bytes], str], body: bytes
) -> None:
    with pytest.raises(KeysUnavailableError):
        await Issuer(serve_body(body)).key("any")


def key_set(*keys: tuple[str, str]) -> bytes:
    """Return a key set with a key for each pair of ``kid`` and ``use``."""
    one = RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
    return json.dumps({"keys": [{**one, "kid": kid, "use": use} for kid, use in keys]}).encode()


async def test_an_unknown_key_is_fetched_after_half_a_minute(
    monkeypatch: pytest.MonkeyPatch, serve_body: Callable[[bytes], str]
) -> None:
    now = 1_000.0
    monkeypatch.setattr("server.auth.issuer.monotonic", lambda: now)
    issuer = Issuer(jwks_url=serve_body(key_set(("old", "sig"))))
    await issuer.key("old")
    issuer._jwks_url = serve_body(key_set(("new", "sig")))
    now += 29
    with pytest.raises(jwt.PyJWKClientError):
        await issuer.key("new")
    now += 2
    assert (await issuer.key("new")).key_id == "new"


async def test_a_key_for_encryption_verifies_no_jwt(serve_body: Callable[[bytes], str]) -> None:
    issuer = Issuer(jwks_url=serve_body(key_set(("a", "enc"), ("b", "sig"))))
    assert (await issuer.key(None)).key_id == "b"
    with pytest.raises(jwt.PyJWKClientError):
        await issuer.key("a")


async def test_a_document_of_the_issuer_has_a_maximum_length(
    serve_body: Callable[[bytes], str],
) -> None:
    longest = key_set(("a", "sig")).ljust(1_000_000)
    assert (await Issuer(jwks_url=serve_body(longest)).key("a")).key_id == "a"
    with pytest.raises(KeysUnavailableError):
        await Issuer(jwks_url=serve_body(longest + b" ")).key("a")


async def test_a_redirect_of_the_key_set_is_followed(serve_body: Callable[..., str]) -> None:
    moved = serve_body(b"", status=302, Location=serve_body(key_set(("a", "sig"))))
    assert (await Issuer(jwks_url=moved).key("a")).key_id == "a"


async def test_the_issuer_is_requested_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, serve_body: Callable[..., str]
) -> None:
    url = urlsplit(serve_body(key_set(("a", "sig"))))
    for name in ("http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", f"http://{url.netloc}")
    assert (await Issuer(jwks_url=f"http://issuer.example{url.path}").key("a")).key_id == "a"


async def test_credentials_of_the_users_netrc_file_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, serve_body: Callable[..., str]
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n", encoding="ascii")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    sent = {"Authorization": "Basic eDp5"}
    assert await exchange("POST", serve_body(b"{}"), headers=sent) == (200, b"{}")


async def test_an_issuer_that_does_not_respond_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.auth.issuer._TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        issuer = Issuer(jwks_url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(KeysUnavailableError):
            await issuer.key("any")
    assert "TimeoutError" in caplog.text


@pytest.mark.parametrize(
    ("status", "headers"),
    [(404, {}), (500, {}), (200, {"Content-Encoding": "gzip"}), (200, {"Content-Length": "9999"})],
    ids=["missing", "failed", "not compressed", "cut off"],
)
async def test_an_unsuccessful_or_unreadable_response_is_not_used(
    serve_body: Callable[..., str], status: int, headers: dict[str, str]
) -> None:
    url = serve_body(key_set(("a", "sig")), status=status, **headers)
    with pytest.raises(KeysUnavailableError):
        await Issuer(jwks_url=url).key("a")


async def test_the_first_requests_share_one_fetch_of_the_key_set(
    monkeypatch: pytest.MonkeyPatch, serve_body: Callable[[bytes], str]
) -> None:
    fetches, fetch = 0, Issuer.fetch

    async def counted(issuer: Issuer) -> None:
        nonlocal fetches
        fetches += 1
        await fetch(issuer)

    monkeypatch.setattr(Issuer, "fetch", counted)
    issuer = Issuer(jwks_url=serve_body(key_set(("a", "sig"))))
    await asyncio.gather(*(issuer.key("a") for _ in range(20)))
    assert fetches == 1
