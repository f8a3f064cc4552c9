"""Each field of a comment is in every place that needs it, or the place states a reason.

The modules of this name in other folders test pages, files and guides.
"""

import dataclasses
from itertools import chain, combinations
from typing import Any, get_type_hints

import orjson
import pytest
from graphql import (
    GraphQLObjectType,
    parse,
)
from hypothesis import given
from strawberry.utils.str_converters import to_camel_case

from dal.catalogue import Order, query_of
from dal.entities import idempotency
from dal.entities.comment import COMMENT, SEARCHED
from dal.model import Comment, Photo
from dal.model.comment_fields import FIELDS, FILTERS
from dal.model.submissions import Submission
from dal.repositories.comments import Selection
from dal.table.key_parts import format_instant
from resolvers.comments import _CHANGES, _NEW
from schema.execution.cost import predicted
from schema.execution.selections import operations_of
from schema.execution.visibility import is_public
from tests.comment_fields import (
    NAMED,
    PLACES,
    SCHEMA,
    TYPES,
    argument,
    check,
    example,
    graphql_name,
)
from tests.feature_lists import added
from tests.oracle import make_comments
from tests.strategies import MORE, comments

# ----- codec and digest -----


def earlier_data(comment: Comment) -> str:
    """Return ``data`` as the encoder wrote it before the fields were declared."""
    data: dict[str, Any] = {
        "title": comment.title,
        "text": comment.text,
        "username": comment.username,
    }
    if comment.name is not None:
        data["name"] = comment.name
    if comment.updated_at is not None:
        data["updatedAt"] = format_instant(comment.updated_at)
    if comment.touched_at is not None:
        data["touchedAt"] = format_instant(comment.touched_at)
    if comment.verified_purchase:
        data["verifiedPurchase"] = True
    if comment.reply is not None:
        at = format_instant(comment.reply.created_at)
        data["reply"] = {"text": comment.reply.text, "at": at}
    if comment.votes:
        data["helpful"] = comment.votes
    if comment.votes_before:
        data["helpfulBefore"] = comment.votes_before
    if comment.photos:
        data["photos"] = [{"url": one.url, "alt": one.alt} for one in comment.photos]
    return orjson.dumps(data).decode()


@MORE
@given(comments)
def test_the_text_of_data_is_that_of_earlier_versions(comment: Comment) -> None:
    earlier = Comment(*comment[:16])  # the fields of that time
    assert COMMENT.encode(earlier)["data"]["S"] == earlier_data(earlier)
    assert COMMENT.decode(COMMENT.encode(comment)) == comment


def test_the_digests_of_ten_comments_stay_equal() -> None:
    photos = (Photo("https://a.example/1", "One"), Photo("https://a.example/2"))
    rows = [
        one if n % 3 else one._replace(photos=photos[: n % 2 + 1], title='é "q" 🙂')
        for n, one in enumerate(make_comments("42/en", 10, seed=48))
    ]
    assert [idempotency.mark(one)["keyed"]["S"].partition("#")[2] for one in rows] == [
        "2e921889c362bcb6ea173a6f20b33ff7",
        "9613f701399e6913d0922fd17d3251c5",
        "26538bb4658dd77329dbcf6cd5cc48ff",
        "c02635bee7dd8ebd7ad9173e56c08197",
        "639b203ab84b78decef262e9e10431c2",
        "4848df1395d62edadd04b8059c288ea0",
        "5cb7593bbee7b91cd260be63e59ff9d6",
        "ad2095b02ec9349b697c7ff583bcaf3b",
        "7274b04024b64ceea1ee46484a098a60",
        "4bfd264da518de623a1b8121a70f48be",
    ]


# ----- fields -----


def test_every_field_is_declared_and_a_submission_has_it() -> None:
    assert {*NAMED} == {*Comment._fields}
    assert Comment._fields[8:] == (*Comment._field_defaults,), "the decoder needs this order"
    hints = get_type_hints(Submission)
    for name in Comment._fields:
        assert hints[name] == get_type_hints(Comment)[name], f"Submission: {name}"
    counters = [field.counter for field in FIELDS if field.counter]
    assert {*"".join(counters)} == {*counters}, "the names of sums begin with one letter"
    assert len({*counters}) == len(counters)
    unstored = {field.name for field in FIELDS if not field.stored}
    assert unstored == {"comment_id", "product_id", "created_at", "rating", "language"}


