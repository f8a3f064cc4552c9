"""SIGHUP replaces the workers one by one."""

import asyncio
import os
import random
import signal
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import psutil

from tests.engines import ROOT
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


async def test_no_request_fails_while_all_workers_are_replaced(tmp_path: Path) -> None:
    with served(tmp_path, *TWO) as server:
        clients, ended = [Client(number) for number in range(CLIENTS)], asyncio.Event()
        adding = asyncio.gather(*(client.add_until(server, ended) for client in clients))
        await replaced(server)
        ended.set()
        await adding
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
