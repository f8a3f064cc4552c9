"""Builds the schema. Describes its arguments, and lists the usual DynamoDB reads of each field."""

from collections.abc import Mapping
from copy import copy
from functools import cache
from math import ceil

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

from dal.analytics.questions import MAX_POINTS
from dal.counts.counts import MAX_LANGUAGES
from dal.model.moderation import QueueKind
from dal.model.reports import MOST_READ, ReportReason
from dal.model.rules import MAX_LINES, MAX_PHOTOS, MAX_VALUES
from dal.query.plan import MAX_SEGMENTS
from dal.repositories.leaderboard import RANKS_BYTES
from dal.repositories.moderation import MOST_COUNTED, QUEUE_REQUESTS
from dal.repositories.orders import OPEN_PAGE_REQUESTS
from dal.repositories.product_groups import MAX_MEMBERS
from resolvers.moderation import MOST_DECISIONS
from resolvers.selection import DEFAULT_SIZE
from resolvers.tickets import TICKET_ORGANIZATIONS
from schema.comments import Author, Comment
from schema.execution.cost import MAX_ANSWER_VALUES, ROW_BYTES, UNIT_BYTES, Reads
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

DESCRIPTIONS: Mapping[str, str] = {
    "first": "Number of rows to return, from the start of the list or after `after`. Default 20 "
    "if `last` is not given. Maximum 100.",
    "after": "Return rows after this cursor. The cursor stays valid even if its row is deleted "
    "or the list's filters change.",
    "Subscription.commentEvents.after": "Event cursor: `eventCursor` of a page, or `cursor` of "
    "the last event. The server sends all changes after this cursor. If the server no longer has "
    "all these changes, it sends one RELOAD event first. If `after` is omitted, the server sends "
    "READY and then new changes. The cursor of a row is not an event cursor.",
    "last": "Number of rows to return, from the end of the list or before `before`. The rows "
    "stay in the list's order. Maximum 100. Cannot be combined with `first`.",
    "before": "Return rows before this cursor.",
    "rating": "Ratings to include, from 1 to 5. Default: all ratings. An empty list matches no "
    "comment.",
    "verifiedOnly": "Whether to return only comments with `verifiedPurchase`. If true, "
    "`totalCount` is null. Default false.",
    "hasPhotos": "Whether to return only comments with photos. If true, `totalCount` is null. "
    "Default false.",
    "Subscription.commentEvents.hasPhotos": "Whether to send events only of comments with "
    "photos. Default false.",
    "Subscription.commentEvents.verifiedOnly": "Whether to send events only of comments with "
    "`verifiedPurchase`. Default false.",
    "kind": "Queue to return. Default PENDING.",
    "language": "Languages to include, as BCP 47 tags such as `en` or `pt-BR`. Case does not "
    "matter. Default: all languages. An empty list matches no comment.",
    "Query.leaderboard.language": "Language of the comments to count, as a BCP 47 tag such as "
    "`en`. Default: all languages.",
    "status": "Statuses to include. Default: all statuses. An empty list matches no row.",
    "id": "Global `id` of the object.",
    "ids": "Global `id`s of the objects. Maximum 100.",
    "productId": "The shop's product id.",
    "productIds": "The shop's product ids. An id may occur more than once. Maximum 100.",
    "title": "Return products with titles that begin with this text. Maximum 200 characters.",
    "commentId": "Comment id, as in the URL of the comment's page.",
    "orderId": "Order id.",
    "ticketId": "Ticket id.",
    "username": "User name, as used to sign in.",
    "organizationName": "Unique name of the organisation.",
    "input": "Input of the mutation. The payload's `userErrors` lists every validation error.",
}
"""Descriptions of arguments that their resolvers do not describe, by the argument's name. A key
``Type.field.argument`` overrides the key ``argument``."""


_PAGE, _FRESH_PAGE = Reads(unit=0.5, paged=True), Reads(paged=True)
_BY_STATUS = Reads(2, 0.5, paged=True)
_PAGES = Reads(1 + TICKET_ORGANIZATIONS, 0.5, paged=True)
"""Reads of ``User.tickets``: the list of the user's organisations, and a page of tickets from
each of the first TICKET_ORGANIZATIONS organisations."""
_QUEUE_PAGE = Reads(OPEN_PAGE_REQUESTS, 0.5, paged=True)
_COMMENTS = Reads(unit=0.5, paged=True, planned=True)
_NEWEST = Reads(unit=0.5, most_requests=20)
"""Reads of the newest comment with some ratings: a planned page of one row."""
_ROW = Reads(unit=0.5)
_ONCE_A_PAGE = Reads(1 / DEFAULT_SIZE, 0.5, most_requests=1)
_KEY, _TWO_KEYS = Reads(), Reads(2)
_COUNTS = Reads(most_requests=3)
"""Reads of a product's counts. Each further response has the counts in 1,000 languages."""
_OF_PRODUCT = Reads(0, together=True)

