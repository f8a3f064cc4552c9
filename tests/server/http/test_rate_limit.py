"""Clients that exceed their request rate."""

import re
from collections.abc import Iterable, Iterator
from itertools import count

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from throttled.store import MemoryStore

from dal.dynamodb.table import Table
from pages.static_files import DIGEST
from schema.execution import documents
from schema.execution.documents import charged
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.http import admission
from server.http.admission import RateLimitMiddleware
from server.services import services_of
from server.settings import Settings
from tests.schema.documents import chain
from tests.server.http.listening import Echo, listening
from tests.server.serving import SECRET

PROXIES = ("127.0.0.1", "10.0.0.0/8")


def client_of(limited: RateLimitMiddleware, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(limited, client=(address, 50_000))
    return httpx.AsyncClient(transport=transport, base_url="http://x")


async def statuses(limited: RateLimitMiddleware, address: str, path: str = "/page") -> list[int]:
    async with client_of(limited, address) as client:
        return [(await client.get(path)).status_code for _ in range(4)]


def limited(rate: str = "2/min") -> RateLimitMiddleware:
    return RateLimitMiddleware(Echo(), rate, PROXIES)


async def test_a_client_above_its_rate_receives_retry_after() -> None:
    app = limited()
    assert await statuses(app, "203.0.113.9") == [200, 200, 429, 429]
    async with client_of(app, "203.0.113.9") as client:
        answer = await client.get("/page")
    assert 25 <= int(answer.headers["retry-after"]) <= 30
    assert answer.headers["access-control-allow-origin"] == "*"
    (error,) = answer.json()["errors"]
    assert error["extensions"] == {"code": "THROTTLED"}
    assert error["message"].startswith("203.0.113.9 sends more than 2/min: try again in")


@pytest.mark.parametrize(
    ("rate", "policy", "rates"),
    [
        ("2/min", "q=2;w=60", ["r=1;t=30", "r=0;t=60", "r=0;t=30", "r=0;t=30"]),
        ("100/s", "q=100;w=1", ["r=99;t=1", "r=98;t=1", "r=97;t=1", "r=96;t=1"]),
        ("1/min burst 3", "q=3;w=180", ["r=2;t=60", "r=1;t=120", "r=0;t=180", "r=0;t=60"]),
    ],
)
async def test_each_response_has_the_rest_of_the_rate(
    monkeypatch: pytest.MonkeyPatch, rate: str, policy: str, rates: list[str]
) -> None:
    """https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/10/"""
    monkeypatch.setattr("throttled.utils.now_mono_f", lambda: 1_000.0)
    async with client_of(limited(rate), "203.0.113.9") as client:
        answers = [await client.get("/page") for _ in range(4)]
    assert {one.headers["ratelimit-policy"] for one in answers} == {f'"default";{policy}'}
    assert [one.headers["ratelimit"] for one in answers] == [f'"default";{one}' for one in rates]
    for answer in answers:
        if answer.status_code == 429:
            assert answer.headers["ratelimit"].endswith(f"t={answer.headers['retry-after']}")
            assert "RateLimit, RateLimit-Policy" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize("address", ["127.0.0.1", "203.0.113.9"])
@pytest.mark.parametrize(
    "path",
    ["/", "/products/1", "/widget/1", "/nowhere", "/schema.graphql", "/graphql?query={__typename}"],
)
async def test_all_responses_to_limited_clients_have_the_rest_of_the_rate(
    table: Table, path: str, address: str
) -> None:
    async with stranger(whole(table), address) as client:
        answers = [await client.get(path) for _ in range(2)]
    seen = [one.headers.get("ratelimit", "") for one in answers]
    if address == "127.0.0.1":
        assert seen == ["", ""]
        return
    rests = [
        int(one) for one in re.findall(r'^"default";r=(\d+);t=\d+$', "\n".join(seen), re.MULTILINE)
    ]
    assert len(rests) == 2
    assert 99 >= rests[0] > rests[1] >= 0  # the documents of a page may count as several requests


async def test_files_for_shared_caches_do_not_have_the_rate_of_a_client(table: Table) -> None:
    async with stranger(whole(table), "203.0.113.9") as client:
        answer = await client.get(f"/static/pages/{DIGEST}/page.css")
    assert (answer.status_code, "ratelimit" in answer.headers) == (200, False)
    assert answer.headers["cache-control"].startswith("public")


async def test_scripts_of_allowed_origins_can_read_the_rest_of_the_rate(table: Table) -> None:
    settings = Settings(rate_limit="100/hour", cors_origins=["https://shop.example"])
    app = create_app(settings, services_of(settings, table, Authenticator(secret=lambda: SECRET)))
    async with stranger(app, "203.0.113.9") as client:
        answer = await client.post(
            "/graphql",
            json={"query": "{ __typename }"},
            headers={"Origin": "https://shop.example"},
        )
    exposed = answer.headers["access-control-expose-headers"]
    assert exposed == "X-Request-ID, Retry-After, RateLimit, RateLimit-Policy"


async def test_each_client_has_its_own_limit() -> None:
    app = limited()
    assert await statuses(app, "203.0.113.9") == [200, 200, 429, 429]
    assert await statuses(app, "203.0.113.10") == [200, 200, 429, 429]


async def test_all_addresses_of_an_ipv6_network_are_one_client() -> None:
    app = limited()
    assert await statuses(app, "2001:db8:1:1::1") == [200, 200, 429, 429]
    assert await statuses(app, "2001:db8:1:1:ffff::2") == [429] * 4
    assert await statuses(app, "2001:db8:1:2::1") == [200, 200, 429, 429]


async def test_forwarded_texts_that_are_not_addresses_are_one_client() -> None:
    app = limited()
    assert await statuses(app, "a" * 10_000) == [200, 200, 429, 429]
    assert await statuses(app, "b") == [429] * 4


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3"])
async def test_a_trusted_proxy_is_not_limited(address: str) -> None:
    assert await statuses(limited(), address) == [200] * 4


async def test_health_checks_are_not_limited() -> None:
    assert await statuses(limited(), "203.0.113.9", "/health") == [200] * 4


async def test_a_burst_is_allowed_by_setting() -> None:
    assert await statuses(limited("1/min burst 3"), "203.0.113.9") == [200, 200, 200, 429]


async def test_the_number_of_remembered_clients_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MAX_CLIENTS", 10)
    app = limited("1/min")
    for i in range(50):
        async with client_of(app, f"203.0.113.{i}") as client:
            assert (await client.get("/page")).status_code == 200
    store = app._limiter._store
    assert isinstance(store, MemoryStore)
    assert len(store._backend.get_client()) == 10
    async with client_of(app, "203.0.113.49") as client:
        assert (await client.get("/page")).status_code == 429


async def test_the_client_is_the_address_that_a_trusted_proxy_forwards() -> None:
    """A client cannot forge its address, because the proxy appends the real one."""
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
        # The header is ignored, so the client is 127.0.0.1: a proxy without a rate limit.
        assert await asked(port, "203.0.113.9") == 200


class Costly(Echo):
    """An application in which each request is charged for the processor time of a document."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with charged():
            pass
        await super().__call__(scope, receive, send)


def clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Make each read of the documents' clock return ``seconds`` more."""
    times: Iterator[float] = count(0.0, seconds)
    monkeypatch.setattr(documents, "thread_time", times.__next__)


async def test_the_rest_of_the_rate_contains_the_time_of_the_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock(monkeypatch, 0.021)  # counts as 10 further requests
    async with client_of(RateLimitMiddleware(Costly(), "100/min", PROXIES), "203.0.113.9") as one:
        assert (await one.get("/page")).headers["ratelimit"].startswith('"default";r=89;')


@pytest.mark.parametrize(
    ("seconds", "seen"),
    [
        (0.0019, [200] * 4),
        (0.101, [200, 200, 429, 429]),  # counts as 50 further requests of 100
        (1.01, [200, 429, 429, 429]),
    ],
)
async def test_processor_time_of_documents_counts_as_requests(
    monkeypatch: pytest.MonkeyPatch, seconds: float, seen: list[int]
) -> None:
    clock(monkeypatch, seconds)
    app = RateLimitMiddleware(Costly(), "100/min", PROXIES)
    assert await statuses(app, "203.0.113.9") == seen
    assert (await statuses(app, "203.0.113.10"))[0] == 200


async def test_the_waiting_time_of_a_client_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 3_600)
    app = RateLimitMiddleware(Costly(), "100/min", PROXIES)
    async with client_of(app, "203.0.113.9") as client:
        assert (await client.get("/page")).status_code == 200
        answer = await client.get("/page")
    assert 58 <= int(answer.headers["retry-after"]) <= 61
    assert "203.0.113.9" in answer.text
    assert "100/min" in answer.text


