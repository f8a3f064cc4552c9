"""Arguments as clients see them: what each is for, and no default that says null."""

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
    "first": "Show so many rows from the beginning of the list, or from `after` on: 100 at most, "
    "and 20 where neither `first` nor `last` is given.",
    "after": "The cursor of a row: the page holds rows that follow it. Cursors stay good when "
    "their row is gone, and under other filters of the same list.",
    "last": "Show so many rows from the end of the list, or from `before` back, in the list's own "
    "order: 100 at most. It does not go together with `first`.",
    "before": "The cursor of a row: the page holds rows that precede it.",
    "rating": "Only with one of these ratings, from 1 to 5. Left out, any; an empty list selects "
    "nothing.",
    "language": "Only in one of these languages: BCP 47 tags such as `en` or `pt-BR`, in any "
    "spelling. Left out, any; an empty list selects nothing.",
    "Query.leaderboard.language": "Count the comments in this language, a BCP 47 tag such as `en`. "
    "Left out, those in all.",
    "status": "Only with one of these statuses. Left out, any; an empty list selects nothing.",
    "createdFrom": "Only what was made at this instant or later.",
    "createdBefore": "Only what was made earlier than this instant.",
    "id": "The `id` of the object, as it was shown.",
    "ids": "The `id`s of the objects, 100 at most.",
    "productId": "The shop's own id of the product.",
    "commentId": "The comment's own id, which its address on the pages holds too.",
    "orderId": "The order's own id.",
    "ticketId": "The ticket's own id.",
    "username": "The name under which the user signs in.",
    "organizationName": "The organisation's unique name.",
    "input": "What is to be done. All that is wrong with it comes back at once, as `userErrors`.",
}
"""Of arguments that their resolvers do not describe, by name: one name means one thing. A
``Type.field.argument`` stands for the exception."""


def finish(schema: GraphQLSchema) -> None:
    """Describe each argument, and let no input show the null that it is in Python if left out."""
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
