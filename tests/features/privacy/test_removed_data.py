"""Removed texts and names are in no store: data file, log, backups, Redis, and live replays."""

import asyncio
import secrets
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from strawberry.relay.utils import to_base64

from features.live.changes import event_position_of
from server.cli import long_running
from tests.engines.redis import NEEDS_REDIS, redis_server
from tests.features.live.subscribing import by_stream
from tests.server.serving import add_comment, bearer, called, served

pytestmark = NEEDS_REDIS

ROLES = "merchant", "moderator"
KINDS = (
    "deleted",
    "edited",
    "rejected",
    "photo",
    "reply",
    "report",
    "voter",
    "profile",
    "erased",
)


class Shop:
    """A client of a running server, which has a random marker for each kind of removal."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self.url, self._client = url, client
        self.markers = {kind: f"{kind}-{secrets.token_hex(8)}" for kind in KINDS}

    async def write(self, mutation: str, fields: str, by: str = "ann") -> None:
        """Execute a mutation. ``fields`` may contain ``$comment``, for the id of a comment."""
        document = (
            f"mutation {{ {mutation}(input: {{ {fields} }}) {{ userErrors {{ message }} }} }}"
        )
        headers = bearer(by, *ROLES)
        answer = await self._client.post("/graphql", json={"query": document}, headers=headers)
        assert answer.json()["data"] == {mutation: {"userErrors": []}}, answer.text

    async def add(self, text: str, by: str = "ann") -> str:
        """Add a comment, and return its global id as an input field."""
        self._client.headers.update(bearer(by))
        comment_id = await add_comment(self._client, text)
        assert comment_id is not None
        return f'id: "{to_base64("Comment", comment_id)}"'

    async def remove(self) -> None:
        """Add data of each kind, and remove them all except the erased user's data."""
        marked = self.markers
        one = await self.add(marked["deleted"])
        await self.write("deleteComment", one)
        one = await self.add(marked["edited"])
        photo = (
            f'photos: [{{ url: "https://p.example/{marked["photo"]}", alt: "{marked["photo"]}" }}]'
        )
        await self.write("updateComment", f'{one}, text: "Good", {photo}')
        await self.write("updateComment", f"{one}, photos: []")
        await self.write("replyToComment", f'{one}, text: "{marked["reply"]}"')
        await self.write("removeReply", one)
        await self.write("markHelpful", one, by=marked["voter"])
        await self.write("unmarkHelpful", one, by=marked["voter"])
        await self.write("updateProfile", f'fullName: "{marked["profile"]}"')
        await self.write("updateProfile", "fullName: null")
        one = await self.add("reported")
        await self.write("reportComment", f'{one}, reason: SPAM, text: "{marked["report"]}"', "bob")
        await self.write("deleteComment", one)
        one = await self.add(marked["rejected"])
        seen = f"{{ node({one}) {{ ... on Comment {{ createdAt }} }} }}"
        answer = await self._client.post("/graphql", json={"query": seen})
        created = answer.json()["data"]["node"]["createdAt"]
        await self.write("rejectComment", f'{one}, seen: "{created}", reason: "No."')

    async def replayed(self, after: str) -> str:
        """Return what a subscription shows that continues after a cursor, up to a new comment."""
        last = await self.add("last")
        shown = []
        async with asyncio.timeout(60), by_stream(self.url, after=after) as events:
            async for event in events:
                shown.append(str(event))
                if event["kind"] == "RELOAD" or last[5:-1] in shown[-1]:
                    break
        return "".join(shown)

    def in_files(self, *paths: Path) -> set[str]:
        """Return the kinds whose marker is in a file."""
        files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
        stored = b"".join(file.read_bytes() for file in files if file.is_file())
        return {kind for kind, marker in self.markers.items() if marker.encode() in stored}


async def in_redis(url: str) -> bytes:
    """Return all keys and values in Redis."""
    found = b""
    async with Redis.from_url(url, protocol=2) as client:
        readers: dict[Any, Any] = {
            b"stream": client.xrange,
            b"hash": client.hgetall,
            b"string": client.get,
        }
        async for key in client.scan_iter():
            value = await readers[await client.type(key)](key)
            found += key + repr(value).encode()
    return found


async def test_removed_data_is_in_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_running, "SETTLE_SECONDS", 0.0)
    data, first, second = tmp_path / "data", tmp_path / "first.db", tmp_path / "second.db"
    store = ("--data-dir", data)
    with redis_server() as redis, served(data, "--no-demo", "--redis-url", redis.url) as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            shop = Shop(server.url, client)
            async with by_stream(server.url) as events:
                ready = event_position_of((await anext(events))["cursor"])
            forged = ready._replace(number=0).cursor
            erased = shop.markers["erased"]
            await shop.add(f"{erased} says: {erased}", by=erased)
            await shop.remove()
            assert (await asyncio.to_thread(called, "backup", first, *store)).returncode == 0
            # A rejected comment is kept for its author and moderators, but not in the live log. The
            # tombstone of a withdrawn vote has the user's id.
            kept = {"rejected", "voter"}
            assert shop.in_files(first) == {"erased", *kept}
            assert shop.in_files(data) == set(KINDS), "the running engine's file has them all"
            shown = await shop.replayed(forged)
            assert {kind for kind in KINDS if shop.markers[kind] in shown} == {"erased"}
            stored = (await in_redis(redis.url)).decode()
            assert {kind for kind in KINDS if shop.markers[kind] in stored} == {"erased"}

            done = await asyncio.to_thread(called, "user", "erase", erased, "--yes", *store)
            assert done.returncode == 0, done
            assert shop.in_files(data) == kept
            async with asyncio.timeout(60):
                while erased in await shop.replayed(forged):  # noqa: ASYNC110 - has no event
                    await asyncio.sleep(0.1)
            assert erased not in (await in_redis(redis.url)).decode()
            assert (await asyncio.to_thread(called, "backup", second, *store)).returncode == 0
            assert shop.in_files(second) == kept
            shop.markers["deleted"] = f"again-{secrets.token_hex(8)}"
            await shop.write("deleteComment", await shop.add(shop.markers["deleted"]))
            assert shop.in_files(data) == {"deleted", *kept}
        code, log = server.end()
    assert code == 0
    assert shop.in_files(data) == kept
    assert not any(marker in log for marker in shop.markers.values())
