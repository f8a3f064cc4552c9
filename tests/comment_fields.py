"""The fields of a comment, their names in GraphQL, and the places that lack some of them."""

from collections.abc import Mapping

from strawberry.utils.str_converters import to_camel_case

from dal.model.comment_fields import FIELDS, CommentField
from schema.build import build_schema

SCHEMA = build_schema()
TYPES = SCHEMA._schema

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


def check(place: str, fields: Mapping[str, bool]) -> None:
    """Assert that each field is in a place, unless ``PLACES`` states the reason."""
    for name, there in fields.items():
        stated = PLACES[place].get(name)
        assert there is (stated is None), f"{place}: {name} is {'' if there else 'not '}there."


def argument(name: str) -> str:
    return ARGUMENTS.get(name, name)


def graphql_name(field: CommentField) -> str:
    return GRAPHQL.get(field.name, to_camel_case(field.name))


def example(name: str) -> str:
    """Return a value of a filter's argument."""
    return {"rating": "[1]", "language": '["en"]'}.get(name, "true")
