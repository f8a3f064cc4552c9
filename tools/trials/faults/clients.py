"""Clients that read or write, and the outcomes of their requests."""

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, NamedTuple

import httpx
from strawberry.relay.utils import to_base64

from dal.model import RATINGS, Comment
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from tests import oracle

OK = "ok"
FIXED = "fixed"
"""A product whose comments do not change, so that the oracle knows every page."""

ASPECTS = ("fit", "quality", "value")
LANGUAGES = ("en", "de", "ja")


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


_FIELDS = "commentId title text rating language aspects { name rating }"
_ADD = f"""
mutation ($input: AddCommentInput!) {{
  addComment(input: $input) {{ comment {{ {_FIELDS} }} userErrors {{ code }} }}
}}"""
_UPDATE = """
mutation ($input: UpdateCommentInput!) {
  updateComment(input: $input) { comment { text } userErrors { code } }
}"""
_DELETE = """
mutation ($input: DeleteCommentInput!) {
  deleteComment(input: $input) { deletedId userErrors { code } }
}"""
_ALL = f"""
query ($product: ID!, $after: String) {{
  product(productId: $product) {{
    comments(first: 100, after: $after) {{
      nodes {{ {_FIELDS} }} pageInfo {{ hasNextPage endCursor }}
    }}
  }}
}}"""
_COUNTS = """
query ($product: ID!, $language: [String!]) {
  product(productId: $product) {
    statistics(language: $language) {
      histogram { rating count } aspects { name count average }
    }
  }
}"""


class State(NamedTuple):
    """The fields of a comment that clients edit."""

    text: str
    rating: int
    language: str
    aspects: tuple[tuple[str, int], ...]

    @property
    def input(self) -> dict[str, Any]:
        """The fields as input of a mutation."""
        rated = [{"name": name, "rating": rating} for name, rating in self.aspects]
        return {**self._asdict(), "aspects": rated}


def state_of(node: Mapping[str, Any]) -> State:
    """Return the state of a comment in a response."""
    aspects = tuple((one["name"], one["rating"]) for one in node["aspects"])
    return State(node["text"], node["rating"], node["language"], aspects)


def state(chance: random.Random) -> State:
    """Return a random state. Ratings of aspects are in the shop's order, as in responses."""
    rated = tuple((one, chance.choice(RATINGS)) for one in ASPECTS if chance.random() < 0.7)
    text = f"text {chance.random()}"
    return State(text, chance.choice(RATINGS), chance.choice(LANGUAGES), rated)


@dataclass
class Entry:
    """A comment with an idempotency key, and the states that it may have. None means no comment.

    After an acknowledged write, one state is possible, or after two concurrent edits, two. A write
    with an unknown outcome adds another.
    """

    product: str
    key: str
    added: State
    comment_id: str | None = None
    may_be: set[State | None] = field(default_factory=lambda: {None})

    async def add(self, api: Api) -> None:
        """Add the comment. A repeated add returns the comment that the first one added."""
        names = {"productId": self.product, "title": self.key, "idempotencyKey": self.key}
        self.may_be.add(self.added)
        data = await api.ask(_ADD, input={**self.added.input, **names})
        if data is not None:
            self.comment_id = data["addComment"]["comment"]["commentId"]
            self.may_be = {state_of(data["addComment"]["comment"])}

    async def update(self, api: Api, *states: State) -> None:
        """Edit an acknowledged comment, by concurrent requests if there are several states."""
        self.may_be |= {*states}
        edits = (api.ask(_UPDATE, input={"id": self._node, **one.input}) for one in states)
        if any(await asyncio.gather(*edits)):
            self.may_be = {*states}

    async def delete(self, api: Api) -> None:
        """Delete an acknowledged comment."""
        self.may_be.add(None)
        if await api.ask(_DELETE, input={"id": self._node}):
            self.may_be = {None}

    @property
    def _node(self) -> str:
        assert self.comment_id is not None
        return to_base64("Comment", self.comment_id)


@dataclass
class Writer:
    """A client that writes comments on some products."""

    api: Api
    ledger: list[Entry]
    products: Sequence[str]
    name: str
    chance: random.Random

    async def write(self, until: Callable[[], bool], ready: asyncio.Event) -> None:
        """Add comments one after another. Edit two of three, and delete one of them.

        Each write waits until the server is ``ready``.
        """
        for number in itertools.count():
            await ready.wait()
            if until():
                return
            product = self.chance.choice(self.products)
            entry = Entry(product, f"{product} {self.name} {number}", state(self.chance))
            self.ledger.append(entry)
            await entry.add(self.api)
            if entry.comment_id is not None and number % 3:
                await ready.wait()
                edits = [state(self.chance) for _ in range(self.chance.choice((1, 1, 2)))]
                await entry.update(self.api, *edits)
            if entry.comment_id is not None and number % 3 == 2:
                await ready.wait()
                await entry.delete(self.api)


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


async def settle(api: Api, ledger: list[Entry], products: Sequence[str]) -> Count:
    """Repeat the adds that were not acknowledged. Compare the ledger with all stored comments."""
    for entry in ledger:
        while entry.comment_id is None:
            await entry.add(api)
    stored: dict[str, list[State]] = {}
    for product in products:
        async for node in _all_comments(api, product):
            stored.setdefault(node["title"], []).append(state_of(node))
    states = {entry.key: stored.get(entry.key, []) for entry in ledger}
    return Count(
        lost=sum((*states[entry.key], None)[0] not in entry.may_be for entry in ledger),
        doubled=sum(len(found) > 1 for found in states.values()),
    )


async def recount(api: Api, product: str) -> list[str]:
    """Return the wrong statistics of a product: of all languages, and of each of LANGUAGES.

    The right statistics are those of the product's comments, counted one by one.
    """
    comments = [state_of(node) async for node in _all_comments(api, product)]
    wrong: list[str] = []
    for language in (None, *LANGUAGES):
        data = await api.ask(_COUNTS, product=product, language=language)
        assert data is not None, f"statistics failed without a fault: {api.outcomes.codes}"
        found = data["product"]["statistics"]
        chosen = [one for one in comments if language in (None, one.language)]
        shown: dict[Any, Any] = {one["rating"]: one["count"] for one in found["histogram"]}
        right: dict[Any, Any] = {one: sum(c.rating == one for c in chosen) for one in RATINGS}
        for one in found["aspects"]:
            shown[one["name"]] = one["count"], one["average"]
        for name in ASPECTS:
            rated = [rating for one in chosen for at, rating in one.aspects if at == name]
            right[name] = len(rated), fmean(rated) if rated else None
        wrong += [
            f"{product} in {language}: {name} is {shown.get(name)}, not {value}"
            for name, value in right.items()
            if shown.get(name) != value
        ]
    return wrong


async def _all_comments(api: Api, product: str) -> AsyncIterator[dict[str, Any]]:
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
