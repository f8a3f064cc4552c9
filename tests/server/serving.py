"""Runs ``marginalia`` in a process, as a user does."""

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from unittest import mock

import httpx
import psutil

from server.auth.authenticator import make_token
from server.cli import main
from tests.engines import ROOT
from tests.server.embedded import engine_pid

SECRET = "a secret of thirty-two bytes, or more"

MARGINALIA = Path(sys.executable).with_name("marginalia")
AWS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}


def environment(**settings: str) -> dict[str, str]:
    """Return the environment with ``settings``, without other settings of Marginalia and AWS."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MARGINALIA_", "AWS_"))
    }
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return kept | {"PYTHONPATH": path, "COLUMNS": "80"} | settings


def marginalia(*arguments: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process, and wait for its end."""
    return subprocess.run(
        [MARGINALIA, *arguments],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def called(*arguments: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command like ``marginalia``, but in this process.

    A separate process would spend most of its time on imports. If an event loop is running, the
    command runs in a thread with its own event loop.
    """
    return called_as("marginalia", main.main, *arguments, **settings)


def called_as(
    name: str, act: Callable[[], None], *arguments: str | Path, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of this repository like ``called``. ``act`` is its main function."""
    said, complained = StringIO(), StringIO()
    mask = os.umask(0o022)
    with (
        mock.patch.dict(os.environ, environment(**settings), clear=True),
        mock.patch.object(sys, "argv", [name, *map(str, arguments)]),
        # Otherwise the objects of this process would never be collected.
        mock.patch.object(gc, "freeze"),
        redirect_stdout(said),
        redirect_stderr(complained),
    ):
        if asyncio._get_running_loop() is None:
            code = _exit_code(act)
        else:
            with ThreadPoolExecutor(1) as thread:
                code = thread.submit(_exit_code, act).result()
    os.umask(mask)
    return subprocess.CompletedProcess(arguments, code, said.getvalue(), complained.getvalue())


def _exit_code(act: Callable[[], None]) -> int:
    """Run the main function of a program. Return the exit code that its process would have."""
    try:
        act()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201 - as the interpreter does
            return 1
        return end.code or 0
    finally:
        # Otherwise each command leaves 10 MB. A collection of all generations takes up to a second.
        gc.collect(1)
    return 0


def jwt_of(username: str, *roles: str, name: str | None = None) -> str:
    """Return a JWT for ``username``."""
    lifetime = timedelta(hours=1)
    return make_token(SECRET, user=username, name=name, roles=roles, lifetime=lifetime)


def bearer(username: str, *roles: str, name: str | None = None) -> dict[str, str]:
    """Return the Authorization header with a JWT for ``username``."""
    return {"Authorization": f"Bearer {jwt_of(username, *roles, name=name)}"}


@dataclass
class Served:
    """A running server. ``said`` is its banner, and ``log`` the file with its standard error."""

    process: subprocess.Popen[str]
    data_dir: Path
    url: str
    said: str
    log: IO[str]

    def engine(self) -> psutil.Process:
        """Return the engine's process."""
        return psutil.Process(engine_pid(self.data_dir))

    def kill(self) -> None:
        """Kill the server, as the kernel does without free memory."""
        self.process.kill()
        self.process.wait(60)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop the server. Return its exit code and its standard error."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait until the server has ended. Return its exit code and its standard error."""
        code = self.process.wait(60)
        self.log.seek(0)
        return code, self.log.read()


@contextmanager
def served(data_dir: Path, *options: str, **settings: str) -> Iterator[Served]:
    """Run a server on a free port until the block ends."""
    command = [str(MARGINALIA), "serve", "--port", "0", "--data-dir", str(data_dir), *options]
    with (
        TemporaryFile("w+") as log,
        subprocess.Popen(
            command,
            env=environment(MARGINALIA_JWT_SECRET=SECRET) | settings,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            process_group=0,
        ) as process,
    ):
        try:
            said = _banner(process)
            yield Served(process, data_dir, _url(said), said, log)
        finally:
            if process.poll() is None:
                process.terminate()


def _banner(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            return "".join(lines)
    raise RuntimeError("the server ended before it listened")


def _url(said: str) -> str:
    match = re.search(r"http://[\d.:]+", said)
    assert match is not None
    return match[0]


ADD = """
mutation ($input: AddCommentInput!) {
  addComment(input: $input) { comment { commentId text } userErrors { message } }
}"""


async def add_comment(client: httpx.AsyncClient, text: str, key: str | None = None) -> str | None:
    """Add a comment. Return its id, or None if the server did not acknowledge it."""
    comment = {"productId": "42", "rating": 5, "language": "en", "text": text}
    variables = {"input": comment | {"idempotencyKey": key}}
    try:
        answer = await client.post("/graphql", json={"query": ADD, "variables": variables})
    except httpx.TransportError:
        return None
    payload = (answer.json().get("data") or {}).get("addComment")
    if payload is None:
        return None
    assert payload["userErrors"] == []
    assert payload["comment"]["text"] == text
    return str(payload["comment"]["commentId"])


PAGE = """
query ($after: String) {
  product(productId: "42") {
    comments(first: 100, after: $after) {
      nodes { commentId text } pageInfo { hasNextPage endCursor }
    }
  }
}"""


async def all_comments(client: httpx.AsyncClient) -> list[tuple[str, str]]:
    """Return the id and text of each comment on product 42."""
    found: list[tuple[str, str]] = []
    after = None
    while True:
        body = {"query": PAGE, "variables": {"after": after}}
        answer = (await client.post("/graphql", json=body)).json()
        comments = answer["data"]["product"]["comments"]
        found += [(node["commentId"], node["text"]) for node in comments["nodes"]]
        if not comments["pageInfo"]["hasNextPage"]:
            return found
        after = comments["pageInfo"]["endCursor"]
