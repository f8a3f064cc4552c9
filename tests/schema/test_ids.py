"""Ids in arguments and inputs: global ids, and the shop's own ids."""

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputType,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_enum_type,
    is_input_object_type,
    is_list_type,
    is_required_argument,
    is_required_input_field,
)
from strawberry.relay.utils import to_base64

from dal.model.own_ids import TYPES
from dal.repositories.comments import Selection
from dal.stores import Stores
from resolvers.context import Context, Viewer
from resolvers.node_ids import LOOKUPS
from schema.build import build_schema
from schema.execution.executable_schema import RefusedSubscriptionError
from schema.roots import NODES
from tests.organizations import ACME, MEMBER, fill
from tests.schema.conftest import ANN, SERVICES, Run

BUILT = build_schema()
ALL_ROLES = Viewer("sam", frozenset({"staff", "merchant", "moderator"}))
PRODUCT = to_base64("Product", "42")
NAMES = {"username", "organizationName"}
"""The arguments and input fields with a name that is the id of an object."""

VALUES = {
    "Boolean": True,
    "CurrencyCode": "EUR",
    "DateTime": "2024-12-01T00:00:00Z",
    "Decimal": "1.00",
    "ID": "other",
    "Int": 1,
    "String": "en",
}
"""A valid value of each scalar."""


def places(name: str, given: GraphQLInputType) -> Iterator[tuple[str, ...]]:
    """Yield the path of each id, and of each name that is an id, in an argument or input field."""
    named = get_named_type(given)
    if is_input_object_type(named):
        for below, field in named.fields.items():
            yield from ((name, *path) for path in places(below, field.type))
    elif named.name == "ID" or name in NAMES:
        yield (name,)


def value_of(declared: GraphQLInputType, path: tuple[str, ...], text: str) -> Any:
    """Return a value for an argument or input field, with ``text`` at ``path`` in it."""
    given: Any = get_nullable_type(declared)
    if is_list_type(given):
        return [value_of(given.of_type, path, text)]
    if is_input_object_type(given):
        return values_of(given.fields, path, text)
    if is_enum_type(given):
        return next(iter(given.values))
    return text if path == () else VALUES[given.name]


def values_of(declared: dict[str, Any], path: tuple[str, ...], text: str) -> dict[str, Any]:
    """Return values for all required arguments or fields and for the one at ``path``."""
    return {
        name: value_of(one.type, path[1:] if name in path[:1] else ("",), text)
        for name, one in declared.items()
        if name in path[:1] or required(one)
    }


def required(one: GraphQLArgument | GraphQLInputField) -> bool:
    if isinstance(one, GraphQLArgument):
        return is_required_argument(one)
    return is_required_input_field(one)


async def test_one_variable_serves_every_field_with_an_id(run: Run) -> None:
    answer = await run(
        """query ($id: ID!) {
          product(productId: $id) { productId }
          products(productIds: [$id]) { productId }
          comment(commentId: $id) { commentId }
          order(orderId: $id) { orderId }
          ticket(ticketId: $id) { ticketId }
        }""",
        ANN,
        id="42",
    )
    assert answer["errors"] == []
    assert answer["data"] == {
        "product": {"productId": "42"},
        "products": [{"productId": "42"}],
        "comment": None,
        "order": None,
        "ticket": None,
    }


async def test_an_id_may_be_a_whole_number(run: Run) -> None:
    answer = await run("{ product(productId: 42) { productId } }")
    assert answer["data"] == {"product": {"productId": "42"}}


async def test_the_global_id_of_a_comment_is_no_comment_id(run: Run) -> None:
    """The answer was null without an error, as if the comment did not exist."""
    answer = await run(
        "query ($id: ID!) { comment(commentId: $id) { text } }", id=to_base64("Comment", "d1")
    )
    (error,) = answer["errors"]
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": "commentId"}


