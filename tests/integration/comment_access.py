"""A table with comments in each state, and the users who see them by each path.

The paths of the core are in tests/fixtures/comment_access.toml. A feature adds paths by a file with
this name, and what readers do with a published comment by ``react`` in ``lists.py``.
"""

import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import pytest
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.errors import NotFoundError
from dal.model import ProductDetails
from dal.model.submissions import ReviewCause
from dal.query.pagination import Edge
from dal.stores import Stores
from dal.table.key_parts import format_instant
from dal.writes.changes import WriteRule
from dal.writes.comments import version
from resolvers.context import Context, Viewer
from tests.conftest import Clients, fresh_table
from tests.engines import ROOT
from tests.fakes import anybody
from tests.feature_lists import added, files, merged
from tests.moderating import held_for, reject
from tests.schema.conftest import ANN, BOB, MODERATOR, STAFF, Who, context_of
from tests.strategies import comment

FIXTURE = ROOT / "tests/fixtures/comment_access.toml"
_WHO: dict[str, Who] = {
    "nobody": None,
    "author": ANN,
    "customer": BOB,
    "merchant": Viewer("shop", frozenset({"merchant"})),
    "moderator": MODERATOR,
    "staff": STAFF,
}
WHO = merged(_WHO, "WHO")
STATES = ("published", "pending", "rejected", "deleted")
SEEN_AS = {"published", "pending", "rejected"}
Cells = dict[tuple[str, str], bool]


@dataclass(frozen=True)
class Row:
    """A path's arguments or address, and the users who see the comment's text in each state."""

    path: str
    given: str
    seen: dict[str, str]

    def cells(self) -> Cells:
        assert self.seen.keys() <= SEEN_AS
        named = {state: self.seen.get(state, "").split() for state in STATES}
        return {
            (who, state): "everyone" in named[state] or who in named[state]
            for who in WHO
            for state in STATES
        }


def rows(kind: str) -> dict[str, Row]:
    tables = [tomllib.loads(path.read_text("utf-8")) for path in (FIXTURE, *files(FIXTURE.name))]
    groups = [group for table in tables for group in table.get(kind, ())]
    return {
        path: Row(path, given, {name: who for name, who in group.items() if name != "paths"})
        for group in groups
        for path, given in group["paths"].items()
    }


@dataclass
class World:
    """A table with comments of the user ann, for each product one in each state."""

    table: Table
    rules: Sequence[WriteRule] = ()
    services: Mapping[type, object] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    added: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores(self.table, self.rules)

    async def put(self, state: str, product: str, rating: int = 5) -> dict[str, str]:
        """Store a comment. Return the values that templates of operations and addresses need."""
        number = next(self.numbers)
        key, mark = f"key {number}", f"secret text {number}."
        new = comment(product_id=product, username="ann", rating=rating, text=mark)
        cause = None if state == "published" else ReviewCause.REPORTS
        written = await self.stores.comments.add(new, key, hold=held_for(cause))
        one = written.node if isinstance(written, Edge) else written
        self.added.append(one.comment_id)
        if state == "rejected":
            await reject(self.stores, one.comment_id)
        if state == "deleted":
            await self.stores.comments.delete(one.comment_id, anybody)
        if state == "published":
            for react in added("react"):
                await react(self.stores, one.comment_id)
        assert one.comment_id == idempotency.comment_id("ann", key)
        kind = "Comment" if state == "published" else "Submission"
        fields = f'rating: {rating}, language: "en", title: "{one.title}", text: "$TEXT"'
        return {
            "MARK": mark,
            "PRODUCT": product,
            "ID": one.comment_id,
            "COMMENT": to_base64("Comment", one.comment_id),
            "SUBMISSION": to_base64("Submission", one.comment_id),
            "THERE": to_base64(kind, one.comment_id),
            "SEEN": format_instant(version(one)),
            "NEW": f'{{ productId: "{product}", idempotencyKey: "{key}", {fields} }}',
        }

    async def all_states(self, product: str, rating: int = 5) -> dict[str, dict[str, str]]:
        await self.stores.products.put_many({product: ProductDetails(group=product)})
        return {state: await self.put(state, product, rating) for state in STATES}

    def context(self, who: Who) -> Context:
        return context_of(who, self.stores, services=self.services)


@pytest.fixture(scope="module")
async def shared(clients: Clients, dynoxide_url: str) -> World:
    return World(await fresh_table(clients, dynoxide_url))


@pytest.fixture
async def world(shared: World) -> AsyncIterator[World]:
    """The module's only table, without the comments of other tests."""
    yield shared
    for comment_id in shared.added:
        with suppress(NotFoundError):
            await shared.stores.comments.delete(comment_id, anybody)
    shared.added.clear()
