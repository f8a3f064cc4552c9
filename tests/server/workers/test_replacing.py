"""SIGHUP replaces the workers one by one. Only clients of subscriptions must connect again."""

import asyncio
import os
import random
import signal
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import psutil
from websockets.exceptions import ConnectionClosed, InvalidMessage

from tests.engines import ROOT
from tests.engines.redis import NEEDS_REDIS, redis_server
from tests.features.live.subscribing import by_socket, by_stream
from tests.server.serving import ADD, Served, bearer, served
from tests.server.workers.processes import (
    another,
    clients_of,
    complaints,
    logged,
    others,
    said,
    workers_of,
)

TWO = ("--workers", "2", "--rate-limit", "off")
CLIENTS = 6
ALL = "All 2 workers were replaced."


async def replaced(server: Served) -> list[psutil.Process]:
    """Replace the workers, and wait until the old ones have ended. Return the new workers."""
    old = workers_of(server)
    server.process.send_signal(signal.SIGHUP)
    return await others(server, old)


class Client:
    """Adds comments on one connection.

    If the server announces its end, a new connection is opened.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._closed = False
        self.added: list[str] = []

    async def add_until(self, server: Served, ended: asyncio.Event) -> None:
        dice = random.Random(self._number)
        address = urlsplit(server.url)
        place = address.hostname, address.port
        reader, writer = await asyncio.open_connection(*place)
        answered = time.monotonic()
        while not ended.is_set():
            # The server may close a connection after a second. On a busy machine, pauses are
            # longer.
            if self._closed or reader.at_eof() or time.monotonic() - answered > 0.5:
                writer.close()
                reader, writer = await asyncio.open_connection(*place)
            text = f"{self._number}/{len(self.added)}"
            answer = await self._post(reader, writer, text)
            answered = time.monotonic()
            assert answer["data"]["addComment"]["comment"]["text"] == text
            self.added.append(text)
            await asyncio.sleep(dice.choice((0, 0, 0.01, 0.05)))
        writer.close()

    async def _post(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, text: str
    ) -> Any:
        comment = {"productId": "42", "rating": 5, "language": "en", "text": text}
        body = orjson.dumps({"query": ADD, "variables": {"input": comment}})
        head = (
            f"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: {bearer('ana')['Authorization']}\r\nContent-Length: {len(body)}\r\n"
        )
        half = len(body) // 2
        writer.write(head.encode() + b"\r\n" + body[:half])
        await asyncio.sleep(0)
        writer.write(body[half:])
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        size = next(int(line[15:]) for line in lines if line.lower().startswith(b"content-length"))
        answer = await reader.readexactly(size)
        self._closed = b"connection: close" in lines
        assert b" 200 " in status, answer
        return orjson.loads(answer)


async def listen(server: Served, transport: Any, seen: list[str], ready: asyncio.Semaphore) -> None:
    """Receive events of added comments.

    After the end of a connection, continue at another worker.
    """
    after = None
    while True:
        try:
            async with transport(server.url, after=after) as events:
                async for event in events:
                    assert event["kind"] in {"READY", "ADDED"}
                    after = event["cursor"]
                    if event["kind"] == "READY":
                        ready.release()
                    else:
                        seen.append(event["commentEdge"]["node"]["text"])
        except (ConnectionClosed, ConnectionError, InvalidMessage, httpx.TransportError):
            pass
        except TypeError:  # an error without data, because the server stops
            assert after is not None


@NEEDS_REDIS
async def test_no_request_fails_while_all_workers_are_replaced(tmp_path: Path) -> None:
    """Other connections stay open. Listeners receive every event once."""
    with redis_server() as redis, served(tmp_path, *TWO, "--redis-url", redis.url) as server:
        heard: list[list[str]] = [[], [], [], []]
        ready = asyncio.Semaphore(0)
        transports = (by_socket, by_stream, by_socket, by_stream)
        listening = [
            asyncio.create_task(listen(server, transport, seen, ready))
            for transport, seen in zip(transports, heard, strict=True)
        ]
        for _ in listening:
            await ready.acquire()
        clients, ended = [Client(number) for number in range(CLIENTS)], asyncio.Event()
        adding = asyncio.gather(*(client.add_until(server, ended) for client in clients))
        await replaced(server)
        ended.set()
        await adding
        added = Counter(text for client in clients for text in client.added)
        async with asyncio.timeout(60):
            while any(len(seen) < added.total() for seen in heard):
                for task in listening:
                    assert not task.done(), task
                await asyncio.sleep(0.02)
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
        assert [Counter(seen) - added for seen in heard] == [Counter()] * 4
        assert [added - Counter(seen) for seen in heard] == [Counter()] * 4
        assert all(len(client.added) > 10 for client in clients)
        code, errors = server.end()
    assert code == 0
    assert complaints(errors) == [ALL]


async def test_if_new_workers_cannot_start_the_old_workers_continue(tmp_path: Path) -> None:
    """First the code is broken, then a signal kills each new worker.

    A worker that died is started again after a longer pause each time. Meanwhile the other worker
    serves. If the server is killed, its workers and its engine end too.
    """
    nameless = 35
    code = tmp_path / "code"
    code.mkdir()
    module, kills = code / "orjson.py", code / "sitecustomize.py"
    broken = "raise ImportError('half of a version')"
    path = f"{code}{os.pathsep}{ROOT}"
    with served(tmp_path / "data", *TWO, PYTHONPATH=path) as server:
        before = workers_of(server)
        module.write_text(broken)
        server.process.send_signal(signal.SIGHUP)
        await logged(server, "0 of 2 workers were replaced")
        assert "ImportError: half of a version" in said(server)
        module.unlink()
        assert workers_of(server) == before

        victim, other = before
        module.write_text(broken)
        victim.send_signal(nameless)
        await logged(
            server, f"A worker has ended (killed by signal {nameless}): starting it again."
        )
        await logged(server, "A worker has ended (exit code 1): starting it again in 2 s.")
        module.unlink()
        kills.write_text("import os\nos.kill(os.getpid(), 9)\n")
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            assert (await client.get("/health/ready")).is_success
        await logged(server, "A worker has ended (killed by SIGKILL): starting it again in 4 s.")
        kills.unlink()
        await another(server, victim, 2)
        assert other.is_running()
        await replaced(server)
        await logged(server, ALL)
        died = ["worker has ended" in line for line in complaints(said(server))]
        assert died.count(True) == 3
        async with clients_of(server, 2) as clients:
            ready = [(await client.get("/health/ready")).status_code for client in clients]
        assert ready == [200, 200]

        family = [server.engine(), *workers_of(server)]
        server.kill()
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not alive
        with socket.create_server(("127.0.0.1", urlsplit(server.url).port or 0)):
            pass  # the port is free
