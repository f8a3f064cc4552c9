"""What a client sees of an error: its ``extensions.code`` and message.

An exception outside ``CODES`` is a fault of the server: it is logged once with the request's id and
shown as INTERNAL, without its message.
"""

import logging

from asgi_correlation_id import correlation_id
from graphql import GraphQLError

from dal import errors
from dal.analytics.errors import (
    AWAY,
    NOT_SET_UP,
    AnalyticsFailedError,
    AnalyticsMissingError,
    AnalyticsUnavailableError,
)
from dal.limits import MAX_ERRORS, MAX_MESSAGE
from dal.live.log import SlowListenerError
from resolvers.request.authorization import ForbiddenError, UnauthenticatedError
from schema.execution.cost import QueryTooCostlyError
from schema.execution.messages import plain

_log = logging.getLogger(__name__)

CODES: dict[type[Exception], str] = {
    errors.InvalidCursorError: "BAD_CURSOR",
    errors.InvalidArgumentError: "BAD_ARGUMENT",
    errors.NoIndexError: "UNSUPPORTED_FILTER",
    errors.TooManySegmentsError: "QUERY_TOO_COSTLY",
    QueryTooCostlyError: "QUERY_TOO_COSTLY",
    errors.NotFoundError: "NOT_FOUND",
    UnauthenticatedError: "UNAUTHENTICATED",
    ForbiddenError: "FORBIDDEN",
    errors.ThrottledError: "THROTTLED",
    errors.ConflictError: "THROTTLED",
    SlowListenerError: "TOO_SLOW",
    errors.StoreUnavailableError: "UNAVAILABLE",
    errors.CircuitOpenError: "UNAVAILABLE",
    errors.CredentialsExpiredError: "UNAVAILABLE",
    errors.StoreFullError: "UNAVAILABLE",
    errors.StoreDamagedError: "UNAVAILABLE",
    AnalyticsUnavailableError: "UNAVAILABLE",
    AnalyticsMissingError: "UNAVAILABLE",
    AnalyticsFailedError: "UNAVAILABLE",
}


STORE_FAULTS = (
    errors.StoreUnavailableError,
    errors.CredentialsExpiredError,
    errors.StoreFullError,
    errors.StoreDamagedError,
)
"""Faults with messages for operators: they name hosts and commands, and go to the log only."""

UNAVAILABLE = (
    "The data is temporarily unavailable: try again in a moment. Repeat a write with the same "
    "idempotency key, since it may have been saved."
)


def log_faults(faults: list[GraphQLError]) -> None:
    """Log each fault of the server once, with its traceback.

    Also log the message of an analytics store that failed, which clients do not see.
    """
    for fault in faults:
        if isinstance(fault.original_error, AnalyticsFailedError):
            _log.warning("Request %s: %s", correlation_id.get(), fault.original_error)
        if _code(fault) == "INTERNAL":
            _log.error(
                "Request %s failed at %s",
                correlation_id.get(),
                fault.path,
                exc_info=fault.original_error,
            )


def told(faults: list[GraphQLError]) -> list[GraphQLError]:
    """Return errors as their client may see them: not too many, and none too long."""
    left = len(faults) - MAX_ERRORS
    more = [GraphQLError(f"{left:,} more errors are not listed.")] if left > 0 else []
    return [shown(fault) for fault in (*faults[:MAX_ERRORS], *more)]


def shown(error: GraphQLError) -> GraphQLError:
    """Return an error as its client may see it, with its code."""
    code = _code(error)
    original = error.original_error
    message, extensions = error.message, {**(error.extensions or {}), "code": code}
    if original is None or isinstance(original, GraphQLError):
        message = plain(message)
    if code == "INTERNAL":
        message = "The server failed on this field; its log has the reason under the request id."
        extensions["requestId"] = correlation_id.get()
    if isinstance(original, AnalyticsFailedError):
        message = AWAY
    if isinstance(original, AnalyticsMissingError):
        message = NOT_SET_UP
    if isinstance(original, STORE_FAULTS):
        message = UNAVAILABLE
    if isinstance(original, errors.InvalidArgumentError):
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


def _code(error: GraphQLError) -> str:
    original = error.original_error
    if original is None or isinstance(original, GraphQLError):
        return "BAD_REQUEST"  # graphql-core's own: syntax, validation, coercion
    return CODES.get(type(original), "INTERNAL")
