"""Every field of the schema is requested by GET in trusted documents, by every kind of client.

A response has no public header if clients get different responses, if the viewer is signed in, or
if a selected field is not declared public.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from graphql import (
    GraphQLArgument,
    GraphQLObjectType,
    GraphQLOutputType,
    get_named_type,
    is_composite_type,
    is_required_argument,
)
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.model import Profile
from dal.stores import Stores
from schema.build import build_schema
from tests.conftest import Clients, fresh_table
from tests.features.trusted_documents.serving import serving
from tests.organizations import ACME, ADMIN, TICKETS, fill
from tests.putting import put_orders, put_profiles
from tests.server.serving import ADD, bearer, jwt_of
from tests.strategies import order

DECLARED = build_schema().facts.public
SCHEMA = build_schema()._schema

OWNER = ADMIN
"""The user who owns every private object in these tests."""


def quoted(text: str) -> str:
    return f'"{text}"'


ARGUMENTS = {
    "id": quoted(to_base64("Product", "1")),
    "ids": quoted(to_base64("Product", "1")),
    "productId": quoted("1"),
    "productIds": quoted("1"),
    "commentId": quoted("COMMENT"),
    "username": quoted(OWNER),
    "orderId": quoted("secret"),
    "organizationName": quoted(ACME.name),
    "ticketId": quoted(TICKETS[0].ticket_id),
    "interval": "MONTH",
    "language": quoted("en"),
    "title": quoted("secret"),
}
"""A value for each required argument, by the argument's name."""

Path = tuple[str, str, list[str]]
"""The text before a type's selections, the text after them, and the names of the path's fields."""


def given(arguments: dict[str, GraphQLArgument]) -> str:
    required = [name for name, one in arguments.items() if is_required_argument(one)]
    told = ", ".join(f"{name}: {ARGUMENTS[name]}" for name in required)
    return f"({told})" if told else ""


def fields_of(owner: Any) -> Iterator[tuple[str, str, GraphQLOutputType]]:
    for name, field in owner.fields.items():
        yield name, name + given(field.args), get_named_type(field.type)


def paths(within: set[str] | None = None) -> dict[str, Path]:
    """Return the shortest path to each type that queries return. ``within`` limits its fields."""
    found: dict[str, Path] = {"Query": ("{ ", " }", [])}
    waiting = ["Query"]
    for owner in waiting:
        before, after, led = found[owner]
        for name, asked, kind in fields_of(SCHEMA.type_map[owner]):
            allowed = within is None or f"{owner}.{name}" in within
            if is_composite_type(kind) and allowed and kind.name not in found:
                fields = [*led, f"{owner}.{name}"]
                found[kind.name] = f"{before}{asked} {{ ", f" }}{after}", fields
                waiting.append(kind.name)
    return found


def operations() -> dict[str, tuple[str, list[str]]]:
    """Return an operation for each field and each path to its type, with the names of its
    fields.
    """
    asked = {}
    for by, found in (("any", paths()), ("public", paths(DECLARED))):
        for owner, (before, after, led) in found.items():
            for name, field, kind in fields_of(SCHEMA.type_map[owner]):
                below = " { __typename }" if is_composite_type(kind) else ""
                text = f"{before}{field}{below}{after}"
                asked[f"{by} {owner}.{name}"] = text, [*led, f"{owner}.{name}"]
    return asked


OPERATIONS = operations()


@pytest.fixture(scope="module")
async def table(clients: Clients, dynoxide_url: str) -> Table:
    """One table for all tests."""
    return await fresh_table(clients, dynoxide_url)


@pytest.fixture(scope="module")
async def answers(table: Table) -> dict[str, dict[str, httpx.Response]]:
    """Return each client's response to each operation. The table has objects of every kind."""
    stores = Stores(table)
    await fill(stores)
    await put_profiles(stores.table, {OWNER: Profile(full_name="Ann", email="a@b.org")})
    await put_orders(stores.table, [order("secret", username=OWNER)])
    comment = {"productId": "1", "rating": 5, "language": "en", "text": "Good."}
    async with serving(table) as client:
        body = {"query": ADD, "variables": {"input": comment}}
        added = (await client.post("/graphql", json=body, headers=bearer(OWNER))).json()
    comment_id = added["data"]["addComment"]["comment"]["commentId"]
    texts = {name: text.replace("COMMENT", comment_id) for name, (text, _) in OPERATIONS.items()}
    viewers = {
        "nobody": {},
        "owner": bearer(OWNER),
        "staff": bearer("sam", "staff"),
        "cookie": {"Cookie": f"marginalia_jwt={jwt_of(OWNER)}"},
    }
    async with serving(table, texts, explain=True) as client:
        return {
            name: {
                who: await client.get("/graphql", params={"documentId": name}, headers=headers)
                for who, headers in viewers.items()
            }
            for name in texts
        }


