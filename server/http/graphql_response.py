"""Answers of GraphQL over HTTP: what a result becomes in the media type that was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.types import Send
from strawberry.types import ExecutionResult

from dal.limits import MAX_RESPONSE
from schema.execution.execute import SizedResult
from server.http.media_types import GRAPHQL

_FEW = 500
"""Values that are never too many to make JSON of them, however long they are."""

_TOO_LARGE = GraphQLError(
    f"The operation has run, but its answer of more than {MAX_RESPONSE:,} bytes is not sent: "
    "ask for fewer rows or fields.",
    extensions={"code": "QUERY_TOO_COSTLY"},
)
_TOO_LARGE_ANSWER = orjson.dumps({"data": None, "errors": [_TOO_LARGE.formatted]})


@dataclass(frozen=True, slots=True)
class GraphQLResponse:
    """An answer in JSON, and whether it ``failed``: whether it tells an error."""

    body: bytes
    status_code: int
    media_type: str
    failed: bool = False
    vary: bytes = b"Accept"
    headers: Sequence[tuple[bytes, bytes]] = ()
    """Those beside the usual ones."""

    async def send_by(self, send: Send) -> None:
        """Send the answer as ASGI has it."""
        headers = [(b"vary", self.vary), *self.headers]
        if self.body:
            headers.append((b"content-length", b"%d" % len(self.body)))
            headers.append((b"content-type", self.media_type.encode("latin-1")))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def graphql_response(result: ExecutionResult, media_type: str) -> GraphQLResponse:
    """Return the answer of a result.

    A request error, after which nothing has run, has no ``data``. It is a 4xx in GraphQL's own
    media type. In plain JSON every answer to a request that could be read is a 200, because a
    client cannot tell there whether GraphQL or something on the way has answered.
    """
    body: dict[str, Any] = {} if _is_request_error(result) else {"data": result.data}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    if result.extensions:
        body["extensions"] = result.extensions
    status = 200 if "data" in body or media_type != GRAPHQL else _status(body["errors"][0])
    encoded = _encoded(body, few=_is_small(result))
    failed = encoded is None or "errors" in body
    return GraphQLResponse(encoded or _TOO_LARGE_ANSWER, status, media_type, failed)


def _is_request_error(result: ExecutionResult) -> bool:
    """Return whether nothing has run: what fails in a field names its path."""
    errors = result.errors or []
    return result.data is None and bool(errors) and errors[0].path is None


def _status(error: Any) -> int:
    """Return the status of a request error; all clients and audits expect 400, and no 422."""
    return 500 if error["extensions"]["code"] == "INTERNAL" else 400


def _is_small(result: ExecutionResult) -> bool:
    """Return whether few values were expected."""
    return isinstance(result, SizedResult) and result.values is not None and result.values <= _FEW


def _encoded(body: dict[str, Any], *, few: bool) -> bytes | None:
    """Return an answer in JSON, None where it is too large."""
    if few or not _surely_larger(body, MAX_RESPONSE):
        encoded = orjson.dumps(body)
        if len(encoded) <= MAX_RESPONSE:
            return encoded
    return None


def _surely_larger(body: Any, most: int) -> bool:
    """Return whether the characters alone are more than ``most``: then no JSON is made of them."""
    values, left = [body], most
    for value in values:  # it grows by what is in a list or an object
        kind = type(value)
        if kind is str:
            left -= len(value)
            if left < 0:
                return True
        elif kind is dict:
            values += value.values()
        elif kind is list:
            values += value
    return False
