"""Reads GraphQL requests over HTTP: media types, bodies, operations and documents.

A client names the document of its operation in one of three ways:

- by its text in ``query``.
- by its id in ``documentId`` (GraphQL over HTTP), or in ``doc_id`` or ``id`` (Relay).
- by the hash of its text in ``extensions.persistedQuery.sha256Hash`` (Apollo, urql). With automatic
  persisted queries, clients first send only the hash. If the server responds that it has no text
  for the hash, they send the request again with the text.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import orjson
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

MAX_BODY = 1_000_000
"""Maximum bytes of a request body. The longest comment needs 60,000 bytes."""

GRAPHQL = "application/graphql-response+json"
JSON = "application/json"
HTML = "text/html"

_JSON_RANGES = (JSON, "application/*", "*/*")
"""Media ranges that mean JSON. A client that accepts any type also gets JSON, because every client
can read JSON."""

_CACHED_LENGTH = 200
"""Maximum characters of an Accept header for which ``preferred`` caches its result."""

_ID_NAMES = ("documentId", "doc_id", "id")
"""The JSON members that may contain a document's id, in GraphQL over HTTP and in Relay's
examples."""

_Member = TypeVar("_Member", str, dict[str, Any])


def header(scope: Scope, name: bytes) -> str | None:
    """Return the value of the first header ``name`` (in lower case), or None if it is missing."""
    for given, value in scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


def is_shared(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether shared caches may store a response with ``headers`` for other clients."""
    for name, value in headers:  # a generator would take twice the time
        if name == b"cache-control":
            return value.startswith(b"public")
    return False


def preferred(accept: str | None, offered: Sequence[str]) -> str | None:
    """Return the offered media type that an Accept header prefers, or None if it accepts none.

    If types have equal quality, the first of them in ``offered`` wins. Without the header, all
    types have equal quality.
    """
    accept = accept or "*/*"
    choose = _preferred_cached if len(accept) <= _CACHED_LENGTH else _preferred
    return choose(accept, tuple(offered))


def prefers_html(accept: str | None) -> bool:
    """Return whether an Accept header prefers a page to JSON, as those of browsers do."""
    return preferred(accept, (HTML, JSON)) == HTML


def _preferred(accept: str, offered: tuple[str, ...]) -> str | None:
    weights = qualities(accept.lower())

    def quality(name: str) -> float:
        ranges = _JSON_RANGES if name == JSON else (name,)
        return next((weights[one] for one in ranges if one in weights), 0.0)

    best = max(offered, key=quality)
    return best if quality(best) > 0 else None


_preferred_cached = lru_cache(maxsize=200)(_preferred)


def qualities(accept: str) -> dict[str, float]:
    """Return the quality of each value in an Accept header.

    The quality is 1 if it is missing or malformed. The headers for media types, languages and
    codings have the same syntax (RFC 9110, 12.4.2).
    """
    found = {}
    for part in accept.split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weights = [given.removeprefix("q=") for given in parameters if given.startswith("q=")]
        try:
            found[name] = float(weights[0]) if weights else 1.0
        except ValueError:
            found[name] = 1.0
    return found


async def read_body(receive: Receive) -> bytes:
    """Return the whole body.

    Raise HTTPException 413 if the body is too large, and ClientDisconnect if the client has
    disconnected.
    """
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY:
            raise HTTPException(
                413,
                f"The body is larger than {MAX_BODY:,} bytes.",
                # On an open connection, the server would have to read the rest of the body.
                {"Connection": "close"},
            )
    return body


class GraphQLRequest(NamedTuple):
    """The operation of a request. ``query`` is None if the client sent an id or only a hash."""

    query: str | None
    document_id: str | None
    sha256: str | None
    """The hash of the operation's text, from a client with automatic persisted queries. The client
    may send the text, too, in ``query``."""
    variables: dict[str, Any] | None
    operation_name: str | None
    extensions: dict[str, Any] | None


async def read_request(scope: Scope, receive: Receive) -> GraphQLRequest:
    """Return the operation of a POST or GET. Raise HTTPException if the request is malformed.

    The body of a POST must have the media type of JSON. Other types are not safe, because a form on
    any site can make a browser send them.
    https://graphql.github.io/graphql-over-http/draft/#sec-Request
    """
    if scope["method"] != "POST":
        query = QueryParams(scope["query_string"])
        parameters: dict[str, Any] = {name: text for name, text in query.items() if text}
        for name in parameters.keys() & {"variables", "extensions"}:
            parameters[name] = _parsed(parameters[name], repr(name))
        return request_of(parameters)
    media_type = (header(scope, b"content-type") or "").partition(";")[0]
    if media_type.strip().lower() != JSON:
        raise HTTPException(415, f"Send the operation with Content-Type: {JSON}.")
    body = _parsed(await read_body(receive), "The body")
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object with one operation.")
    return request_of(body)


def _parsed(text: str | bytes, place: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise HTTPException(400, f"{place} is not valid JSON: {error}.") from error


def request_of(given: dict[str, Any]) -> GraphQLRequest:
    """Return the operation in a JSON object. Raise HTTPException if the operation is malformed."""
    query = _member(given, "query", str) or None
    extensions = _member(given, "extensions", dict)
    document_id = None
    if query is None:
        ids = (_member(given, name, str) for name in _ID_NAMES)
        document_id = next(filter(None, ids), None)
    elif given.get("documentId") is not None:
        raise HTTPException(400, "Send a text in 'query' or an id in 'documentId', but not both.")
    sha256 = _sha256(extensions or {})
    if query is None and document_id is None and sha256 is None:
        raise HTTPException(
            400,
            "The request has no operation: send its text in 'query', or the id of a registered "
            "document in 'documentId'.",
        )
    return GraphQLRequest(
        query=query,
        document_id=document_id,
        sha256=sha256,
        variables=_member(given, "variables", dict),
        operation_name=_member(given, "operationName", str),
        extensions=extensions,
    )


def _sha256(extensions: dict[str, Any]) -> str | None:
    persisted = extensions.get("persistedQuery")
    if persisted is None:
        return None
    digest = persisted.get("sha256Hash") if isinstance(persisted, dict) else None
    if not isinstance(digest, str):
        raise HTTPException(400, "'extensions.persistedQuery' must contain a string 'sha256Hash'.")
    return digest


def _member(given: dict[str, Any], name: str, kind: type[_Member]) -> _Member | None:
    value = given.get(name)
    if value is None or isinstance(value, kind):
        return value
    expected = "a string" if kind is str else "an object"
    raise HTTPException(400, f"{name!r} must be {expected}.")
