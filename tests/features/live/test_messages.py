"""The sentences of live comments."""

import json
from typing import Any, cast

import pytest
from starlette.types import Message

from features.live.subscriptions import EXPIRED
from features.live.websocket import WebSocketView
from server.errors import CommandError
from server.settings import Settings


async def test_a_refused_page_has_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {}

    scope = {
        "type": "http",
        "headers": [(b"origin", b"http://evil.example"), (b"host", b"localhost")],
        "subprotocols": [],
    }
    await WebSocketView(cast("Any", None), [], False, 1.0)(scope, receive, send)
    (closed,) = json.loads(sent[-1]["body"])["errors"]
    assert closed["message"] == "Pages of http://evil.example may not connect to this server."
    assert caplog.messages == [
        "Pages of 'http://evil.example' may not connect: allow them with --cors-origin."
    ]


def test_an_expired_jwt_has_a_sentence() -> None:
    assert EXPIRED == "The JWT has expired: connect again with a new one."


def test_an_invalid_url_has_a_sentence() -> None:
    with pytest.raises(CommandError) as caught:
        Settings(redis_url="http://:hush@127.0.0.1")
    assert str(caught.value) == (
        "--redis-url is not a URL such as redis://127.0.0.1:6379/0, rediss://host:6379 or "
        "unix:///run/redis.sock."
    )
