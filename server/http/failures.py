"""Failures outside GraphQL's execution, told in GraphQL's shape: ``{"errors": [...]}``."""

import logging
from collections.abc import Mapping

import orjson
from asgi_correlation_id import correlation_id
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

_CODES = {
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "THROTTLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}

_SHOWN = 300
"""Characters of a path that a message shows."""


def failure(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return one error as JSON; every status that names no other code is a BAD_REQUEST."""
    code = _CODES.get(status, "BAD_REQUEST")
    body = {"errors": [{"message": message, "extensions": {"code": code}}]}
    return Response(orjson.dumps(body), status, headers, "application/json")


def refusal(status: int, message: str, retry_after: int) -> Response:
    """Return what a client is told before its request is looked at; seconds until it may retry.

    Pages of any origin may read it: it tells nothing, and their scripts should know when to retry.
    """
    headers = {
        "Retry-After": str(retry_after),
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": "Retry-After",
    }
    return failure(status, message, headers)


async def http_failure(request: Request, error: Exception) -> Response:
    """Answer for what Starlette refuses itself: an unknown path, a wrong method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class alone
    path = request.url.path[:_SHOWN]
    sentences = {
        404: f"There is nothing at {path}: GraphQL is at /graphql.",
        405: f"{path} does not answer {request.method}.",
    }
    return failure(error.status_code, sentences.get(error.status_code, error.detail), error.headers)


class FailureMiddleware:
    """Answers 500 for what nobody caught and logs it once, with the request's id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a client that hung up needs no answer."""
        started = False

        async def noting_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        except ClientDisconnect:
            return
        except Exception:
            if scope["type"] != "http" or started:
                raise
            request_id = correlation_id.get()
            logger.exception("%s %r failed, request %s", scope["method"], scope["path"], request_id)
            answer = failure(500, f"The server failed; its log says more at request {request_id}.")
            await answer(scope, receive, send)
