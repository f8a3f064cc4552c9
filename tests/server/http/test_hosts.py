"""A server accepts its own hosts. Health checks work with any host."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from dal.dynamodb.table import Table
from server.errors import CommandError
from server.http.middleware import AllowedHosts
from server.settings import Settings
from tests.server.applications import serving
from tests.server.serving import served

PUBLIC = "https://shop.example"


def allowed(named: str, local: str | None = None, **settings: Any) -> bool:
    return AllowedHosts(Settings(**settings)).allow(named, local)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8000", "shop.localhost", "127.0.0.1:8000", "127.9.9.9", "[::1]:8000"],
)
@pytest.mark.parametrize(
    "settings", [{}, {"host": "0.0.0.0"}, {"public_url": PUBLIC}, {"allowed_hosts": ["a.example"]}]
)
def test_loopback_is_always_allowed(host: str, settings: Any) -> None:
    assert allowed(host, **settings)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "evil.example#localhost",
        "evil@localhost",
        "localhost:8000@evil.example",
        "localhost:x",
        "localhost/evil",
        "evil,localhost",
        "[::1",
        "shop.example.evil.example",
        "eshop.example",
        "a" * 60_000,
    ],
)
@pytest.mark.parametrize("settings", [{}, {"host": "0.0.0.0"}, {"public_url": PUBLIC}])
def test_other_hosts_are_refused(host: str, settings: Any) -> None:
    assert not allowed(host, "192.0.2.1", **settings)


def test_configured_hosts_are_allowed_on_any_port() -> None:
    named: Any = {
        "public_url": PUBLIC,
        "allowed_hosts": ["B.example", "*.c.example", "2001:DB8:0::1", "[2001:db8::2]"],
    }
    for host in (
        "shop.example",
        "Shop.Example:8443",
        "b.example",
        "x.y.c.example",
        "[2001:DB8::1]",
        "[2001:db8:0:0::2]:8443",
    ):
        assert allowed(host, **named), host
    for host in ("c.example", "xc.example", "192.0.2.1"):
        assert not allowed(host, "192.0.2.1", **named), host
    assert allowed("anything.example", allowed_hosts=["*"])


def test_a_server_beyond_loopback_accepts_the_address_of_the_connection_as_host() -> None:
    assert allowed("192.0.2.1:8000", "192.0.2.1", host="0.0.0.0")
    assert allowed("[2001:db8:0::1]:8000", "2001:db8::1", host="::")
    assert allowed("box.example:8000", "192.0.2.1", host="box.example")
    assert not allowed("192.0.2.2:8000", "192.0.2.1", host="0.0.0.0")
    assert not allowed("192.0.2.1:8000", "192.0.2.1")


@pytest.mark.parametrize(
    "host",
    [
        "https://a.example",
        "a.example:80",
        "a/b",
        "",
        "*a.example",
        "10.0.0.0/8",
        "2001:db8::/32",
        "münchen.example",
        "[a.example]",
        "[::1",
        "a..b",
        "fe80::1%eth0",
    ],
)
def test_an_invalid_host_is_refused_at_the_start(host: str) -> None:
    with pytest.raises(CommandError, match=re.escape(f"--allowed-host {host} ")):
        Settings(allowed_hosts=[host])


@pytest.mark.parametrize(
    "url", ["shop.example", PUBLIC + "/reviews", PUBLIC + "/", "ftp://a.example"]
)
def test_a_public_url_has_only_scheme_host_and_port(url: str) -> None:
    with pytest.raises(CommandError, match=re.escape(f"--public-url {url} ")):
        Settings(public_url=url)


async def test_the_application_refuses_other_hosts_except_for_health_checks(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(table, site="http://evil.example") as client:
        for path in ("/", "/graphql?query={__typename}", "/sitemap.xml", "/healthy"):
            answer = await client.get(path)
            assert answer.status_code == 421
            (error,) = answer.json()["errors"]
            assert "'evil.example'" in error["message"]
        for path in ("/health", "/health/live", "/health/ready"):
            assert (await client.get(path)).status_code == 200
    (logged,) = (one for one in caplog.messages if "evil.example" in one)
    assert "--allowed-host" in logged


async def test_no_redirect_contains_the_host_header(table: Table) -> None:
    async with serving(table) as client:
        for path in ("/graphql/", "/sign-in/", "/health/live/"):
            assert (await client.get(path)).status_code == 404


def test_a_server_beyond_loopback_prints_its_allowed_hosts(tmp_path: Path) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol": "graphql-transport-ws",
    }
    with served(tmp_path, "--host", "0.0.0.0") as server:
        get = partial(httpx.get, server.url + "/graphql?query={__typename}", timeout=60)
        assert get().status_code == 200
        for headers in ({}, upgrade):
            assert get(headers={"Host": "evil.example", **headers}).status_code == 421
        _, said = server.end()
    assert re.search(r"0\.0\.0\.0.*--public-url.*--allowed-host", said.splitlines()[0])
