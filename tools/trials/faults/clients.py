"""Clients that read or write, and the outcomes of their requests."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import httpx
from strawberry.relay.utils import to_base64

from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from tests import oracle

OK = "ok"
FIXED = "fixed"
"""A product whose comments do not change, so that the oracle knows every page."""


@dataclass
class Outcomes:
    """The outcomes of all requests of one kind under one fault."""

    seconds: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    wrong: int = 0

    @property
    def p50(self) -> float:
        """Seconds."""
        return median(self.seconds)

    @property
    def worst(self) -> float:
        """Seconds."""
        return max(self.seconds)


class Api:
    """Sends requests to the server and records their outcomes."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.outcomes = Outcomes()

    async def ask(self, query: str, **variables: Any) -> dict[str, Any] | None:
        """Return the data of a response, or None if there is an error or no response."""
        began = time.monotonic()
        code, data = await self._asked({"query": query, "variables": variables})
        self.outcomes.seconds.append(time.monotonic() - began)
        self.outcomes.codes[code] += 1
        return data if code == OK else None

    async def _asked(self, body: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
        try:
            answer = (await self._client.post("/graphql", json=body)).json()
        except httpx.TransportError:
            return "no response", None
        if "errors" in answer:
            return answer["errors"][0]["extensions"]["code"], None
        refused = [
            error["code"]
            for payload in answer["data"].values()
            for error in (payload or {}).get("userErrors", ())
        ]
        return (refused[0] if refused else OK), answer["data"]


_PAGE = """
query ($product: ID!) {
  product(productId: $product) {
    comments(rating: [1, 5], language: ["en", "de"], first: 20) { nodes { commentId } }
  }
}"""
_COMMENT = "query ($id: ID!) { comment(commentId: $id) { commentId text } }"
_STATISTICS = """
query ($product: ID!) { product(productId: $product) { statistics { total } } }"""


async def read(api: Api, rows: list[Comment], until: float) -> None:
    """Send queries one after another. Count the responses that differ from the oracle."""
    selection = Selection(FIXED, frozenset({1, 5}), frozenset({"en", "de"}))
    page = [{"commentId": row.comment_id} for row in oracle.page(rows, selection, Slice(20))]
    one = {"commentId": rows[7].comment_id, "text": rows[7].text}
    expected: list[tuple[str, dict[str, str], Any]] = [
        (_PAGE, {"product": FIXED}, {"product": {"comments": {"nodes": page}}}),
        (_COMMENT, {"id": rows[7].comment_id}, {"comment": one}),
        (_STATISTICS, {"product": FIXED}, {"product": {"statistics": {"total": len(rows)}}}),
    ]
    for query, variables, answer in itertools.cycle(expected):
        if time.monotonic() >= until:
            return
        data = await api.ask(query, **variables)
        api.outcomes.wrong += data is not None and data != answer


_ADD = """
mutation ($input: AddCommentInput!) {
  addComment(input: $input) { comment { commentId text } userErrors { code } }
}"""
_UPDATE = """
mutation ($input: UpdateCommentInput!) {
  updateComment(input: $input) { comment { text } userErrors { code } }
}"""
_DELETE = """
mutation ($input: DeleteCommentInput!) {
  deleteComment(input: $input) { deletedId userErrors { code } }
}"""
_ALL = """
query ($product: ID!, $after: String) {
  product(productId: $product) {
    comments(first: 100, after: $after) {
      nodes { commentId title text } pageInfo { hasNextPage endCursor }
    }
  }
}"""


@dataclass
class Entry:
    """A comment with an idempotency key, and the texts that it may have. None means no comment.

    After an acknowledged write, one text is possible. A write with an unknown outcome adds another.
    """

    product: str
    key: str
    comment_id: str | None = None
    may_be: set[str | None] = field(default_factory=lambda: {None})

    async def add(self, api: Api) -> None:
        """Add the comment. A repeated add returns the comment that the first one added."""
        comment = {"productId": self.product, "rating": 5, "language": "en", "text": "added"}
        fields = {**comment, "title": self.key, "idempotencyKey": self.key}
        self.may_be.add("added")
        data = await api.ask(_ADD, input=fields)
        if data is not None:
            self.comment_id = data["addComment"]["comment"]["commentId"]
            self.may_be = {data["addComment"]["comment"]["text"]}

    async def update(self, api: Api, text: str) -> None:
        """Change the text of an acknowledged comment."""
        self.may_be.add(text)
        if await api.ask(_UPDATE, input={"id": self._node, "text": text}):
            self.may_be = {text}

    async def delete(self, api: Api) -> None:
        """Delete an acknowledged comment."""
        self.may_be.add(None)
        if await api.ask(_DELETE, input={"id": self._node}):
            self.may_be = {None}

    @property
    def _node(self) -> str:
        assert self.comment_id is not None
        return to_base64("Comment", self.comment_id)


async def write(api: Api, ledger: list[Entry], product: str, name: str, until: float) -> None:
    """Add comments one after another. Edit two of three, and delete one of them."""
    for number in itertools.count():
        if time.monotonic() >= until:
            return
        entry = Entry(product, f"{product} {name} {number}")
        ledger.append(entry)
        await entry.add(api)
        if entry.comment_id is not None and number % 3:
            await entry.update(api, "changed")
        if entry.comment_id is not None and number % 3 == 2:
            await entry.delete(api)


async def until_answered(api: Api) -> float:
    """Return the seconds until a request succeeds. Raise RuntimeError after some time."""
    began = time.monotonic()
    for _ in range(600):
        if await api.ask(_STATISTICS, product=FIXED) is not None:
            return time.monotonic() - began
        await asyncio.sleep(0.05)
    raise RuntimeError(f"the server does not recover: {api.outcomes.codes}")


@dataclass
class Count:
    """The number of lost writes, and of keys with more than one comment."""

    lost: int = 0
    doubled: int = 0


async def settle(api: Api, ledger: list[Entry], product: str) -> Count:
    """Repeat the adds that were not acknowledged. Compare the ledger with all stored comments."""
    for entry in ledger:
        while entry.comment_id is None:
            await entry.add(api)
    stored: dict[str, list[str]] = {}
    async for node in _all_comments(api, product):
        stored.setdefault(node["title"], []).append(node["text"])
    texts = {entry.key: stored.get(entry.key, []) for entry in ledger}
    return Count(
        lost=sum((*texts[entry.key], None)[0] not in entry.may_be for entry in ledger),
        doubled=sum(len(found) > 1 for found in texts.values()),
    )


async def _all_comments(api: Api, product: str) -> AsyncIterator[dict[str, str]]:
    after = None
    while True:
        data = await api.ask(_ALL, product=product, after=after)
        assert data is not None, f"a page failed without a fault: {api.outcomes.codes}"
        comments = data["product"]["comments"]
        for node in comments["nodes"]:
            yield node
        if not comments["pageInfo"]["hasNextPage"]:
            return
        after = comments["pageInfo"]["endCursor"]
