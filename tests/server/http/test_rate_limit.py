"""Clients that ask more often than they may."""

import httpx
import pytest
from throttled.store import MemoryStore

from server.http import rate_limit
from server.http.rate_limit import RateLimitMiddleware
from server.settings import Settings
from tests.server.http.listening import Echo, listening

PROXIES = ("127.0.0.1", "10.0.0.0/8")


def client_of(limited: RateLimitMiddleware, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(limited, client=(address, 50_000))
    return httpx.AsyncClient(transport=transport, base_url="http://x")


async def statuses(limited: RateLimitMiddleware, address: str, path: str = "/page") -> list[int]:
    async with client_of(limited, address) as client:
        return [(await client.get(path)).status_code for _ in range(4)]


def limited(rate: str = "2/min") -> RateLimitMiddleware:
    return RateLimitMiddleware(Echo(), rate, PROXIES)


async def test_a_client_that_asks_too_often_is_told_when_to_come_back() -> None:
    app = limited()
    assert await statuses(app, "203.0.113.9") == [200, 200, 429, 429]
    async with client_of(app, "203.0.113.9") as client:
        answer = await client.get("/page")
    assert 25 <= int(answer.headers["retry-after"]) <= 30
    assert answer.headers["access-control-allow-origin"] == "*"
    (error,) = answer.json()["errors"]
    assert error["extensions"] == {"code": "THROTTLED"}
    assert error["message"].startswith("203.0.113.9 sends more than 2/min: try again in")


async def test_clients_are_limited_each_for_itself() -> None:
    app = limited()
    assert await statuses(app, "203.0.113.9") == [200, 200, 429, 429]
    assert await statuses(app, "203.0.113.10") == [200, 200, 429, 429]


async def test_all_addresses_of_an_ipv6_customer_are_one_client() -> None:
    app = limited()
    assert await statuses(app, "2001:db8:1:1::1") == [200, 200, 429, 429]
    assert await statuses(app, "2001:db8:1:1:ffff::2") == [429] * 4
    assert await statuses(app, "2001:db8:1:2::1") == [200, 200, 429, 429]


async def test_names_that_are_no_addresses_are_one_client() -> None:
    app = limited()
    assert await statuses(app, "a" * 10_000) == [200, 200, 429, 429]
    assert await statuses(app, "b") == [429] * 4


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3"])
async def test_a_trusted_proxy_is_not_limited(address: str) -> None:
    assert await statuses(limited(), address) == [200] * 4


async def test_health_is_not_limited() -> None:
    assert await statuses(limited(), "203.0.113.9", "/health") == [200] * 4


async def test_a_burst_may_be_allowed() -> None:
    assert await statuses(limited("1/min burst 3"), "203.0.113.9") == [200, 200, 200, 429]


async def test_so_many_clients_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_CLIENTS", 10)
    app = limited("1/min")
    for i in range(50):
        async with client_of(app, f"203.0.113.{i}") as client:
            assert (await client.get("/page")).status_code == 200
    store = app._limiter._store
    assert isinstance(store, MemoryStore)
    assert len(store._backend.get_client()) == 10
    async with client_of(app, "203.0.113.49") as client:
        assert (await client.get("/page")).status_code == 429


async def test_the_client_is_whom_a_trusted_proxy_names() -> None:
    """A client that writes the header itself gains nothing: what the proxy adds comes last."""
    app = limited()

    async def asked(port: int, forwarded: str) -> int:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            answer = await client.get("/page", headers={"X-Forwarded-For": forwarded})
            return answer.status_code

    async with listening(app, Settings()) as port:
        seen = [await asked(port, f"198.51.100.{i}, 203.0.113.9") for i in range(4)]
        assert seen == [200, 200, 429, 429]
        assert await asked(port, "203.0.113.10") == 200
    async with listening(app, Settings(trusted_proxies=["10.0.0.1"])) as port:
        assert await asked(port, "203.0.113.9") == 200  # from 127.0.0.1, which this app trusts
