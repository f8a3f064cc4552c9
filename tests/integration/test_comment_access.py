"""The users who see a comment in each state, by every path: fields, pages and exports.

The tests find the paths in the schema and the routes. A path without a row in
``tests/fixtures/comment_access.toml`` fails.
"""

import json
import re
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from itertools import count
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from graphql import (
    GraphQLNamedType,
    GraphQLObjectType,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
)
from starlette.types import ASGIApp
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.errors import NotFoundError
from dal.live.log import InProcessBroker, Log
from dal.maintenance.export import export_pages
from dal.model import ProductDetails
from dal.model.reports import ReportReason
from dal.model.submissions import ReviewCause
from dal.query.pagination import Edge
from dal.stores import Stores
from dal.table.key_parts import format_instant
from dal.writes.comments import version
from pages.routes import _ROUTES
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests.conftest import Clients, fresh_table
from tests.fakes import anybody
from tests.files import FILES
from tests.moderating import held_for
from tests.pages.conftest import client_of, jwt_of
from tests.schema.conftest import ANN, BOB, MODERATOR, STAFF
from tests.server.applications import app_of
from tests.strategies import comment

WHO: dict[str, Viewer | None] = {
    "nobody": None,
    "author": ANN,
    "customer": BOB,
    "merchant": Viewer("shop", frozenset({"merchant"})),
    "moderator": MODERATOR,
    "staff": STAFF,
}
STATES = ("published", "pending", "rejected", "deleted")
SEEN_AS = {"published", "pending", "rejected"}
LEAVES = ("Comment", "Submission")
PARENTS = {
    "Query": "$FIELD",
    "Product": 'product(productId: "$PRODUCT") { $FIELD }',
    "ProductGroup": 'product(productId: "$PRODUCT") { group { $FIELD } }',
    "Author": 'author(username: "ann") { $FIELD }',
    "User": 'user(username: "ann") { $FIELD }',
    "Mutation": "$FIELD",
    "Subscription": "$FIELD",
}
"""Types with fields that return comments, and the start of an operation that selects each type."""
NO_TEXT = {
    *("cursor", "edgeCursor", "eventCursor", "deletedId"),
    *("kind", "totalCount", "waitingSince"),
}
"""Scalar fields of lists, events and payloads that never contain a comment's text."""

SCHEMA = build_schema(federation=True, explain=True)
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
    text = (Path(__file__).parents[1] / "fixtures/comment_access.toml").read_text()
    groups = tomllib.loads(text)[kind]
    return {
        path: Row(path, given, {name: who for name, who in group.items() if name != "paths"})
        for group in groups
        for path, given in group["paths"].items()
    }


FIELDS, PAGES = rows("fields"), rows("pages")


@dataclass(frozen=True)
class SchemaPath:
    """A field that returns comments, and the selection down to the comment's text."""

    name: str
    parent: str
    selection: str
    """A selection with ``$ARGUMENTS`` in place of the first field's arguments."""


TYPES: dict[str, GraphQLNamedType] = SCHEMA._schema.type_map
OBJECTS = [one for one in TYPES.values() if isinstance(one, GraphQLObjectType)]


def targets(one: GraphQLObjectType) -> Iterator[tuple[str, str, bool]]:
    """Yield the name of each field, each object type that it returns, and whether it is
    abstract.
    """
    for name, each in one.fields.items():
        target = get_named_type(each.type)
        if is_abstract_type(target):
            for possible in SCHEMA._schema.get_possible_types(target):
                yield name, possible.name, True
        else:
            yield name, target.name, False


def parts_of_comments() -> set[str]:
    """Return the types between the fields of ``PARENTS`` and comments: lists, events and
    payloads.
    """
    parts = set(LEAVES)
    others = [
        one for one in OBJECTS if one.name not in PARENTS and TYPES["Node"] not in one.interfaces
    ]
    while (
        more := {one.name for one in others if parts & {target for _, target, _ in targets(one)}}
        - parts
    ):
        parts |= more
    return parts