def is_public(answer: httpx.Response) -> bool:
    cached = answer.headers["cache-control"]
    assert cached == "private, no-store" or cached.startswith("public, s-maxage=")
    assert ("etag" in answer.headers) == cached.startswith("public")
    return cached.startswith("public")


def test_the_tests_operations_select_every_field_of_queries() -> None:
    asked = {name.split()[1] for name in OPERATIONS}
    reached = set(paths())
    everything = {
        f"{owner.name}.{name}"
        for owner in SCHEMA.type_map.values()
        if isinstance(owner, GraphQLObjectType) and not owner.name.startswith("__")
        for name in owner.fields
    }
    unreached = {name for name in everything if name.split(".")[0] not in reached}
    assert everything - unreached <= asked
    # Queries do not return these types, only mutations and subscriptions.
    others = (
        "Payload.",
        "PhotoUpload.",
        "PhotoUploadField.",
        "Mutation.",
        "Subscription.",
        "CommentEvent.",
        "InvitationLink.",
    )
    written = {name for name in unreached if any(other in name for other in others)}
    assert unreached - written == {
        f"UserError.{name}" for name in ("field", "message", "code", "existingId")
    }


def test_each_declared_public_field_exists() -> None:
    """A renamed field stays private until its new name is declared."""
    fields = {f"{one}.{name}" for one in paths() for name, *_ in fields_of(SCHEMA.type_map[one])}
    assert DECLARED - fields == set()


def test_private_fields_are_never_public(answers: dict[str, dict[str, httpx.Response]]) -> None:
    for name, given in answers.items():
        differs = len({given[who].content for who in ("nobody", "owner", "staff")}) > 1
        declared = set(OPERATIONS[name][1]) <= DECLARED
        assert not (differs and is_public(given["nobody"])), name
        assert is_public(given["nobody"]) == declared, name
        for who in ("owner", "staff", "cookie"):
            assert not is_public(given[who]), (name, who)
        if declared:
            assert "errors" not in given["nobody"].json(), name
        for answer in given.values():
            assert "Authorization" in answer.headers["vary"] or not is_public(answer), name


def test_product_details_are_public(answers: dict[str, dict[str, httpx.Response]]) -> None:
    """Most lists select them, and could otherwise not be stored by shared caches."""
    for field in ("title", "pictureUrl", "url", "gtin", "brand", "mpn"):
        assert is_public(answers[f"public Product.{field}"]["nobody"])


def test_private_fields_are_shown_to_the_owner(
    answers: dict[str, dict[str, httpx.Response]],
) -> None:
    """Otherwise all clients would get the same responses, and the tests would prove nothing."""
    for field in ("UserProfile.email", "Order.total", "Ticket.subject", "Organization.name"):
        given = answers[f"any {field}"]
        assert "errors" not in given["owner"].json(), field
        assert given["owner"].content != given["nobody"].content, field


PRIVATE_IDS = {
    "Order": "secret",
    "User": OWNER,
    "Organization": ACME.name,
    "Ticket": TICKETS[0].ticket_id,
}


@pytest.mark.usefixtures("answers")
async def test_a_look_up_of_private_objects_is_never_public(table: Table) -> None:
    texts = {}
    for lookup in ('node(id: "{}")', 'nodes(ids: ["{}"])', 'a: node(id: "{}")'):
        both = lookup.format(to_base64("Product", "1")).replace("a:", "b:")
        texts[f"public {lookup}"] = f"{{ {both} {{ ... on Product {{ productId }} }} }}"
        for kind, name in PRIVATE_IDS.items():
            asked = lookup.format(to_base64(kind, name))
            texts[f"{lookup} id of {kind}"] = f"{{ {asked} {{ id }} }}"
            texts[f"{lookup} typename of {kind}"] = f"{{ {asked} {{ __typename }} }}"
            texts[f"{lookup} fragment on {kind}"] = (
                f"{{ {asked} {{ ...F }} }} fragment F on {kind} {{ id }}"
            )
    async with serving(table, texts) as client:
        for name in texts:
            answer = await client.get("/graphql", params={"documentId": name})
            assert is_public(answer) == name.startswith("public"), name
            assert ("errors" in answer.json()) != name.startswith("public"), name
