"""The operation that a request of GraphQL over HTTP holds: in a POST's body, or a GET's address."""

from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from server.http.media_types import JSON
from server.http.request_body import read_body

_Member = TypeVar("_Member", str, dict[str, Any])


@dataclass(frozen=True, slots=True)
class Operation:
    """What to run; ``query`` is None where the client sends the hash of a text it has kept back."""

    query: str | None
    variables: dict[str, Any] | None
    name: str | None
    extensions: dict[str, Any] | None


def header(scope: Scope, name: bytes) -> str | None:
    """Return the first header of a lower-case name."""
    for given, value in scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


async def read_operation(scope: Scope, receive: Receive) -> Operation:
    """Return the operation of a request; HTTPException says what it lacks.

    A POST is JSON and nothing else: of the other types a form of any site can send some.
    """
    if scope["method"] != "POST":
        return _operation(_parameters(QueryParams(scope["query_string"])))
    media_type = (header(scope, b"content-type") or "").partition(";")[0]
    if media_type.strip().lower() != JSON:
        raise HTTPException(415, f"Send the operation with Content-Type: {JSON}.")
    body = _parsed(await read_body(receive), "The body")
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object that holds one operation.")
    return _operation(body)


def _parameters(query: QueryParams) -> dict[str, Any]:
    """Return what an address says; an empty parameter is as good as none."""
    given: dict[str, Any] = {name: text for name, text in query.items() if text}
    for name in given.keys() & {"variables", "extensions"}:
        given[name] = _parsed(given[name], repr(name))
    return given


def _parsed(text: str | bytes, place: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise HTTPException(400, f"{place} is not valid JSON: {error}.") from error


def _operation(given: dict[str, Any]) -> Operation:
    query = _member(given, "query", str) or None
    extensions = _member(given, "extensions", dict)
    if query is None and "persistedQuery" not in (extensions or {}):
        raise HTTPException(400, "The request lacks the operation: put its text in 'query'.")
    return Operation(
        query=query,
        variables=_member(given, "variables", dict),
        name=_member(given, "operationName", str),
        extensions=extensions,
    )


def _member(given: dict[str, Any], name: str, kind: type[_Member]) -> _Member | None:
    value = given.get(name)
    if value is None or isinstance(value, kind):
        return value
    expected = "a string" if kind is str else "an object"
    raise HTTPException(400, f"{name!r} must be {expected}.")
