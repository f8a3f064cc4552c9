"""A failed field is null, and the fields next to it have their values."""

from itertools import chain

import pytest
from graphql import GraphQLNonNull, GraphQLObjectType
from strawberry.types.base import StrawberryObjectDefinition

from dal.dynamodb.errors import StoreUnavailableError
from dal.repositories.comments import CommentRepository
from schema.build import build_schema
from tests.feature_lists import added
from tests.schema.conftest import ANN, STAFF, Run

SCHEMA = build_schema()


def test_each_field_that_may_fail_is_nullable() -> None:
    """A field can fail if it reads the store or has arguments."""
    graphql_name = SCHEMA.config.name_converter.get_graphql_name
    taking_arguments = {
        f"{name}.{graphql_name(field)}"
        for name in SCHEMA._schema.type_map
        if isinstance(one := SCHEMA.get_type_by_name(name), StrawberryObjectDefinition)
        for field in one.fields
        if field.arguments
    }
    assert len(taking_arguments) > 15
    required = set()
    reading = {
        name
        for name, reads in SCHEMA.facts.reads.items()
        if reads.rows is None and name.count(".") == 1
    }
    for name in taking_arguments | reading:
        type_name, field_name = name.split(".")
        owner = SCHEMA._schema.type_map[type_name]
        assert isinstance(owner, GraphQLObjectType)
        if isinstance(owner.fields[field_name].type, GraphQLNonNull):
            required.add(name)
    # Comments and orders contain their user's name. Other users are below a nullable field.
    assert required == {"Author.name", "User.name", *chain.from_iterable(added("NEVER_FAILING"))}


@pytest.mark.parametrize(
    ("fields", "failing"),
    [
        (
            (
                'a: product(productId: "1") { productId comments { nodes { id } }'
                ' wrong: comments(after: "x") { nodes { id } } }'
                ' wrong: product(productId: "") { id }'
            ),
            [["a", "wrong"], ["wrong"]],
        ),
        (
            'leaderboard { nodes { count } } wrong: leaderboard(after: "x") { nodes { count } }',
            [["wrong"]],
        ),
        (
            (
                'openOrders { nodes { id } } wrong: openOrders(before: "x") { nodes { id } }'
                ' user(username: "ann") { username orders { nodes { id } }'
                ' wrong: orders(after: "x") { nodes { id } } }'
            ),
            [["wrong"], ["user", "wrong"]],
        ),
        (
            (
                'product(productId: "1") { statistics { total }'
                ' wrong: statistics(language: "x y") { total } }'
            ),
            [["product", "wrong"]],
        ),
        ("nodes(ids: []) { id } wrong: nodes(ids: [%s]) { id }" % ('"x" ' * 101), [["wrong"]]),
        (
            (
                'user(username: "1") { username } wrong: user(username: "") { id }'
                ' order(orderId: " ") { id } comment(commentId: "") { id } node(id: "x") { id }'
                ' ticket(ticketId: "\\u3000") { id } organization(organizationName: "a ") { id }'
            ),
            [["wrong"], ["order"], ["comment"], ["node"], ["ticket"], ["organization"]],
        ),
    ],
    ids=["comments", "leaderboard", "orders", "statistics", "nodes", "look-ups"],
)
async def test_one_bad_argument_does_not_fail_the_rest_of_the_page(
    run: Run, fields: str, failing: list[list[str]]
) -> None:
    answer = await run(f"{{ {fields} }}", STAFF)
    assert sorted(error["path"] for error in answer["errors"]) == sorted(failing)
    assert answer["data"] is not None
    for path in failing:
        place = answer["data"]
        for step in path[:-1]:
            place = place[step]
            assert place is not None
        assert place[path[-1]] is None
    assert any(value is not None for value in answer["data"].values())


async def test_an_organisation_is_returned_although_its_page_failed(run: Run) -> None:
    await run(
        'mutation { createOrganization(input: {name: "x", subscriptionPlan: "Pro"})'
        " { userErrors { code } } }",
        ANN,
    )
    answer = await run(
        '{ organization(organizationName: "x")'
        ' { subscriptionPlan users(after: "x") { nodes { id } } } }',
        ANN,
    )
    assert answer["data"] == {"organization": {"subscriptionPlan": "Pro", "users": None}}
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "BAD_CURSOR"


async def test_a_page_is_returned_although_its_total_could_not_be_read(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise StoreUnavailableError("Away.")

    monkeypatch.setattr(CommentRepository, "total", failing)
    answer = await run('{ product(productId: "1") { comments { nodes { id } totalCount } } }')
    assert answer["data"] == {"product": {"comments": {"nodes": [], "totalCount": None}}}
    (error,) = answer["errors"]
    assert error["path"] == ["product", "comments", "totalCount"]
    assert error["extensions"]["code"] == "UNAVAILABLE"
