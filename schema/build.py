"""Builds the schema from its roots, and describes the arguments of its fields."""

from collections.abc import Mapping

from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
)
from strawberry.schema.config import StrawberryConfig

from schema.comments import Comment, Product
from schema.execution.executable_schema import ExecutableSchema
from schema.field_reads import READS
from schema.orders import Order
from schema.organizations import Organization, OrganizationUser
from schema.roots import Mutation, Query, Subscription
from schema.tickets import Ticket
from schema.types import SCALARS
from schema.users import User

NODE_TYPES = (Comment, Order, Organization, OrganizationUser, Product, Ticket, User)
"""Types that clients meet through the Node interface."""

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
``Type.field.argument`` overrides the description of its name."""


def build_schema(
    *, introspection: bool = True, kind: type[ExecutableSchema] = ExecutableSchema
) -> ExecutableSchema:
    """Return the executable schema; without ``introspection`` clients do not see it."""
    schema = kind(
        introspection=introspection,
        reads=READS,
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=NODE_TYPES,
        config=StrawberryConfig(scalar_map=dict(SCALARS)),
    )
    _describe_arguments(schema.documents.schema)
    return schema


def _describe_arguments(schema: GraphQLSchema) -> None:
    """Describe each argument, and remove default values of null, which only Python needs."""
    for owner in schema.type_map.values():
        if isinstance(owner, GraphQLInputObjectType):
            for input_field in owner.fields.values():
                _remove_null(input_field)
        if not isinstance(owner, GraphQLObjectType | GraphQLInterfaceType):
            continue
        if owner.name.startswith("__"):
            continue
        for field_name, field in owner.fields.items():
            for name, argument in field.args.items():
                argument.description = (
                    argument.description
                    or DESCRIPTIONS.get(f"{owner.name}.{field_name}.{name}")
                    or DESCRIPTIONS.get(name)
                )
                _remove_null(argument)


def _remove_null(given: GraphQLArgument | GraphQLInputField) -> None:
    if given.default_value is None:
        given.default_value = Undefined
