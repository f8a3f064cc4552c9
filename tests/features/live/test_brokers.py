"""Servers with one table that send each other changes through Redis."""

import asyncio
import sys
from pathlib import Path

import httpx
import pytest

from dal.dynamodb.table import Table
from features.live.brokers import check_broker
from server.settings import Settings
from tests.engines.redis import NEEDS_REDIS, redis_server
from tests.features.live.subscribing import (
    EVENTS,
    by_socket,
    by_stream,
    heard,
    socket,
    subscribe,
)
from tests.server.applications import app_of, serving
from tests.server.http.listening import listening
from tests.server.serving import AWS, add_comment, bearer, called, served

ENDPOINT = "http://127.0.0.1:9"
STREAM = {"Accept": "text/event-stream"}
SECRET_URL = "redis://:hush@127.0.0.1:1/0"


@pytest.mark.parametrize(
    "url", ["http://:hush@127.0.0.1", "redis://", "redis://:hush@h:99999", "redis://h/x", "unix://"]
)
def test_an_invalid_url_is_refused_and_its_password_is_not_printed(url: str) -> None:
    outcome = called("serve", "--endpoint-url", ENDPOINT, "--redis-url", url)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("marginalia: --redis-url ")
    assert "hush" not in outcome.stderr


@pytest.mark.parametrize("option", ["surprise=1", "socket_timeout=long"])
def test_an_unknown_option_of_the_url_is_refused(option: str) -> None:
    outcome = called("serve", "--endpoint-url", ENDPOINT, "--redis-url", f"{SECRET_URL}?{option}")
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("marginalia: --redis-url ")
    assert option.partition("=")[0] in outcome.stderr
    assert "hush" not in outcome.stderr


async def test_several_workers_without_redis_refuse_subscriptions(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    """With any status except 200, a browser's ``EventSource`` stops and does not connect again."""
    settings = Settings(workers=2)
    check_broker(settings)
    (line,) = caplog.messages
    assert line.startswith("Live comments")
    assert "Redis" in line
    async with listening(app_of(table, workers=2), settings) as port:
        url = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            ask = {"query": EVENTS, "variables": {"product": "42"}}
            refused = await client.post("/graphql", json=ask, headers=STREAM)
            page = await client.get("/products/42")
        async with socket(url) as connection:
            await subscribe(connection)
            by_socket = await heard(connection)
    (error,) = refused.json()["errors"]
    assert refused.status_code == 400
    assert error["extensions"] == {"code": "NOT_AVAILABLE"}
    assert (by_socket["type"], by_socket["payload"]) == ("error", [error])
    assert page.is_success
    assert "data-live" not in page.text
    async with serving(table, workers=2, redis_url=SECRET_URL) as client:
        assert (await client.get("/products/42")).text.count("data-live=") == 1


def test_a_missing_redis_package_is_reported_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    outcome = called("serve", "--endpoint-url", ENDPOINT, "--redis-url", SECRET_URL)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("marginalia: --redis-url ")
    assert "'.[redis]'`" in outcome.stderr


@NEEDS_REDIS
async def test_listeners_of_two_servers_receive_the_same_events(
    tmp_path: Path, dynoxide_url: str
) -> None:
    """A cursor of one server is valid at the other server, even after a restart."""
    with redis_server() as redis:
        store = ("--endpoint-url", dynoxide_url, "--table", f"brokers-{tmp_path.name}")
        assert called("table", "create", *store, **AWS).returncode == 0
        options = (*store, "--redis-url", redis.url)
        with (
            served(tmp_path, *options, **AWS) as one,
            served(tmp_path, *options, **AWS) as other,
        ):
            async with by_stream(one.url) as here, by_socket(other.url) as there:
                after = (await anext(here))["cursor"]
                assert (await anext(there))["kind"] == "READY"
                for server, text in ((other, "1"), (one, "2")):
                    async with httpx.AsyncClient(
                        base_url=server.url, headers=bearer("ana"), timeout=60
                    ) as client:
                        assert await add_comment(client, text)
                        events = [await anext(stream) for stream in (here, there)]
                        assert [e["commentEdge"]["node"]["text"] for e in events] == [text, text]
                        assert events[0]["cursor"] == events[1]["cursor"]
            assert other.end() == (0, "")
            with served(tmp_path, *options, **AWS) as anew:
                async with by_socket(anew.url, after=after) as later:
                    told = [(await anext(later))["commentEdge"]["node"]["text"] for _ in "12"]
                assert told == ["1", "2"]


@NEEDS_REDIS
async def test_a_server_starts_and_writes_without_redis(tmp_path: Path, dynoxide_url: str) -> None:
    store = ("--endpoint-url", dynoxide_url, "--table", f"brokers-{tmp_path.name}")
    assert called("table", "create", *store, **AWS).returncode == 0
    with served(tmp_path, *store, "--redis-url", SECRET_URL, **AWS) as server:
        async with httpx.AsyncClient(
            base_url=server.url, headers=bearer("ana"), timeout=60
        ) as client:
            assert await add_comment(client, "so it is")
        await asyncio.sleep(0.5)
        code, log = server.end()
    assert code == 0
    assert log.count("Redis at 127.0.0.1:1/0 is unreachable") == 1
    assert "hush" not in log