PARTS = parts_of_comments()
SCALARS = {
    name
    for part in PARTS - {*LEAVES}
    for name, target, _ in targets(TYPES[part])  # type: ignore[arg-type]
    if is_leaf_type(TYPES[target])
}


def ends(name: str, passed: frozenset[str]) -> Iterator[list[str]]:
    """Yield the fields of each path from a type of ``PARTS`` to a comment, a submission
    or a scalar.
    """
    part = TYPES[name]
    assert isinstance(part, GraphQLObjectType)
    if name in LEAVES:
        yield []
        return
    for field_name, target, _ in targets(part):
        if is_leaf_type(TYPES[target]) and field_name not in NO_TEXT:
            yield [field_name]
        if target in PARTS - passed:
            for rest in ends(target, passed | {target}):
                yield [field_name, *rest]


def schema_paths() -> Iterator[SchemaPath]:
    """Yield each path of the schema that ends at a comment, a submission or a scalar.

    A path begins at a type outside ``PARTS``.
    """
    for parent in OBJECTS:
        for name, target, abstract in targets(parent):
            if parent.name in PARTS or target not in PARTS:
                continue
            for rest in ends(target, frozenset({target})):
                shown = "" if rest and rest[-1] in SCALARS else "{ text }"
                for inner in reversed(rest):
                    shown = f"{{ {inner} {shown} }}"
                if abstract:
                    shown = f"{{ ... on {target} {shown} }}"
                label = f"{parent.name}.{name}" + (f"({target})" if abstract else "")
                selection = f"{name}$ARGUMENTS {shown}"
                yield SchemaPath(".".join([label, *rest]), parent.name, selection)


PATHS = {path.name: path for path in schema_paths()}


@dataclass
class World:
    """A table with comments of the user ann, for each product one in each state."""

    table: Table
    broker: InProcessBroker = field(default_factory=InProcessBroker)
    numbers: Iterator[int] = field(default_factory=count)
    added: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores(self.table, self.broker)

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
            await self.stores.moderation.reject(one.comment_id, version(one), "mo", "No.")
        if state == "deleted":
            await self.stores.comments.delete(one.comment_id, anybody)
        if state == "published":
            await self.stores.reports.report(one.comment_id, "reader", ReportReason.SPAM, "", 5)
            await self.stores.votes.mark(one.comment_id, "reader")
            await self.stores.folds.correct([one.comment_id])
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

    def context(self, viewer: Viewer | None) -> Context:
        return Context(viewer, self.stores, services={Log: self.broker.log})

    async def run(self, operation: str, viewer: Viewer | None) -> str:
        """Return the response with its errors, as text."""
        result = await SCHEMA.execute(operation, context_value=self.context(viewer))
        return json.dumps([result.data, [error.formatted for error in result.errors or []]])


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


def operation(path: SchemaPath, given: dict[str, str], who: str) -> str:
    kind = {"Mutation": "mutation", "Subscription": "subscription"}.get(path.parent, "query")
    shown = Template(path.selection).safe_substitute(ARGUMENTS=FIELDS[path.name].given)
    inside = Template(PARENTS[path.parent]).safe_substitute(FIELD=shown)
    text = given["MARK"] if who == "author" else "own text"
    whole = Template(f"{kind} {{ {inside} }}").safe_substitute(given)
    return Template(whole).substitute(TEXT=text)


def test_the_table_of_access_has_a_row_for_every_path_of_the_schema() -> None:
    assert PATHS.keys() == FIELDS.keys()
    assert {path.parent for path in PATHS.values()} == PARENTS.keys()


READS = [name for name in PATHS if not name.startswith(("Mutation", "Subscription"))]


@pytest.mark.parametrize("name", READS)
async def test_a_read_shows_a_comment_only_to_permitted_users(world: World, name: str) -> None:
    rating = 1 if name.endswith(("Negative", "Critical")) else 5
    there = await world.all_states(f"read {next(world.numbers)}", rating)
    found: Cells = {}
    for who, viewer in WHO.items():
        for state, given in there.items():
            answer = await world.run(operation(PATHS[name], given, who), viewer)
            found[who, state] = given["MARK"] in answer
    assert found == FIELDS[name].cells()