def test_every_field_is_in_the_graphql_type() -> None:
    declared = TYPES.type_map["Comment"]
    assert isinstance(declared, GraphQLObjectType)
    check("GraphQL", {field.name: graphql_name(field) in declared.fields for field in FIELDS})


def test_the_digest_has_exactly_what_authors_state() -> None:
    stated = {to_camel_case(field.name) for field in FIELDS if field.digest} - {"username"}
    inputs: Any = TYPES.type_map
    assert {*inputs["AddCommentInput"].fields} == stated | {"idempotencyKey"}
    assert {*inputs["UpdateCommentInput"].fields} == stated - {"productId"} | {"id"}
    for name, rules in (("AddCommentInput", _NEW), ("UpdateCommentInput", _CHANGES)):
        assert {*inputs[name].fields} == {
            *map(to_camel_case, rules),
            *("text", "aspects"),  # the shop's settings decide their rules
        }, f"rules of {name}"


def test_shared_caches_keep_every_field_and_every_list() -> None:
    shown = {graphql_name(field) for field in FIELDS if field.name not in PLACES["GraphQL"]}
    objects = {"product": "product { id }", "reply": "reply { text }", "photos": "photos { url }"}
    objects["aspects"] = "aspects { name }"
    selection = " ".join(sorted(objects.get(name, name) for name in shown))
    given = " ".join(f"{argument(name)}: {example(name)}" for name in FILTERS)
    document = parse(
        f'{{ product(productId: "1") {{ comments({given}) {{ nodes {{ {selection} }} }} }} }}'
    )
    (operation,) = operations_of(document)
    assert is_public(TYPES, document, operation, SCHEMA.facts.public)


# ----- filters -----


LIST = {
    *("first", "last", "after", "before", "orderBy", "planBy", "createdFrom", "createdBefore"),
    "contains",
}
"""The arguments of lists that are not filters by a field."""


@pytest.mark.parametrize(
    "place",
    [
        "Product.comments",
        *chain.from_iterable(added("FILTERED_LISTS")),
    ],
)
def test_every_filter_is_an_argument(place: str) -> None:
    owner, name = place.split(".")
    declared = TYPES.type_map[owner]
    assert isinstance(declared, GraphQLObjectType)
    given = {*declared.fields[name].args} - LIST - {"productId"}
    assert given == {argument(name) for name in FILTERS}


def everything() -> Selection:
    """Return a selection with every filter."""
    values: dict[str, Any] = {"ratings": frozenset({1}), "languages": frozenset({"en"})}
    values["search"] = "kettle"
    apart = {"product_id", "created_from", "created_before", "order", "variants"}
    for one in dataclasses.fields(Selection):
        if one.name not in apart:
            values.setdefault(one.name, True)
    return Selection("42", **values)


def test_every_filter_is_in_a_selection() -> None:
    assert everything().filters().keys() == {*FILTERS, SEARCHED}


@pytest.mark.parametrize("order", [None, *Order])
@pytest.mark.parametrize("variants", [frozenset[str](), frozenset({"43"})])
def test_every_combination_of_filters_has_an_access_pattern(
    order: Order | None, variants: frozenset[str]
) -> None:
    wanted = everything().filters()
    for some in chain.from_iterable(combinations(wanted, n) for n in range(len(wanted) + 1)):
        chosen = {name: wanted[name] for name in some}
        query_of({"product": variants | {"42"}, **chosen}, order=order)


def test_every_filter_can_cause_reads_that_the_cost_contains() -> None:
    def most(arguments: str) -> float:
        text = f'{{ product(productId: "1") {{ comments(first: 1{arguments}) {{ __typename }} }} }}'
        document = parse(text)
        (operation,) = operations_of(document)
        return predicted(TYPES, document, operation, SCHEMA.facts, {}).requests

    for name in FILTERS:
        assert most(f", {argument(name)}: {example(name)}") > most(""), name
