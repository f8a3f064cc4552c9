"""Errors as clients see them: ``extensions.code`` and a message.

An exception that is not in the program's ``KnownErrors`` is a bug of the server. It is logged once,
with the request's id. The client gets the code INTERNAL, without the exception's message.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from asgi_correlation_id import correlation_id
from graphql import GraphQLError

MAX_ERRORS = 20
MAX_MESSAGE = 300
"""Maximum errors in a response, and maximum characters of each error's message. Without these
limits, a response could be very long, because graphql-core repeats the client's input in its
messages."""

_log = logging.getLogger(__name__)


BAD_REQUEST = "BAD_REQUEST"
INTERNAL = "INTERNAL"
"""The codes of graphql-core's errors, and of bugs of the server."""


@dataclass(frozen=True, slots=True)
class KnownError:
    """How clients see the exceptions of a class.

    - ``code``: the value of ``extensions.code``.
    - ``message``: a message for clients, if the exception's own message is for operators.
    - ``logged``: whether the exception's own message is logged, as a warning.
    - ``shown``: the names of attributes of the exception that ``extensions`` contains, too.
    """

    code: str
    message: str | None = None
    logged: bool = False
    shown: tuple[str, ...] = ()


KnownErrors: TypeAlias = Mapping[type[Exception], KnownError]
"""How clients see the exceptions of each class. Subclasses need their own entries."""

_WITHHELD = (
    "The document or its variables do not fit the schema. This server does not show its schema, "
    "because introspection is off."
)


def log_faults(faults: list[GraphQLError], known: KnownErrors) -> None:
    """Log each bug of the server once, with its traceback.

    Also log the messages of known errors with ``logged``, because clients do not see them.
    """
    for fault in faults:
        one = _known(fault, known)
        if one is not None and one.logged:
            _log.warning("Request %s: %s", correlation_id.get(), fault.original_error)
        if one is None:
            _log.error(
                "Request %s failed at %s",
                correlation_id.get(),
                fault.path,
                exc_info=fault.original_error,
            )


def client_errors(
    faults: list[GraphQLError], known: KnownErrors, *, introspection: bool
) -> list[GraphQLError]:
    """Return a result's errors in the form that its client may see, limited in number and length.

    If ``introspection`` is false, and graphql-core has found an error in the document or its
    variables, one sentence replaces all errors. Without this replacement, a tool that guesses names
    could learn which names exist, from the number of errors and from the suggestions in them.
    """
    if not introspection and any(map(_reveals_schema, faults)):
        faults = [GraphQLError(_WITHHELD)]
    left = len(faults) - MAX_ERRORS
    more = [GraphQLError(f"{left:,} more errors are not listed.")] if left > 0 else []
    return [client_error(fault, known) for fault in (*faults[:MAX_ERRORS], *more)]


def client_error(error: GraphQLError, known: KnownErrors) -> GraphQLError:
    """Return an error in the form that its client may see, with its code."""
    one, original = _known(error, known), error.original_error
    message, extensions = error.message, dict(error.extensions or {})
    if one is None:
        message = (
            "The server failed on this field. The server's log has the reason under the request id."
        )
        extensions |= {"code": INTERNAL, "requestId": correlation_id.get()}
    else:
        message = one.message or message
        extensions["code"] = str(one.code)
        extensions |= {name: getattr(original, name) for name in one.shown}
    if one is _GRAPHQLS_OWN:
        message = message.replace("not to be None.", "not to be null.")
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


_GRAPHQLS_OWN = KnownError(BAD_REQUEST)
"""An error of graphql-core: syntax, validation or coercion."""


def _known(error: GraphQLError, known: KnownErrors) -> KnownError | None:
    """Return how clients see an error; None for a bug of the server."""
    original = error.original_error
    if original is None or isinstance(original, GraphQLError):
        return _GRAPHQLS_OWN
    return known.get(type(original))


def _reveals_schema(fault: GraphQLError) -> bool:
    """Return whether graphql-core reports an error in the document or its variables."""
    graphqls_own = isinstance(fault.original_error, GraphQLError | None)
    return graphqls_own and fault.path is None and bool(fault.nodes)
