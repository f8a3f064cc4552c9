"""The operation that a request of GraphQL over HTTP holds: in a POST's body, or a GET's address."""

from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from server.http.media_types import JSON
from server.http.request_body import read_body

_IDS = ("documentId", "doc_id", "id")
"""Where a document's id may stand: as GraphQL over HTTP has it, and as Relay's networks send it."""

_Member = TypeVar("_Member", str, dict[str, Any])


@dataclass(frozen=True, slots=True)
class Operation:
    """What to run; ``query`` is None where the client sends an id or the hash of a text instead."""

    query: str | None
    document_id: str | None
    sha256: str | None
    """The hash that clients with automatic persisted queries send, beside the text or alone."""
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
        return operation_of(_parameters(QueryParams(scope["query_string"])))
    media_type = (header(scope, b"content-type") or "").partition(";")[0]
    if media_type.strip().lower() != JSON:
        raise HTTPException(415, f"Send the operation with Content-Type: {JSON}.")
    body = _parsed(await read_body(receive), "The body")
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object that holds one operation.")
    return operation_of(body)


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


def operation_of(given: dict[str, Any]) -> Operation:
    """Return the operation that JSON or an address holds; HTTPException says what it lacks."""
    query = _member(given, "query", str) or None
    extensions = _member(given, "extensions", dict)
    document_id, sha256 = _document_id(given, query), _sha256(extensions)
    if query is None and document_id is None and sha256 is None:
        raise HTTPException(
            400,
            "The request lacks the operation: put its text in 'query', or the id of a registered "
            "document in 'documentId'.",
        )
    return Operation(
        query=query,
        document_id=document_id,
        sha256=sha256,
        variables=_member(given, "variables", dict),
        name=_member(given, "operationName", str),
        extensions=extensions,
    )


def _document_id(given: dict[str, Any], query: str | None) -> str | None:
    if query is None:
        return next(filter(None, (_member(given, name, str) for name in _IDS)), None)
    if given.get("documentId") is not None:
        raise HTTPException(400, "Send a text in 'query' or an id in 'documentId', not both.")
    return None


def _sha256(extensions: dict[str, Any] | None) -> str | None:
    persisted = (extensions or {}).get("persistedQuery")
    if persisted is None:
        return None
    digest = persisted.get("sha256Hash") if isinstance(persisted, dict) else None
    if not isinstance(digest, str):
        raise HTTPException(400, "'extensions.persistedQuery' must hold a string 'sha256Hash'.")
    return digest


def _member(given: dict[str, Any], name: str, kind: type[_Member]) -> _Member | None:
    value = given.get(name)
    if value is None or isinstance(value, kind):
        return value
    expected = "a string" if kind is str else "an object"
    raise HTTPException(400, f"{name!r} must be {expected}.")
