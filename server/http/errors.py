"""Error responses to requests that GraphQL does not execute.

They have the same form as GraphQL's errors: ``{"errors": [...]}``.
"""

from collections.abc import Mapping

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_CODES = {
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "THROTTLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}

EXPOSED = ("X-Request-ID", "Retry-After", "RateLimit", "RateLimit-Policy")
"""The headers that scripts of other origins may read."""

_MAX_PATH = 300
"""Maximum characters of a request's path in a message."""


def failure(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with one error in JSON.

    The error's code depends on the status. The default is BAD_REQUEST.
    """
    code = _CODES.get(status, "BAD_REQUEST")
    body = {"errors": [{"message": message, "extensions": {"code": code}}]}
    return Response(orjson.dumps(body), status, headers, "application/json")


def refusal(status: int, message: str, retry_after: int) -> Response:
    """Return the response to a request that exceeds a limit. ``retry_after`` is in seconds.

    Scripts of any origin may read the response. It contains no data, and scripts need to know when
    to retry.
    """
    headers = {
        "Retry-After": str(retry_after),
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": ", ".join(EXPOSED),
    }
    return failure(status, message, headers)


async def http_failure(request: Request, error: Exception) -> Response:
    """Return the response for an exception of Starlette, for example for an unknown path."""
    assert isinstance(error, HTTPException)  # noqa: S101 - Starlette calls it only for this class
    path = request.url.path[:_MAX_PATH]
    messages = {
        404: f"There is no page at {path}. GraphQL is at /graphql.",
        405: f"{path} does not support the method {request.method}.",
    }
    return failure(error.status_code, messages.get(error.status_code, error.detail), error.headers)
