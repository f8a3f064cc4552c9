"""Each field of a comment is in every place that needs it, or the place states a reason."""

import ast
import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from typing import Any, get_type_hints

import orjson
import pytest
from graphql import (
    FieldNode,
    GraphQLObjectType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    parse,
    validate,
    visit,
)
from hypothesis import given
from jinja2 import Environment, nodes
from starlette.datastructures import QueryParams
from strawberry.utils.str_converters import to_camel_case

from dal.catalogue import Order, query_of
from dal.entities import idempotency
from dal.entities.comment import COMMENT
from dal.model import Comment, Photo
from dal.model.comment_fields import FIELDS, FILTERS, CommentField
from dal.model.submissions import Submission
from dal.repositories.comments import Selection
from dal.table.key_parts import format_instant
from features.loading.kind import COMMENTS
from pages.addresses import Filters
from pages.i18n import TEMPLATES
from pages.list_filters import SWITCHES
from pages.page_documents import DOCUMENTS
from pages.product import _draft
from resolvers.comments import _CHANGES, _NEW
from schema.build import build_schema
from schema.execution.cost import predicted
from schema.execution.selections import operations_of
from schema.execution.visibility import is_public
from tests.engines import ROOT
from tests.oracle import make_comments
from tests.strategies import MORE, comments

SCHEMA = build_schema()
TYPES = SCHEMA._schema
EXPLAINED = build_schema(explain=True)._schema

NAMED = {field.name: field for field in FIELDS}

GRAPHQL = {"product_id": "product", "name": "authorName", "votes_before": "helpfulCount"}
GRAPHQL |= {"votes": GRAPHQL["votes_before"]}
"""The GraphQL fields of fields that have another name there."""

ARGUMENTS = {"verified": "verifiedOnly"}
"""The arguments of filters that have another name there."""

PLACES: Mapping[str, Mapping[str, str]] = {
    "GraphQL": {"touched_at": "It is a version for live lists."},
    "Submission": {
        "touched_at": "It is a version for live lists.",
        "votes": "Users cannot vote on it.",
        "votes_before": "Users cannot vote on it.",
    },
    "file": {
        "touched_at": "A load sets it.",
        "votes": "Files of the kind votes contain the votes.",
    },
    "page": {
        "product_id": "The page of the product shows the product.",
        "touched_at": "It is a version for live lists.",
    },
    "kept": {
        "updated_at": "A load sets it if the content changes.",
        "verified_purchase": "Each file states it.",
        "name": "Each file states it.",
        "title": "Each file states it.",
    },
    "data in docs/events.md": {
        "touched_at": "It is a version for live lists.",
        "reply": "Events do not promise it.",
        "votes": "Votes send no events.",
        "votes_before": "Votes send no events.",
    },
    "docs/loading.md": {},
}
"""For each place, the fields that are not there, with the reason."""

NO_FILTERS = {"widget": "It shows a few comments, and links to the page of the product."}
"""The documents of pages that do not pass all filters."""


def check(place: str, fields: Mapping[str, bool]) -> None:
    """Assert that each field is in a place, unless ``PLACES`` states the reason."""
    for name, there in fields.items():
        stated = PLACES[place].get(name)
        assert there is (stated is None), f"{place}: {name} is {'' if there else 'not '}there."


def argument(name: str) -> str:
    return ARGUMENTS.get(name, name)


def graphql_name(field: CommentField) -> str:
    return GRAPHQL.get(field.name, to_camel_case(field.name))


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
    unstored = {field.name for field in FIELDS if not field.stored}
    assert unstored == {"comment_id", "product_id", "created_at", "rating", "language"}


def test_every_field_is_in_the_graphql_types() -> None:
    for place, name in (("GraphQL", "Comment"), ("Submission", "Submission")):
        declared = TYPES.type_map[name]
        assert isinstance(declared, GraphQLObjectType)
        check(place, {field.name: graphql_name(field) in declared.fields for field in FIELDS})


def test_the_digest_has_exactly_what_authors_state() -> None:
    stated = {to_camel_case(field.name) for field in FIELDS if field.digest} - {"username"}
    inputs: Any = TYPES.type_map
    assert {*inputs["AddCommentInput"].fields} == stated | {"idempotencyKey"}
    assert {*inputs["UpdateCommentInput"].fields} == stated - {"productId"} | {"id"}
    for name, rules in (("AddCommentInput", _NEW), ("UpdateCommentInput", _CHANGES)):
        assert {*inputs[name].fields} == {*map(to_camel_case, rules), "text"}, f"rules of {name}"


def test_every_field_is_a_column_of_files_and_loads_keep_it() -> None:
    columns = [field.name for field in COMMENTS.fields if not field.all_states]
    assert {*columns} == {column for field in FIELDS for column in field.columns}
    check("file", {field.name: bool(field.columns) for field in FIELDS})
    check(
        "kept", {field.name: field.kept for field in FIELDS if field.name not in Comment._fields[:5]
        and field.name not in {"text", "created_at"}}
    )  # fmt: skip
    guide = (ROOT / "docs/loading.md").read_text("utf-8")
    check(
        "docs/loading.md",
        {name: all(f"`{one}`" in guide for one in field.columns) for name, field in NAMED.items()},
    )