async def test_a_client_above_a_slow_rate_waits_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock(monkeypatch, 0.0041)  # counts as two further requests
    app = RateLimitMiddleware(Costly(), "2/min", PROXIES)
    async with client_of(app, "203.0.113.9") as client:
        assert (await client.get("/page")).status_code == 200
        answer = await client.get("/page")
    assert 58 <= int(answer.headers["retry-after"]) <= 60


def whole(table: Table) -> ASGIApp:
    """Return the whole application, with a rate of 100 requests per hour for each client."""
    # In a slow test, the rate must not allow further requests.
    settings = Settings(rate_limit="100/hour")
    return create_app(settings, services_of(settings, table, Authenticator(secret=lambda: SECRET)))


def stranger(app: ASGIApp, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=(address, 50_000))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_client_that_sends_many_new_documents_is_refused(table: Table, method: str) -> None:
    """60 new documents of 60 fragments are below the rate, but take much processor time."""
    app = whole(table)

    async def seen(address: str, comments: Iterable[str]) -> list[int]:
        async with stranger(app, address) as client:
            answers = []
            for comment in comments:
                document = {"query": chain(60, f"{method} {comment}")}
                option = {"json": document} if method == "POST" else {"params": document}
                answers.append(await client.request(method, "/graphql", **option))  # type: ignore[arg-type]
            return [answer.status_code for answer in answers]

    new = await seen("203.0.113.9", map(str, range(60)))
    assert new == sorted(new)  # once the client is refused, no further document is parsed
    assert new.count(429) > 10
    assert await seen("203.0.113.10", ["known"]) == [200]
    assert await seen("203.0.113.11", ["known"] * 30) == [200] * 30
