"""Builds the schema from its root types."""

from copy import copy
from functools import cache

from strawberry.schema.config import StrawberryConfig

from schema.comments import Author, Comment
from schema.execution.documents import DocumentCache
from schema.execution.errors import ErrorCode
from schema.execution.executable_schema import ExecutableSchema
from schema.federation import REPRESENTATION, federated, subgraph_sdl
from schema.groups import ProductGroup
from schema.moderation import Submission
from schema.orders import Order
from schema.organizations import Organization, OrganizationUser
from schema.products import Product
from schema.roots import Mutation, Query, Subscription
from schema.tickets import Ticket
from schema.types import SCALARS, show_enum
from schema.users import User

NODE_TYPES = (
    Author,
    Comment,
    Order,
    Organization,
    OrganizationUser,
    Product,
    ProductGroup,
    Submission,
    Ticket,
    User,
)
"""Types that a field of type Node can return."""

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

show_enum(
    ErrorCode,
    "Error codes. Each error in `errors` has one of them in `extensions.code`. New versions of "
    "the server may add codes. Errors in a mutation's input have a `UserErrorCode` instead.",
    {
        ErrorCode.BAD_ARGUMENT: "An argument has an invalid value. `extensions.argument` names "
        "the argument.",
        ErrorCode.BAD_CURSOR: "`after` or `before` is not a cursor that this list accepts.",
        ErrorCode.BAD_REQUEST: "The request is malformed, or its document or variables do not "
        "match the schema.",
        ErrorCode.FORBIDDEN: "The user does not have the right to do this.",
        ErrorCode.INTERNAL: "The server failed. `extensions.requestId` identifies the request "
        "in the server's log.",
        ErrorCode.NOT_AVAILABLE: "This server does not offer the feature, such as analytics or "
        "uploads.",
        ErrorCode.NOT_FOUND: "The object does not exist or is not visible to the user, or no "
        "registered document has the requested id.",
        ErrorCode.PERSISTED_QUERY_NOT_FOUND: "The server has no document with this hash. Send "
        "the hash together with the document's text.",
        ErrorCode.PERSISTED_QUERY_NOT_SUPPORTED: "This server does not store documents that "
        "clients send. Send the document's text without a hash.",
        ErrorCode.QUERY_TOO_COSTLY: "The operation or its result is too large. Select fewer "
        "fields or rows.",
        ErrorCode.THROTTLED: "The client sends too many requests, the database is busy, or "
        "other requests keep changing the object. Wait for the number of seconds in the header "
        "`Retry-After`, or for one second if the response has no such header. Then retry.",
        ErrorCode.TOO_SLOW: "The client receives the events of a subscription too slowly. "
        "Subscribe again with the cursor of the last received event as `after`.",
        ErrorCode.UNAUTHENTICATED: "A JWT is missing, expired or invalid.",
        ErrorCode.UNAVAILABLE: "The data is temporarily unavailable. Retry later.",
        ErrorCode.UNSUPPORTED_FILTER: "The list does not support this combination of filters "
        "and sort order.",
        ErrorCode.UNTRUSTED_DOCUMENT: "This server executes only registered documents, and this "
        "document is not registered.",
    },
)


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
        query = federated(subgraph_sdl(build_schema().as_str()) if introspection else None)
        scalars = {**SCALARS, **REPRESENTATION}
    schema = kind(
        introspection=introspection,
        explain=explain,
        query=query,
        mutation=Mutation,
        subscription=Subscription,
        types=(*NODE_TYPES, ErrorCode),
        config=StrawberryConfig(scalar_map=dict(scalars)),
    )
    schema.documents.schema.description = DESCRIPTION
    return schema