USUAL_MEMBERS = 10
"""The server assumes this number of products in each group when it predicts the cost of an
operation. A group may have more products, so ``GroupReads`` counts and limits the actual reads."""

_OF_MEMBERS = Reads(USUAL_MEMBERS, most_requests=MAX_MEMBERS + 2)

_WRITE = Reads(5, most_requests=20)
_QUESTION = Reads(0, questions=1)
_NOTHING = Reads(0)


def _rows(count: float, most: float = 0) -> Reads:
    return Reads(0, rows=count, most=most)


READS: Mapping[str, Reads] = {
    # An organisation and its users and tickets also read the viewer's membership.
    "Query.node": Reads(most_requests=2),
    "Query.nodes": Reads(most_requests=2),  # for each id
    "Query.comment": _KEY,
    "Query.moderationQueue": Reads(
        QUEUE_REQUESTS + 1, 0.5, paged=True, looks_up=QueueKind.REPORTED
    ),
    "ModerationQueueEntry.reports": Reads(1, 0.5 * ceil(MOST_READ * ROW_BYTES / UNIT_BYTES)),
    "ModerationQueueConnection.totalCount": Reads(
        QUEUE_REQUESTS, 0.5 * ceil(MOST_COUNTED * ROW_BYTES / UNIT_BYTES)
    ),
    "Query.blockedUsers": _PAGE,
    "Query.leaderboard": Reads(2, 0.5, paged=True, further=ceil(RANKS_BYTES / UNIT_BYTES)),
    "Query.productSearch": _PAGE,
    "Query.user": _NOTHING,
    "Query.order": _ROW,
    "Query.openOrders": _QUEUE_PAGE,
    "Query.organization": _TWO_KEYS,
    "Query.ticket": _TWO_KEYS,
    "Query.openTickets": _QUEUE_PAGE,
    "Query.movers": _QUESTION,
    "Product.title": _OF_PRODUCT,
    "Product.pictureUrl": _OF_PRODUCT,
    "Product.url": _OF_PRODUCT,
    "Product.comments": _COMMENTS,
    # Further responses, as in ``_COUNTS``, in addition to the product's details.
    "Product.statistics": Reads(0, together=True, most_requests=2),
    # Reads the group, in addition to the product's details.
    "Product.group": Reads(together=True),
    "ProductGroup.products": _rows(USUAL_MEMBERS, MAX_MEMBERS),
    "ProductGroup.comments": Reads(
        USUAL_MEMBERS, 0.5, paged=True, planned=True, most_requests=MAX_MEMBERS
    ),
    "ProductGroup.comments.totalCount": _OF_MEMBERS,
    "ProductGroup.comments.jsonLd": _OF_MEMBERS,
    "ProductGroup.statistics": _OF_MEMBERS,
    # Reads the newest comment, in addition to the product's details.
    "Product.isKnown": Reads(unit=0.5, together=True),
    "Product.mostRecentPositive": _NEWEST,
    "Product.mostRecentNegative": _NEWEST,
    "Product.lastCommentedAt": _ROW,
    "Product.trend": _QUESTION,
    **{
        f"{listed}.{name}": _NOTHING
        for listed in ("ProductConnection.nodes", "ProductEdge.node")
        for name in ("isKnown", "pictureUrl", "title", "url")
    },
    "Product.highlights": Reads(2, 6.5),  # 40 of the largest rows fill two responses of 1 MB
    "Comment.viewerFoundHelpful": _ROW,
    "CommentConnection.nodes.viewerFoundHelpful": _ONCE_A_PAGE,
    "CommentEdge.node.viewerFoundHelpful": _ONCE_A_PAGE,
    "Author.comments": _PAGE,
    "Author.isKnown": _ROW,
    "Author.name": _ROW,
    "Comment.author.name": _NOTHING,
    "Ticket.author.name": _NOTHING,
    "User.isKnown": Reads(most_requests=2),
    "User.name": _ROW,
    "Order.user.name": _NOTHING,
    "Query.viewer.name": _NOTHING,
    "CommentConnection.totalCount": _COUNTS,
    "CommentConnection.jsonLd": _COUNTS,
    "Comment.jsonLd": _COUNTS,
    "User.profile": _KEY,
    "User.orders": _FRESH_PAGE,
    "User.comments": _PAGE,
    "User.organizations": _PAGE,
    "User.tickets": _PAGES,
    "User.submissions": _PAGE,
    "Organization.users": _FRESH_PAGE,
    "Organization.user": _TWO_KEYS,
    "Organization.tickets": _BY_STATUS,
    "OrganizationUser.organization": _TWO_KEYS,
    # A user's own membership is read before the page.
    "OrganizationUser.tickets": Reads(unit=0.5, paged=True, most_requests=2),
    "Ticket.organization": _TWO_KEYS,
    "Mutation.addComment": _WRITE,
    "Mutation.updateComment": _WRITE,
    "Mutation.deleteComment": _WRITE,
    "Mutation.replyToComment": _WRITE,
    "Mutation.removeReply": _WRITE,
    "Mutation.approveComment": _WRITE,
    "Mutation.rejectComment": _WRITE,
    "Mutation.decideComments": Reads(5 * MOST_DECISIONS, most_requests=20 * MOST_DECISIONS),
    "Mutation.reportComment": _WRITE,
    "Mutation.markHelpful": _WRITE,
    "Mutation.unmarkHelpful": _WRITE,
    "Mutation.createPhotoUploads": _WRITE,
    "Mutation.blockUser": _WRITE,
    "Mutation.unblockUser": _WRITE,
    "Mutation.updateProduct": _WRITE,
    "Mutation.placeOrder": _WRITE,
    "Mutation.setOrderStatus": _WRITE,
    "Mutation.updateProfile": _WRITE,
    "Mutation.createOrganization": _WRITE,
    "Mutation.addOrganizationUser": _WRITE,
    "Mutation.removeOrganizationUser": _WRITE,
    "Mutation.setOrganizationUserType": _WRITE,
    "Mutation.setSubscriptionPlan": _WRITE,
    "Mutation.createTicket": _WRITE,
    "Mutation.closeTicket": _WRITE,
    "CommentFacets.languages": _rows(5, MAX_LANGUAGES + MAX_VALUES),
    "CommentFacets.ratings": _rows(5),
    "CommentStatistics.histogram": _rows(5),
    "CommentStatistics.languages": _rows(5, MAX_LANGUAGES),
    "Comment.photos": _rows(2, MAX_PHOTOS),
    "CreatePhotoUploadsPayload.uploads": _rows(10),
    "PhotoUpload.fields": _rows(8),
    "CommentReports.reasons": _rows(2, len(ReportReason)),
    "CommentReports.reports": _rows(5, MOST_READ),
    "Order.lines": _rows(5, MAX_LINES),
    "PlanAlternative.segments": _rows(5, MAX_SEGMENTS),
    "QueryPlan.alternatives": _rows(4, MAX_SEGMENTS),
    "QueryPlan.segments": _rows(5, MAX_ANSWER_VALUES),
    "QueryPlan.steps": _rows(2, MAX_ANSWER_VALUES),
    "Submission.photos": _rows(2, MAX_PHOTOS),
    "Trend.points": _rows(60, MAX_POINTS),
    "TrendPoint.ratings": _rows(5),
}
"""The usual reads of each field and, if its value is a list, its usual and maximum length. The
server predicts the cost of operations from this table. It predicts no reads for a field that is not
in the table.

The key of a field is ``Type.field``. If the field ``second`` is selected directly below
``Type.first``, an entry ``Type.first.second`` replaces the usual entry of ``second``."""


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
    reads = {**READS, "Query._entities": READS["Query.nodes"]} if federation else READS
    schema = copy(
        _with_types(introspection=introspection, federation=federation, explain=explain, kind=kind)
    )
    schema.documents = DocumentCache(
        schema.documents.schema, reads, introspection=introspection, compiles=compiles
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
        reads=READS,
        query=query,
        mutation=Mutation,
        subscription=Subscription,
        types=(*NODE_TYPES, ErrorCode),
        config=StrawberryConfig(scalar_map=dict(scalars)),
    )
    schema.documents.schema.description = DESCRIPTION
    _describe_arguments(schema.documents.schema)
    return schema


def _describe_arguments(schema: GraphQLSchema) -> None:
    """Add a description to each argument that its resolver does not describe.

    Also remove the default null from arguments and input fields. Strawberry copies this default
    from the Python functions and classes, and the SDL would show it as ``= null``.
    """
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
