"""Hides the schema: introspection is refused, and errors reveal no part of the schema.

A tool that guesses names learns from every error whether a name is right, and from suggestions the
right one. So one sentence replaces every error of validation.
"""

from graphql import GraphQLError
from graphql.validation import NoSchemaIntrospectionCustomRule

NO_INTROSPECTION = (NoSchemaIntrospectionCustomRule,)
"""The rules that refuse to show the schema."""

_SENTENCE = (
    "The document or its variables do not fit the schema, which this server does not show: "
    "introspection is off."
)


def withheld(faults: list[GraphQLError]) -> list[GraphQLError]:
    """Return errors without details of the schema.

    There is one however many faults there are: their number would say how many guesses were right.
    """
    return [GraphQLError(_SENTENCE)] if any(map(_tells, faults)) else faults


def _tells(fault: GraphQLError) -> bool:
    """Return whether it is GraphQL's own, of a part of the document that was held to the schema."""
    graphqls_own = isinstance(fault.original_error, GraphQLError | None)
    return graphqls_own and fault.path is None and bool(fault.nodes)
