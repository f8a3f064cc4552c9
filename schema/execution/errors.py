"""What a client sees of an error: its ``extensions.code`` and its message.

An exception that ``CODES`` does not name is a bug of the server: it is logged once with the
request's id and shown as INTERNAL, without its message.

graphql-core's messages about arguments and variables show values as Python literals. The client
knows the value that it sent, so a message here names the place and the expected type.
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
from resolvers.authorization import ForbiddenError, UnauthenticatedError
from schema.execution.cost import QueryTooCostlyError

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
"""Errors with messages for operators: they name hosts and commands, and appear only in the log."""

UNAVAILABLE = (
    "The data is temporarily unavailable: try again in a moment. Repeat a write with the same "
    "idempotency key, since it may have been saved."
)

_WITHHELD = (
    "The document or its variables do not fit the schema, which this server does not show: "
    "introspection is off."
)

_FOUND = (", found: ", " Found: ")
"""Text that graphql-core puts before a value."""

_SENTENCES = {
    "Value cannot represent a DateTime: ": "A DateTime is an instant such as 2024-12-01T00:00:00Z.",
    "Value cannot represent a Decimal: ": 'A Decimal is text such as "12.50".',
    "Value cannot represent a CurrencyCode: ": 'A CurrencyCode is text such as "EUR".',
    "Boolean cannot represent ": "A Boolean is true or false.",
    "Float cannot represent ": "A Float is a number.",
    "ID cannot represent ": "An ID is a string or an integer.",
    "Int cannot represent ": "An Int is a whole number of 32 bits.",
    "String cannot represent ": "A String is text between quotation marks.",
}
"""Beginnings of graphql-core's messages, and the sentences that replace them."""


def log_faults(faults: list[GraphQLError]) -> None:
    """Log each bug of the server once, with its traceback.

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


def client_errors(faults: list[GraphQLError], *, introspection: bool) -> list[GraphQLError]:
    """Return a result's errors as its client may see them, limited in number and length.

    Without ``introspection`` one sentence replaces all of GraphQL's own errors about the schema: a
    tool that guesses names learns from their number and their suggestions which names exist.
    """
    if not introspection and any(map(_reveals_schema, faults)):
        faults = [GraphQLError(_WITHHELD)]
    left = len(faults) - MAX_ERRORS
    more = [GraphQLError(f"{left:,} more errors are not listed.")] if left > 0 else []
    return [client_error(fault) for fault in (*faults[:MAX_ERRORS], *more)]


def client_error(error: GraphQLError) -> GraphQLError:
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


def plain(message: str) -> str:
    """Return graphql-core's message about a client's input in plain words."""
    place, colon, reason = message.partition(": ")
    if not place.startswith("Variable '$") or not colon:
        place, colon, reason = "", "", message
    return f"{place}{colon}{_plain(reason)}"


def _plain(reason: str) -> str:
    for start, sentence in _SENTENCES.items():
        if reason.startswith(start):
            return sentence
    if reason.startswith("Expected value of type '"):
        for sign in _FOUND:
            expected, found, _ = reason.partition(sign)
            if found:
                return f"{expected}."
    if reason.startswith("Expected ") and reason.endswith(" not to be None."):
        return f"{reason.removesuffix('None.')}null."
    enum, found, _ = reason.partition(" cannot represent ")
    if found and enum.startswith("Enum '"):
        return f"Expected one of the names of the {enum.replace('Enum', 'enum', 1)}."
    return reason


def _code(error: GraphQLError) -> str:
    original = error.original_error
    if original is None or isinstance(original, GraphQLError):
        return "BAD_REQUEST"  # graphql-core's own: syntax, validation, coercion
    return CODES.get(type(original), "INTERNAL")


def _reveals_schema(fault: GraphQLError) -> bool:
    """Return whether an error is GraphQL's own about a part of the document."""
    graphqls_own = isinstance(fault.original_error, GraphQLError | None)
    return graphqls_own and fault.path is None and bool(fault.nodes)
