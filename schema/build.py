"""Builds the schema from its root types."""

from copy import copy
from functools import cache

from strawberry.schema.config import StrawberryConfig

from dal.counts.mode import COLD_RCU, COLD_REQUESTS
from dal.dynamodb.account import MAX_REQUESTS, Account
from dal.dynamodb.deadline import deadline_in
from dal.dynamodb.errors import QueryTooCostlyError
from dal.query.optimizer import MAX_DROPPED
from dal.query.plan import MAX_SEGMENTS
from features.federation.types import REPRESENTATION, federated, subgraph_sdl
from features.groups.types import ProductGroup
from features.live.types import Subscription
from resolvers.authorization import sees_costs
from resolvers.selection import DEFAULT_SIZE, MAX_ROWS
from schema.comments import Author, Comment
from schema.errors import KNOWN_ERRORS, ErrorCode
from schema.execution.documents import DocumentCache
from schema.execution.executable_schema import ExecutableSchema
from schema.execution.facts import ReadLimits
from schema.execution.host import Host
from schema.products import Product
from schema.roots import Mutation, Query
from schema.types import SCALARS

ENTITIES = {Product: "productId", ProductGroup: "groupId", Comment: "id", Author: "id"}
"""The types to which other subgraphs of Apollo Federation refer, and the key of each."""

DESCRIPTION = """\
A shop's orders, support tickets, and comments on products.

The signed-in user is the user of the JWT that the request contains in the header \
`Authorization: Bearer <JWT>`. Staff, moderators and merchants are users with the role `staff`, \
`moderator` or `merchant`, which the JWT grants.

Lists are Relay connections: a page has 20 rows by default and 100 at most. Arguments name \
products by `productId`, users by `username`, and organisations by `organizationName`. Mutations \
name comments, orders and tickets by global `id`. The fields `comment`, `order` and `ticket` look \
up these objects by `commentId`, `orderId` and `ticketId`.

If a field fails, it is null, and `errors` contains an error with a code from `ErrorCode`. The \
response still contains the other fields. If the input of a mutation is invalid, `userErrors` of \
its payload lists the errors.\
"""
"""The description of the whole schema."""

HOST = Host(
    limits=ReadLimits(
        default_rows=DEFAULT_SIZE,
        most_rows=MAX_ROWS,
        most_partitions=MAX_SEGMENTS,
        most_dropped=MAX_DROPPED,
        most_requests=MAX_REQUESTS,
        questions="queries to the analytics store",
        cold_requests=COLD_REQUESTS,
        cold_rcu=COLD_RCU,
    ),
    known_errors=KNOWN_ERRORS,
    too_costly=QueryTooCostlyError,
    account=Account,
    deadline=deadline_in,
    sees_costs=sees_costs,
)
"""What ``schema.execution`` needs to know of the API."""


def build_schema(
    *,
    introspection: bool = True,
    federation: bool = False,
    explain: bool = False,
    compiles: bool = True,
    kind: type[ExecutableSchema] = ExecutableSchema,
) -> ExecutableSchema:
    """Return the executable schema. Without ``introspection``, clients cannot see the schema.

    With ``federation``, the schema is a subgraph of Apollo Federation. With ``explain``, it has the
    fields and arguments marked by ``EXPLAINED``, such as the plan of each list. With ``compiles``,
    repeated operations are compiled to Python functions; otherwise graphql-core executes all
    operations. ``kind`` is the class of the schema.
    """
    schema = copy(
        _with_types(introspection=introspection, federation=federation, explain=explain, kind=kind)
    )
    schema.documents = DocumentCache(
        schema.documents.schema, schema.facts, introspection=introspection, compiles=compiles
    )
    return schema


def printed(*, federation: bool = False) -> str:
    """Return the schema in GraphQL's schema definition language."""
    sdl = build_schema().as_str()
    if federation:
        sdl = subgraph_sdl(sdl, ENTITIES)
    return sdl


@cache
def _with_types(
    *, introspection: bool, federation: bool, explain: bool, kind: type[ExecutableSchema]
) -> ExecutableSchema:
    """Return the schema for these options. Only the first call with given options builds it.

    Building takes 70 ms, because Strawberry's types are converted to graphql-core's types. Callers
    of ``build_schema`` get a copy of the schema with a new document cache.
    """
    query, scalars = Query, SCALARS
    if federation:
        query = federated(printed(federation=True) if introspection else None, ENTITIES)
        scalars = {**SCALARS, **REPRESENTATION}
    schema = kind(
        host=HOST,
        introspection=introspection,
        explain=explain,
        query=query,
        mutation=Mutation,
        subscription=Subscription,
        types=[ErrorCode],
        config=StrawberryConfig(scalar_map=dict(scalars)),
    )
    schema.documents.schema.description = DESCRIPTION
    return schema
