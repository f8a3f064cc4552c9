"""Errors as clients see them: ``extensions.code`` and a message.

An exception that is not in ``CODES`` is a bug of the server. It is logged once, with the request's
id. The client gets the code INTERNAL, without the exception's message.
"""

import logging
from enum import StrEnum

from asgi_correlation_id import correlation_id
from graphql import GraphQLError

from dal.analytics.errors import (
    AWAY,
    NOT_SET_UP,
    AnalyticsFailedError,
    AnalyticsMissingError,
    AnalyticsUnavailableError,
)
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
from dal.live.log import SlowListenerError
from dal.query.errors import InvalidCursorError, NoIndexError, TooManySegmentsError
from dal.table.errors import InvalidArgumentError
from resolvers.authorization import ForbiddenError, UnauthenticatedError
from resolvers.context import NotAvailableError

MAX_ERRORS = 20
MAX_MESSAGE = 300
"""Maximum errors in a response, and maximum characters of each error's message. Without these
limits, a response could be very long, because graphql-core repeats the client's input in its
messages."""

_log = logging.getLogger(__name__)


class ErrorCode(StrEnum):
    """The values of ``extensions.code``."""

    BAD_ARGUMENT = "BAD_ARGUMENT"
    BAD_CURSOR = "BAD_CURSOR"
    BAD_REQUEST = "BAD_REQUEST"
    FORBIDDEN = "FORBIDDEN"
    INTERNAL = "INTERNAL"
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


CODES: dict[type[Exception], ErrorCode] = {
    InvalidCursorError: ErrorCode.BAD_CURSOR,
    InvalidArgumentError: ErrorCode.BAD_ARGUMENT,
    NoIndexError: ErrorCode.UNSUPPORTED_FILTER,
    TooManySegmentsError: ErrorCode.QUERY_TOO_COSTLY,
    QueryTooCostlyError: ErrorCode.QUERY_TOO_COSTLY,
    NotFoundError: ErrorCode.NOT_FOUND,
    UnauthenticatedError: ErrorCode.UNAUTHENTICATED,
    ForbiddenError: ErrorCode.FORBIDDEN,
    ThrottledError: ErrorCode.THROTTLED,
    ConflictError: ErrorCode.THROTTLED,
    SlowListenerError: ErrorCode.TOO_SLOW,
    StoreUnavailableError: ErrorCode.UNAVAILABLE,
    CircuitOpenError: ErrorCode.UNAVAILABLE,
    CredentialsExpiredError: ErrorCode.UNAVAILABLE,
    StoreFullError: ErrorCode.UNAVAILABLE,
    StoreDamagedError: ErrorCode.UNAVAILABLE,
    AnalyticsUnavailableError: ErrorCode.UNAVAILABLE,
    AnalyticsMissingError: ErrorCode.NOT_AVAILABLE,
    AnalyticsFailedError: ErrorCode.UNAVAILABLE,
    NotAvailableError: ErrorCode.NOT_AVAILABLE,
}

STORE_FAULTS = (
    StoreUnavailableError,
    CredentialsExpiredError,
    StoreFullError,
    StoreDamagedError,
)
"""Errors with messages for operators. The messages name hosts and commands, so clients do not see
them."""

UNAVAILABLE = (
    "The data is temporarily unavailable: try again in a moment. Repeat a write with the same "
    "idempotency key, because the first write may have been saved."
)

_WITHHELD = (
    "The document or its variables do not fit the schema. This server does not show its schema, "
    "because introspection is off."
)


def log_faults(faults: list[GraphQLError]) -> None:
    """Log each bug of the server once, with its traceback.

    Also log the message of a failed analytics store, because clients do not see it.
    """
    for fault in faults:
        if isinstance(fault.original_error, AnalyticsFailedError):
            _log.warning("Request %s: %s", correlation_id.get(), fault.original_error)
        if _code(fault) == ErrorCode.INTERNAL:
            _log.error(
                "Request %s failed at %s",
                correlation_id.get(),
                fault.path,
                exc_info=fault.original_error,
            )


def client_errors(faults: list[GraphQLError], *, introspection: bool) -> list[GraphQLError]:
    """Return a result's errors in the form that its client may see, limited in number and length.

    If ``introspection`` is false, and graphql-core has found an error in the document or its
    variables, one sentence replaces all errors. Without this replacement, a tool that guesses names
    could learn which names exist, from the number of errors and from the suggestions in them.
    """
    if not introspection and any(map(_reveals_schema, faults)):
        faults = [GraphQLError(_WITHHELD)]
    left = len(faults) - MAX_ERRORS
    more = [GraphQLError(f"{left:,} more errors are not listed.")] if left > 0 else []
    return [client_error(fault) for fault in (*faults[:MAX_ERRORS], *more)]


def client_error(error: GraphQLError) -> GraphQLError:
    """Return an error in the form that its client may see, with its code."""
    code = _code(error)
    original = error.original_error
    message, extensions = error.message, {**(error.extensions or {}), "code": code.value}
    if original is None or isinstance(original, GraphQLError):
        message = message.replace("not to be None.", "not to be null.")
    if code == ErrorCode.INTERNAL:
        message = (
            "The server failed on this field. The server's log has the reason under the request id."
        )
        extensions["requestId"] = correlation_id.get()
    if isinstance(original, AnalyticsFailedError):
        message = AWAY
    if isinstance(original, AnalyticsMissingError):
        message = NOT_SET_UP
    if isinstance(original, STORE_FAULTS):
        message = UNAVAILABLE
    if isinstance(original, InvalidArgumentError):
        extensions["argument"] = original.argument
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}…"
    return GraphQLError(
        message,
        nodes=error.nodes,
        source=error.source,
        positions=error.positions,
        path=error.path,
        extensions=extensions,
    )


def _code(error: GraphQLError) -> ErrorCode:
    original = error.original_error
    if original is None or isinstance(original, GraphQLError):
        return ErrorCode.BAD_REQUEST  # an error of graphql-core: syntax, validation or coercion
    return CODES.get(type(original), ErrorCode.INTERNAL)


def _reveals_schema(fault: GraphQLError) -> bool:
    """Return whether graphql-core reports an error in the document or its variables."""
    graphqls_own = isinstance(fault.original_error, GraphQLError | None)
    return graphqls_own and fault.path is None and bool(fault.nodes)