def test_every_stored_field_is_in_the_guide_to_events() -> None:
    guide = (ROOT / "docs/events.md").read_text("utf-8")
    stored = {field.name: f"`{field.stored}`" in guide for field in FIELDS if field.stored}
    check("data in docs/events.md", stored)


def test_every_field_is_on_the_card_of_a_comment() -> None:
    environment = Environment(extensions=["jinja2.ext.i18n", "jinja2.ext.loopcontrols"])
    names = set[str]()
    for path in ("card.html", "photos.html"):
        tree = environment.parse((TEMPLATES / path).read_text("utf-8"))
        names |= {one.attr for one in tree.find_all(nodes.Getattr)}
    shown = {field.name: graphql_name(field) in names for field in FIELDS}
    check("page", shown)
    selected = set[str]()
    for document in ("product", "comment"):
        selected |= {
            name for owner, name, _ in fields_of(DOCUMENTS[document]) if owner == "Comment"
        }
    assert {graphql_name(NAMED[name]) for name, there in shown.items() if there} <= selected
    (drafted,) = [
        one for one in ast.walk(ast.parse(inspect.getsource(_draft))) if isinstance(one, ast.Dict)
    ]
    keys = {one.value for one in drafted.keys if isinstance(one, ast.Constant)}
    needed = {graphql_name(NAMED[name]) for name, there in shown.items() if there}
    assert needed - {"helpfulCount"} <= keys, "the draft of a new comment"
    found = fields_of(DOCUMENTS["moderation.queue"])
    queue = {name for owner, name, _ in found if owner == "Submission"}
    of_submissions = {name for name in shown if shown[name] and name not in PLACES["Submission"]}
    assert {graphql_name(NAMED[name]) for name in of_submissions} <= queue


def test_shared_caches_keep_every_field_and_every_list() -> None:
    shown = {graphql_name(field) for field in FIELDS if field.name not in PLACES["GraphQL"]}
    objects = {"product": "product { id }", "reply": "reply { text }", "photos": "photos { url }"}
    selection = " ".join(sorted(objects.get(name, name) for name in shown))
    given = " ".join(f"{argument(name)}: {example(name)}" for name in FILTERS)
    document = parse(
        f'{{ product(productId: "1") {{ comments({given}) {{ nodes {{ {selection} }} }} }} }}'
    )
    (operation,) = operations_of(document)
    assert is_public(TYPES, document, operation, SCHEMA.facts.public)


# ----- filters -----


def example(name: str) -> str:
    """Return a value of a filter's argument."""
    return {"rating": "[1]", "language": '["en"]'}.get(name, "true")


LIST = {"first", "last", "after", "before", "orderBy", "planBy", "createdFrom", "createdBefore"}
"""The arguments of lists that are not filters by a field."""


@pytest.mark.parametrize(
    "place", ["Product.comments", "ProductGroup.comments", "Subscription.commentEvents"]
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
    apart = {"product_id", "created_from", "created_before", "order", "variants"}
    for one in dataclasses.fields(Selection):
        if one.name not in apart:
            values.setdefault(one.name, True)
    return Selection("42", **values)


def test_every_filter_is_in_a_selection() -> None:
    assert everything().filters().keys() == FILTERS.keys()


@pytest.mark.parametrize("order", [None, *Order])
@pytest.mark.parametrize("variants", [frozenset[str](), frozenset({"43"})])
def test_every_combination_of_filters_has_an_access_pattern(
    order: Order | None, variants: frozenset[str]
) -> None:
    wanted = everything().filters()
    for some in chain.from_iterable(combinations(FILTERS, n) for n in range(len(FILTERS) + 1)):
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


def test_every_filter_is_in_the_addresses_of_pages() -> None:
    assert {argument(name) for name in FILTERS} == {*Filters().variables()} & {
        argument(name) for name in FILTERS
    }
    known = {argument(name) for name in FILTERS} - {"rating", "language"}
    assert {switch.argument for switch in SWITCHES.values()} == known
    full = Filters(ratings=(1,), languages=("en",), on=tuple(SWITCHES))
    assert Filters.of(QueryParams(full.query()[1:])) == full
    assert all(full.variables()[argument(name)] for name in FILTERS)


def test_every_filter_is_in_the_documents_of_pages() -> None:
    lists = [
        (name, {one.name.value for one in field.arguments or ()})
        for name, text in DOCUMENTS.items()
        for owner, _, field in fields_of(text)
        if field.name.value in {"comments", "commentEvents"}
        and owner in {"Product", "ProductGroup", "Subscription"}
    ]
    expected = {argument(name) for name in FILTERS}
    filtered = [(name, given) for name, given in lists if given & expected]
    assert len(filtered) >= 5
    for name, passed in filtered:
        assert (expected <= passed) is (name not in NO_FILTERS), name
        assert not validate(EXPLAINED, parse(DOCUMENTS[name])), f"the variables of {name}"


def fields_of(text: str) -> Iterator[tuple[str, str, FieldNode]]:
    """Yield the type, name and node of each field of a document."""
    info = TypeInfo(TYPES)
    found: list[tuple[str, str, FieldNode]] = []

    class Fields(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            parent = info.get_parent_type()
            found.append((str(parent), node.name.value, node))

    visit(parse(text), TypeInfoVisitor(info, Fields()))
    yield from found
