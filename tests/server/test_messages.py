"""The sentences of settings, checks and files that a server is given."""

from collections.abc import Callable
from pathlib import Path

import pytest

from server import checks
from server.errors import CommandError
from server.findings import Finding
from server.settings import Settings

ISSUER = "https://login.shop.example"


MESSAGES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Settings(trusted_proxies=("shop.example",)),
        ("--trusted-proxy shop.example is not an IP address, or a network such as 10.0.0.0/8."),
    ),
    (
        lambda: Settings(rate_limit="often"),
        "--rate-limit often is not a rate such as 100/s or 600/min, or 'off'.",
    ),
    (
        lambda: Settings(cors_origins=["a"]),
        "--cors-origin a is not an origin such as https://shop.example, or '*'.",
    ),
    (
        lambda: Settings(picture_origins=["a"]),
        "--picture-origin a is not an origin such as https://cdn.shop.example.",
    ),
    (
        lambda: Settings(allowed_hosts=["a/b"]),
        (
            "--allowed-host a/b is not a host such as shop.example, *.shop.example or '*': leave "
            "out scheme, port and path."
        ),
    ),
    (
        lambda: Settings(public_url="a"),
        (
            "--public-url a is not an address such as https://shop.example: write only scheme, "
            "host and port."
        ),
    ),
    (
        lambda: Settings(jwt_roles=["a"]),
        (
            "--jwt-role a does not end in =staff, =moderator or =merchant. An example is "
            "shop-admins=staff."
        ),
    ),
    (
        lambda: Settings(jwt_issuer=ISSUER),
        "--jwt-issuer needs --jwt-audience: set it to the API or client that JWTs are for.",
    ),
    (
        lambda: Settings(sign_in_client_id="pages"),
        (
            "--sign-in-client-id needs --sign-in-client-secret and --jwt-issuer, the issuer with "
            "which the client is registered: set all three options."
        ),
    ),
    (
        lambda: Settings(
            aws=True,
            jwt_issuer=ISSUER,
            jwt_audience="api",
            sign_in_client_id="pages",
            sign_in_client_secret="secret",
        ),
        (
            "--sign-in-client-id needs MARGINALIA_JWT_SECRET, which signs the sessions of the "
            "pages: set it to the same secret on all servers of the table."
        ),
    ),
]


@pytest.mark.parametrize(("call", "sentence"), MESSAGES, ids=[text for _, text in MESSAGES])
def test_a_message(
    call: Callable[[], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError) as caught:
        call()
    assert str(caught.value) == sentence


FINDINGS: list[tuple[Callable[[], Finding], str]] = [
    (
        lambda: checks.transport(Settings(host="0.0.0.0")),
        (
            "JWTs would be sent without encryption: put a proxy with TLS in front of the "
            "server, and set its address with --public-url https://…"
        ),
    ),
    (
        lambda: checks.authentication(Settings()),
        (
            "no JWT can be verified: set MARGINALIA_JWT_SECRET or --jwt-issuer, or run "
            "`marginalia token` after the server has started."
        ),
    ),
    (
        lambda: checks.authentication(Settings(jwks_url="http://127.0.0.1:9")),
        "the claim 'iss' is not checked: name the issuer with --jwt-issuer.",
    ),
]


@pytest.mark.parametrize(("check", "sentence"), FINDINGS, ids=[text for _, text in FINDINGS])
def test_a_finding(
    check: Callable[[], Finding],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check().sentence == sentence
