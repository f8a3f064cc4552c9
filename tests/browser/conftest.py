"""A server with the demo data, and headless Chromium, which can reach only this machine."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    async_playwright,
    expect,
)

from server.local_engine.engine_process import free_port

expect.set_options(timeout=120_000)  # a busy machine renders slowly

MARGINALIA = Path(sys.executable).with_name("marginalia")
SHELL = Path("/usr/bin/chromium-headless-shell")
CHROMIUM = SHELL if SHELL.exists() else Path("/usr/bin/chromium")
"""The browser. The headless shell is preferred, because it needs a third of the processor time."""

NEEDS_CHROMIUM = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(),
        reason=f"{CHROMIUM} is missing: on Debian, 'apt-get install {SHELL.name}' installs it",
    ),
]

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--accept-lang=en-US",  # the shell does not send Accept-Language otherwise
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    data_dir: Path


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, demo_data: Path) -> Iterator[Server]:
    data_dir = tmp_path_factory.mktemp("browser")
    shutil.copytree(demo_data, data_dir, dirs_exist_ok=True)
    url = f"http://127.0.0.1:{free_port()}"
    command = [str(MARGINALIA), "serve", "--demo", "--data-dir", str(data_dir)]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MARGINALIA_")
    }
    with (
        (data_dir / "server.log").open("w+") as log,
        subprocess.Popen(
            [*command, "--port", str(urlsplit(url).port)],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            _await_health(process, url, log.name)
            refresh = [str(MARGINALIA), "analytics", "refresh", "--data-dir", str(data_dir)]
            subprocess.run(refresh, env=environment, check=True, capture_output=True)
            yield Server(url, data_dir)
        finally:
            process.terminate()


@pytest.fixture
def adas_jwt(server: Server) -> str:
    return token_of(server, "ada")


def token_of(server: Server, user: str, *roles: str) -> str:
    """Return a JWT for a user, signed by the server."""
    given = [option for role in roles for option in ("--role", role)]
    command = [str(MARGINALIA), "token", "--user", user, *given]
    command += ["--data-dir", str(server.data_dir)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _await_health(process: subprocess.Popen[bytes], url: str, log: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/health", timeout=60).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError(f"The server did not come up:\n{Path(log).read_text()}")


@pytest.fixture(scope="package")
async def chromium(server: Server) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=ARGUMENTS, timeout=120_000
        )
        yield browser
        await browser.close()


@dataclass
class Witness:
    """Records errors in a browser's pages, and requests to other machines."""

    origin: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    async def watch(self, context: BrowserContext) -> None:
        context.set_default_timeout(120_000)
        # Unlike a route, this does not switch off Chromium's cache.
        context.on("request", self._note_request)
        context.on("console", lambda message: self._note(message.type, message.text))
        context.on("weberror", lambda error: self._note("error", str(error.error)))

    def _note_request(self, request: Request) -> None:
        """A request to another machine is an error, although ``ARGUMENTS`` let it reach nothing."""
        self.requests.append(request.url)
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.complaints.append(f"asked for {request.url}")

    def _note(self, kind: str, text: str) -> None:
        """Chromium reports violations of the Content Security Policy as console errors."""
        if kind in {"error", "warning"}:
            self.complaints.append(text)


@pytest.fixture
async def witness(server: Server) -> AsyncIterator[Witness]:
    seen = Witness(server.url)
    yield seen
    assert seen.requests, "the browser sent no request"
    assert seen.complaints == []


@pytest.fixture
async def page(chromium: Browser, witness: Witness) -> AsyncIterator[Page]:
    async with await chromium.new_context(viewport={"width": 1280, "height": 800}) as context:
        await witness.watch(context)
        yield await context.new_page()


@pytest.fixture
async def phone(chromium: Browser, witness: Witness) -> AsyncIterator[Page]:
    async with await chromium.new_context(
        viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    ) as context:
        await witness.watch(context)
        yield await context.new_page()
