"""Descriptions of arguments, and no default values of null in the schema."""

from collections.abc import Iterator, Mapping

from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
)

DESCRIPTIONS: Mapping[str, str] = {
    "first": "Number of rows to return from the start, or after `after`. Maximum 100; default 20 "
    "without `last`.",
    "after": "Return rows after this cursor. A cursor stays valid when its row is deleted and "
    "under other filters of the same list.",
    "Subscription.commentEvents.after": "Resume after the event with this `cursor`. Default: start "
    "with the next change.",
    "last": "Number of rows to return from the end, or before `before`, in the list's order. "
    "Maximum 100. Cannot be combined with `first`.",
    "before": "Return rows before this cursor.",
    "rating": "Ratings to include, from 1 to 5. Omit for all; an empty list matches nothing.",
    "language": "Languages to include, as BCP 47 tags such as `en` or `pt-BR`; the server "
    "normalizes them. Omit for all; an empty list matches nothing.",
    "Query.leaderboard.language": "Count only comments in this language, a BCP 47 tag such as "
    "`en`. Omit for all languages.",
    "status": "Statuses to include. Omit for all; an empty list matches nothing.",
    "id": "Global `id` of the object.",
    "ids": "Global `id`s of the objects. Maximum 100.",
    "productId": "The shop's product id.",
    "commentId": "Comment id, as in the URL of the comment's page.",
    "orderId": "Order id.",
    "ticketId": "Ticket id.",
    "username": "User name, as used to sign in.",
    "organizationName": "Unique name of the organisation.",
    "input": "Input of the mutation. `userErrors` lists every validation error.",
}
"""Descriptions by argument name, for arguments that their resolvers do not describe. A key
``Type.field.argument`` is an exception from its name's description."""


def finish(schema: GraphQLSchema) -> None:
    """Describe each argument, and remove default values of null, which only Python needs."""
    for coordinate, argument in _arguments(schema):
        name = coordinate.rpartition(".")[2]
        argument.description = (
            argument.description or DESCRIPTIONS.get(coordinate) or DESCRIPTIONS.get(name)
        )
        _leave_out_null(argument)
    for kind in schema.type_map.values():
        if isinstance(kind, GraphQLInputObjectType):
            for field in kind.fields.values():
                _leave_out_null(field)


def _arguments(schema: GraphQLSchema) -> Iterator[tuple[str, GraphQLArgument]]:
    """Yield the arguments of our own types, each with its coordinate."""
    for kind in schema.type_map.values():
        if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            if kind.name.startswith("__"):
                continue
            for field_name, field in kind.fields.items():
                for name, argument in field.args.items():
                    yield f"{kind.name}.{field_name}.{name}", argument


def _leave_out_null(given: GraphQLArgument | GraphQLInputField) -> None:
    if given.default_value is None:
        given.default_value = Undefined