async def test_a_comment_on_the_global_id_of_a_product_is_not_stored(
    run: Run, stores: Stores
) -> None:
    """The comment was stored on a product that does not exist."""
    answer = await run(
        """mutation ($id: ID!) {
          addComment(input: {productId: $id, rating: 5, language: "en", text: "Works"}) {
            comment { id }
            userErrors { field code }
          }
        }""",
        ANN,
        id=to_base64("Product", "42"),
    )
    payload = answer["data"]["addComment"]
    assert payload["comment"] is None
    assert payload["userErrors"] == [{"field": ["input", "productId"], "code": "BAD_ARGUMENT"}]
    for product in ("42", to_base64("Product", "42")):
        assert await stores.comments.newest(Selection(product)) is None


@pytest.mark.parametrize(
    "own",
    [
        "UHJvZHVjdA==",  # no own id: "Product"
        "UHJvZHVjdDo=",  # an empty own id: "Product:"
        "UHJvZHVjdDo0Mg",  # no padding
        "UHJvZHVjdDogNDI=",  # an own id that begins with a blank
        "cG9zdDo0Mg==",  # "post:42"
        "UHJvZHVjdHM6NDI=",  # "Products:42"
        "Z2lkOi8vc2hvcGlmeS9Qcm9kdWN0LzQy",  # "gid://shopify/Product/42"
        "T3JnYW5pemF0aW9uVXNlcjphY21l",  # a user of an organisation without the user: acme
    ],
)
async def test_the_shops_own_id_may_be_base64_of_something_else(run: Run, own: str) -> None:
    answer = await run("query ($id: ID!) { product(productId: $id) { productId } }", id=own)
    assert answer == {"data": {"product": {"productId": own}}, "errors": []}


PLACES = [
    (root, field, *path)
    for root in (
        BUILT._schema.query_type,
        BUILT._schema.mutation_type,
        BUILT._schema.subscription_type,
    )
    if root is not None
    for field, declared in root.fields.items()
    for argument, given in declared.args.items()
    for path in places(argument, given.type)
]
PLACES.append((BUILT._schema.mutation_type, "createOrganization", "input", "name"))
"""Each argument and input field with an id: the root type, the field, and the path in it."""


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
async def test_every_id_is_either_global_or_the_shops_own(
    place: tuple[GraphQLObjectType, str, *tuple[str, ...]], stores: Stores
) -> None:
    root, field, *path = place
    kind = {"Query": "query", "Mutation": "mutation", "Subscription": "subscription"}[root.name]
    text = "42" if path[-1] in {"id", "ids"} else PRODUCT
    args = root.fields[field].args
    variables = values_of(args, tuple(path), text)
    declared = ", ".join(f"${name}: {args[name].type}" for name in variables)
    given = ", ".join(f"{name}: ${name}" for name in variables)
    of = get_named_type(root.fields[field].type)
    selected = "userErrors { field code }" if "userErrors" in of.fields else "__typename"
    document = f"{kind} ({declared}) {{ {field}({given}) {{ {selected} }} }}"
    context = Context(ALL_ROLES, stores, services=SERVICES)
    refused: list[Any] = []
    try:
        if kind == "subscription":
            await BUILT.listen(document, variables, None, context=lambda: context, seconds=1)
        else:
            answer = await BUILT.execute(document, variables, context_value=context)
            refused = [one.extensions for one in answer.errors or []]
            if "userErrors" in of.fields and answer.data:
                refused += answer.data[field]["userErrors"]
    except RefusedSubscriptionError as error:
        refused = [one.extensions for one in error.errors]
    found = [
        [part for part in one.get("field") or one["argument"].split(".") if not part.isdecimal()]
        for one in refused
        if one["code"] == "BAD_ARGUMENT"
    ]
    assert found.count(path) == 1


async def test_a_user_of_an_organization_is_looked_up_by_name(run: Run, stores: Stores) -> None:
    await fill(stores)
    answer = await run(
        """query ($organization: String!, $user: String!) {
          organization(organizationName: $organization) { user(username: $user) { username } }
        }""",
        ALL_ROLES,
        organization=ACME.name,
        user=to_base64("User", MEMBER),
    )
    (error,) = answer["errors"]
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": "username"}


def test_the_ids_of_every_node_type_are_refused_as_own_ids() -> None:
    assert {*NODES.loaders} | {*LOOKUPS} <= {*TYPES}
    fields = BUILT._schema.query_type.fields  # type: ignore[union-attr]
    assert all(by in fields[look_up].args for look_up, by in LOOKUPS.values())
