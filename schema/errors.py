"""Error codes, and how clients see the exceptions of resolvers and of the data-access layer."""

from enum import StrEnum
from functools import partial

from dal.dynamodb.errors import (
    CircuitOpenError,
    ConflictError,
    CredentialsExpiredError,
    QueryTooCostlyError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.errors import NotFoundError
from dal.query.errors import InvalidCursorError, NoIndexError, TooManySegmentsError
from dal.table.errors import InvalidArgumentError
from features.analytics.errors import (
    AWAY,
    NOT_SET_UP,
    AnalyticsFailedError,
    AnalyticsMissingError,
    AnalyticsUnavailableError,
)
from features.invitations.errors import LinkRevokedError
from resolvers.authorization import ForbiddenError, UnauthenticatedError
from resolvers.context import NotAvailableError
from schema.execution.errors import KnownError
from schema.types import show_enum


class ErrorCode(StrEnum):
    """The values of ``extensions.code``."""

    BAD_ARGUMENT = "BAD_ARGUMENT"
    BAD_CURSOR = "BAD_CURSOR"
    BAD_REQUEST = "BAD_REQUEST"
    FORBIDDEN = "FORBIDDEN"
    INTERNAL = "INTERNAL"
    INVITATION_REVOKED = "INVITATION_REVOKED"
    NOT_AVAILABLE = "NOT_AVAILABLE"
    NOT_FOUND = "NOT_FOUND"
    PERSISTED_QUERY_NOT_FOUND = "PERSISTED_QUERY_NOT_FOUND"
    PERSISTED_QUERY_NOT_SUPPORTED = "PERSISTED_QUERY_NOT_SUPPORTED"
    QUERY_TOO_COSTLY = "QUERY_TOO_COSTLY"
    THROTTLED = "THROTTLED"
    TOO_SLOW = "TOO_SLOW"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    UNAVAILABLE = "UNAVAILABLE"
    UNSUPPORTED_FILTER = "UNSUPPORTED_FILTER"
    UNTRUSTED_DOCUMENT = "UNTRUSTED_DOCUMENT"


show_enum(
    ErrorCode,
    "Error codes. Each error in `errors` has one of them in `extensions.code`. New versions of "
    "the server may add codes. Errors in a mutation's input have a `UserErrorCode` instead.",
    BAD_ARGUMENT="An argument has an invalid value. `extensions.argument` names the argument.",
    BAD_CURSOR="`after` or `before` is not a cursor that this list accepts.",
    BAD_REQUEST="The request is malformed, or its document or variables do not match the schema.",
    FORBIDDEN="The user does not have the right to do this.",
    INTERNAL="The server failed. `extensions.requestId` identifies the request in the server's "
    "log.",
    INVITATION_REVOKED="The shop has revoked the link of this request, or the order was cancelled.",
    NOT_AVAILABLE="This server does not offer the feature, such as analytics or uploads.",
    NOT_FOUND="The object does not exist or is not visible to the user, or no registered document "
    "has the requested id.",
    PERSISTED_QUERY_NOT_FOUND="The server has no document with this hash. Send the hash together "
    "with the document's text.",
    PERSISTED_QUERY_NOT_SUPPORTED="This server does not store documents that clients send. Send "
    "the document's text without a hash.",
    QUERY_TOO_COSTLY="The operation or its result is too large. Select fewer fields or rows.",
    THROTTLED="The client sends too many requests, the database is busy, or other requests keep "
    "changing the object. Wait for the number of seconds in the header `Retry-After`, or for one "
    "second if the response has no such header. Then retry.",
    TOO_SLOW="The client receives the events of a subscription too slowly. Subscribe again with "
    "the cursor of the last received event as `after`.",
    UNAUTHENTICATED="A JWT is missing, expired or invalid.",
    UNAVAILABLE="The data is temporarily unavailable. Retry later.",
    UNSUPPORTED_FILTER="The list does not support this combination of filters and sort order.",
    UNTRUSTED_DOCUMENT="This server executes only registered documents, and this document is not "
    "registered.",
)


class UserErrorCode(StrEnum):
    """The values of ``UserError.code``. Programs evaluate the codes; people read the messages."""

    BAD_ARGUMENT = "BAD_ARGUMENT"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    ALREADY_COMMENTED = "ALREADY_COMMENTED"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    NOT_BOUGHT = "NOT_BOUGHT"
    INVITATION_REVOKED = "INVITATION_REVOKED"
    INVITATION_USED = "INVITATION_USED"
    CONFLICT = "CONFLICT"


show_enum(
    UserErrorCode,
    "Codes of errors in a mutation's input.",
    BAD_ARGUMENT="A field of the input is invalid. `field` names it.",
    NOT_FOUND="The object does not exist or is not visible to the user.",
    ALREADY_EXISTS="The object already exists: the name is taken, or the user already belongs to "
    "the organisation.",
    ALREADY_COMMENTED="The shop allows a user only one comment on each product, and the user has "
    "one. `existingId` is its global `id`.",
    IDEMPOTENCY_KEY_REUSED="The idempotency key was used with a different input. Use a new key.",
    NOT_BOUGHT="The shop accepts comments only from buyers, and the user has not received the "
    "product or one of its variants.",
    INVITATION_REVOKED="The shop has revoked the link of this request, or the order was cancelled.",
    INVITATION_USED="The link of this request was already used for a comment on the product. "
    "`updateComment` can edit the comment until it is published.",
    CONFLICT="Other requests have changed the object. Reload the object and try again.",
)

UNAVAILABLE = (
    "The data is temporarily unavailable: try again in a moment. Repeat a write with the same "
    "idempotency key, because the first write may have been saved."
)

_unavailable = partial(KnownError, ErrorCode.UNAVAILABLE)
_fault = _unavailable(UNAVAILABLE)
"""An exception with a message for operators, which names hosts and commands."""

KNOWN_ERRORS = {
    InvalidCursorError: KnownError(ErrorCode.BAD_CURSOR),
    InvalidArgumentError: KnownError(ErrorCode.BAD_ARGUMENT, shown=("argument",)),
    NoIndexError: KnownError(ErrorCode.UNSUPPORTED_FILTER),
    TooManySegmentsError: KnownError(ErrorCode.QUERY_TOO_COSTLY),
    QueryTooCostlyError: KnownError(ErrorCode.QUERY_TOO_COSTLY),
    NotFoundError: KnownError(ErrorCode.NOT_FOUND),
    LinkRevokedError: KnownError(ErrorCode.INVITATION_REVOKED),
    UnauthenticatedError: KnownError(ErrorCode.UNAUTHENTICATED),
    ForbiddenError: KnownError(ErrorCode.FORBIDDEN),
    ThrottledError: KnownError(ErrorCode.THROTTLED),
    ConflictError: KnownError(ErrorCode.THROTTLED),
    StoreUnavailableError: _fault,
    CircuitOpenError: _fault,
    CredentialsExpiredError: _fault,
    StoreFullError: _fault,
    StoreDamagedError: _fault,
    AnalyticsUnavailableError: _unavailable(),
    AnalyticsMissingError: KnownError(ErrorCode.NOT_AVAILABLE, NOT_SET_UP),
    AnalyticsFailedError: _unavailable(AWAY, logged=True),
    NotAvailableError: KnownError(ErrorCode.NOT_AVAILABLE),
}
"""How clients see the exceptions of each class."""
