"""Null in an input means "no value". In a new object it is the same as an absent field.

In an update, an absent field keeps its value, and null removes it, if the object may lack it.
"""

import re
from collections.abc import Iterator
from string import Template

import pytest
from graphql import (
    GraphQLInputObjectType,
    GraphQLNonNull,
    Undefined,
    get_named_type,
    is_input_object_type,
    is_object_type,
)
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.stores import Stores
from resolvers.authorization import ROLES
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests.feature_lists import merged
from tests.schema.conftest import ANN, SERVICES, STAFF, Run
from tests.schema.test_access import IDS, MUTATIONS, World

RIGHTS = frozenset(ROLES)
SCHEMA = build_schema()
TYPES = SCHEMA._schema.type_map
INPUTS = [kind for kind in TYPES.values() if is_input_object_type(kind)]
NESTED = {
    "OrganizationUserInput": (
        "createOrganization",
        'name: "new", subscriptionPlan: "Pro", users: [{ username: "new", $FIELD: null }]',
    ),
    "PhotoInput": (
        "addComment",
        (
            'productId: "1", rating: 5, language: "en", text: "Good",'
            ' photos: [{ url: "https://photos.example/1.jpg", $FIELD: null }]'
        ),
    ),
}
"""For inputs inside other inputs: a mutation, and its input."""


def nulls() -> Iterator[tuple[str, str, str, str]]:
    """Yield each field of inputs that may be null: its type and name, a mutation and its input."""
    root = SCHEMA._schema.mutation_type
    assert root is not None
    places = {
        get_named_type(field.args["input"].type).name: (name, MUTATIONS[name])
        for name, field in root.fields.items()
    } | merged(NESTED, "NESTED_INPUTS")
    for kind in INPUTS:
        for name, field in kind.fields.items():
            if not isinstance(field.type, GraphQLNonNull):
                mutation, template = places[kind.name]
                given, found = re.subn(rf'\b{name}: ("[^"]*"|\d+)', f"{name}: null", template)
                if not found and "$FIELD" not in template:
                    given = f"{template}, {name}: null"
                yield kind.name, name, mutation, Template(given).substitute(IDS, FIELD=name)


NULLS = list(nulls())


def description_of(kind: str, field: str) -> str:
    owner = TYPES[kind]
    assert isinstance(owner, GraphQLInputObjectType)
    return owner.fields[field].description or ""


def test_inputs_and_arguments_with_a_default_may_be_null() -> None:
    objects = [kind for kind in TYPES.values() if is_object_type(kind)]
    given = {
        f"{kind.name}.{name}": field for kind in INPUTS for name, field in kind.fields.items()
    } | {
        f"{kind.name}.{name}({argument}:)": value
        for kind in objects
        if not kind.name.startswith("__")
        for name, field in kind.fields.items()
        for argument, value in field.args.items()
    }
    with_default = {name for name, one in given.items() if one.default_value is not Undefined}
    assert {"AddCommentInput.title", "Product.comments(orderBy:)"} <= with_default
    required = {name for name in with_default if isinstance(given[name].type, GraphQLNonNull)}
    assert required == set()


def test_updates_say_what_null_does() -> None:
    updates = {(kind, name) for kind, name, *_ in NULLS if kind.startswith("Update")}
    assert len(updates) > 8
    for kind, name in updates:
        assert "null" in description_of(kind, name).lower(), f"{kind}.{name}"


@pytest.mark.parametrize(
    ("kind", "field", "mutation", "given"), NULLS, ids=[f"{one[0]}.{one[1]}" for one in NULLS]
)
async def test_null_is_valid_unless_the_description_refuses_it(
    table: Table, kind: str, field: str, mutation: str, given: str
) -> None:
    await World(table).restore()
    context = Context(
        Viewer("zed", RIGHTS), Stores(table), allow_empty_text=True, services=SERVICES
    )
    operation = f"mutation {{ {mutation}(input: {{ {given} }}) {{ userErrors {{ code }} }} }}"
    result = await SCHEMA.execute(operation, context_value=context)
    assert not result.errors
    assert result.data is not None
    codes = [one["code"] for one in result.data[mutation]["userErrors"]]
    refused = "not be null" in description_of(kind, field)
    assert ("BAD_ARGUMENT" in codes) is refused


async def test_null_in_a_new_object_is_the_default(table: Table, run: Run) -> None:
    answer = await run(
        """mutation { addComment(input: { productId: "1", rating: 5, language: "en", title: null,
          text: "Good", photos: [{ url: "https://photos.example/1.jpg", alt: null }] }) {
          comment { title photos { alt } } userErrors { code } } }""",
        ANN,
    )
    assert answer["data"]["addComment"] == {
        "comment": {"title": "", "photos": [{"alt": ""}]},
        "userErrors": [],
    }
    answer = await run(
        """mutation { a: createOrganization(input: { name: "a", subscriptionPlan: "Pro",
            users: [{ username: "eve", type: null }] }) { userErrors { code } }
          b: createOrganization(input: { name: "b", subscriptionPlan: "Pro", users: null }) {
            userErrors { code } }
          addOrganizationUser(input: { organizationName: "b", username: "eve", type: null }) {
            userErrors { code } } }""",
        STAFF,
    )
    assert [one["userErrors"] for one in answer["data"].values()] == [[], [], []]
    answer = await run(
        """{ a: organization(organizationName: "a") { users { nodes { username type } } }
          b: organization(organizationName: "b") { users { nodes { username type } } } }""",
        STAFF,
    )
    member = {"users": {"nodes": [{"username": "eve", "type": "MEMBER"}]}}
    assert answer["data"] == {"a": member, "b": member}


@pytest.mark.parametrize("allowed", [True, False])
async def test_null_removes_a_text_if_the_shop_allows_ratings_without_text(
    schema: Schema, table: Table, *, allowed: bool
) -> None:
    await World(table).restore()
    context = Context(ANN, Stores(table), allow_empty_text=allowed)
    result = await schema.execute(
        f"""mutation {{ updateComment(input: {{ id: "{IDS["COMMENT_ID"]}", text: null }}) {{
          comment {{ text }} userErrors {{ code field }} }} }}""",
        context_value=context,
    )
    assert result.data is not None
    refused = [{"code": "BAD_ARGUMENT", "field": ["input", "text"]}]
    assert result.data["updateComment"] == (
        {"comment": {"text": ""}, "userErrors": []}
        if allowed
        else {"comment": None, "userErrors": refused}
    )