@pytest.mark.parametrize("name", [name for name in PATHS if name.startswith("Mutation")])
async def test_a_mutation_shows_a_comment_only_to_permitted_users(world: World, name: str) -> None:
    found: Cells = {}
    for who, viewer in WHO.items():
        for state in STATES:
            given = await world.put(state, "mutations")
            answer = await world.run(operation(PATHS[name], given, who), viewer)
            found[who, state] = given["MARK"] in answer
    assert found == FIELDS[name].cells()


@pytest.mark.parametrize("name", [name for name in PATHS if name.startswith("Subscription")])
@pytest.mark.parametrize("who", WHO)
async def test_events_show_a_comment_only_to_permitted_users(
    world: World, name: str, who: str
) -> None:
    product = f"events {next(world.numbers)}"
    given = {"PRODUCT": product, "MARK": ""}
    context = partial(world.context, WHO[who])
    document = operation(PATHS[name], given, who)
    answers = await SCHEMA.listen(document, {}, None, context=context, seconds=60.0)
    async with aclosing(answers) as events:
        there = await world.all_states(product)
        await world.stores.comments.add(comment(product, product_id=product, text="the end"))
        told = ""
        while "the end" not in told:
            told += json.dumps((await anext(events)).result.data)
    cells = FIELDS[name].cells()
    assert {state: there[state]["MARK"] in told for state in STATES} == {
        state: cells[who, state] for state in STATES
    }


LINKED = ", JSON-LD"


@pytest.fixture(scope="module")
async def app(shared: World) -> ASGIApp:
    return app_of(shared.table, explain=True)


def test_the_table_of_access_has_a_row_for_every_route_of_the_pages() -> None:
    routes = {f"{method} {path}" for method, path, _ in _ROUTES}
    assert {name.removesuffix(LINKED).partition("?")[0] for name in PAGES} == routes


NO_OTHER_LIST = {
    "after",
    "before",
    "lang",
    "language",
    "last",
    "next",
    "order",
    "place",
    "product",
    "rating",
    "variants",
}
"""Parameters of addresses that select rows of the same list, or no comments.

``variants`` has its own row, because its address contains the product.
"""


def lists_in(html: str) -> Iterator[str]:
    """Yield the addresses in a page that lead to other lists of comments."""
    for address in re.findall(r'(?:href|action)="(/[^"#]*)"', html):
        path, _, query = unescape(address).partition("?")
        chosen = [one for one in parse_qsl(query) if one[0] not in NO_OTHER_LIST]
        if chosen and not path.startswith(("/graphql", "/static/")):
            yield f"GET {path}?{urlencode(chosen)}"


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_shows_a_comment_only_to_permitted_users(
    world: World, app: ASGIApp, name: str
) -> None:
    there = await world.all_states(f"mug-{next(world.numbers)}")
    method = name.partition(" ")[0]
    found: Cells = {}
    for who, viewer in WHO.items():
        jwt = None if viewer is None else jwt_of(viewer.user_id, *viewer.roles)
        async with client_of(app, jwt) as client:
            for state, given in there.items():
                address = Template(PAGES[name].given).substitute(given)
                shown = (await client.request(method, address)).text
                assert {*lists_in(shown)} <= PAGES.keys()
                if name.endswith(LINKED):
                    shown = "".join(re.findall(r"ld\+json[^>]*>(.*?)</script>", shown, re.DOTALL))
                found[who, state] = given["MARK"] in shown
    assert found == PAGES[name].cells()


@pytest.mark.parametrize(
    ("all_states", "exported"),
    [(False, {"published"}), (True, {"published", "pending", "rejected"})],
)
async def test_an_export_has_only_comments_in_the_exported_states(
    world: World, all_states: bool, exported: set[str]
) -> None:
    there = await world.all_states(f"exported {next(world.numbers)}")
    pages = [
        page
        async for page in export_pages(world.table, 0, [FILES["comments"]], all_states=all_states)
    ]
    found: dict[str, Any] = {
        one.comment_id: one for page in pages for one in page.objects["comments"]
    }
    assert {state for state, given in there.items() if given["ID"] in found} == exported
