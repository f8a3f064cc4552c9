"""Reads GraphQL requests over HTTP: media types, bodies, operations and documents.

A client names the document of its operation in one of three ways:

- by its text in ``query``.
- by its id in ``documentId`` (GraphQL over HTTP), or in ``doc_id`` or ``id`` (Relay).
- by the hash of its text in ``extensions.persistedQuery.sha256Hash`` (Apollo, urql). With automatic
  persisted queries, clients first send only the hash. If the server responds that it has no text
  for the hash, they send the request again with the text.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import Any, TypeVar

import orjson
from cachetools import LRUCache, TTLCache
from graphql import GraphQLError
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from dal.table.errors import DalError
from features.trusted_documents.documents import BrokenDocumentError, TrustedDocuments, hash_of
from features.trusted_documents.repository import DocumentRepository
from schema.errors import KNOWN_ERRORS
from schema.execution.documents import MAX_DOCUMENT
from schema.execution.errors import client_error

AUTOMATIC_BYTES = 16_000_000
"""Maximum bytes of the documents that clients register by hash (automatic persisted queries). Above
this limit, the server drops the least recently used documents."""

MAX_BODY = 1_000_000
"""Maximum bytes of a request body. The longest comment needs 60,000 bytes."""

GRAPHQL = "application/graphql-response+json"
JSON = "application/json"
HTML = "text/html"
EVENT_STREAM = "text/event-stream"

_JSON_RANGES = (JSON, "application/*", "*/*")
"""Media ranges that mean JSON. A client that accepts any type also gets JSON, because every client
can read JSON."""

_CACHED_LENGTH = 200
"""Maximum characters of an Accept header for which ``preferred`` caches its result."""

_ID_NAMES = ("documentId", "doc_id", "id")
"""The JSON members that may contain a document's id, in GraphQL over HTTP and in Relay's
examples."""

_ENTRY_BYTES = 400
"""The approximate bytes of memory that a text registered by a client needs in addition to the text
itself."""

REFUSED_TEXTS = 1_000
REFUSED_SECONDS = 5.0
"""If only registered documents are allowed (``trusted_only``), the server refuses the texts of all
other documents. It remembers up to ``REFUSED_TEXTS`` refused texts, each for ``REFUSED_SECONDS``.
If a client sends one of them again, the server refuses it without reading the table."""

_NOT_SUPPORTED = "PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED"
_NOT_FOUND = "PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND"
"""Two errors for a hash without a known text, each with its message and code. After either error, a
client sends the operation's text.

After PERSISTED_QUERY_NOT_SUPPORTED, Apollo and urql send the text with this and every later
request. After PERSISTED_QUERY_NOT_FOUND, they send the text only with this request. Some clients
read the message, and others read the code:
https://www.apollographql.com/docs/apollo-server/performance/apq"""

_Member = TypeVar("_Member", str, dict[str, Any])

logger = logging.getLogger(__name__)


def header(scope: Scope, name: bytes) -> str | None:
    """Return the value of the first header ``name`` (in lower case), or None if it is missing."""
    for given, value in scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


def preferred(accept: str | None, offered: Sequence[str]) -> str | None:
    """Return the offered media type that an Accept header prefers, or None if it accepts none.

    If types have equal quality, the first of them in ``offered`` wins. Without the header, all
    types have equal quality.
    """
    accept = accept or "*/*"
    choose = _preferred_cached if len(accept) <= _CACHED_LENGTH else _preferred
    return choose(accept, tuple(offered))


def wants_events(scope: Scope) -> bool:
    """Return whether a request prefers server-sent events to JSON.

    If a request accepts events and JSON equally, it gets JSON, because urql accepts both even in
    requests that are not subscriptions.
    """
    accept = header(scope, b"accept")
    return preferred(accept, (GRAPHQL, JSON, EVENT_STREAM)) == EVENT_STREAM


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


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
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


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document.

    ``trusted`` is true if the request named a trusted document by its id or hash, without the text.
    """

    text: str
    trusted: bool = False


class PersistedDocuments:
    """Finds the document of a request by its text, its id or its hash.

    Trusted documents are documents that the operator has registered. If ``trusted_only`` is true,
    the server runs no other documents. If ``automatic`` is true, clients may register the texts of
    automatic persisted queries.
    """

    def __init__(
        self,
        trusted: TrustedDocuments,
        stored: DocumentRepository,
        *,
        trusted_only: bool = False,
        automatic: bool = False,
    ) -> None:
        self._trusted = trusted
        self._stored = stored
        self._trusted_only = trusted_only
        self._refused: TTLCache[str, None] = TTLCache(REFUSED_TEXTS, REFUSED_SECONDS, monotonic)
        """The SHA-256 hashes of texts that were refused recently."""
        self._automatic: LRUCache[str, str] | None = None
        if automatic:
            self._automatic = LRUCache(
                AUTOMATIC_BYTES, lambda text: len(text.encode()) + _ENTRY_BYTES
            )

    async def find(self, request: GraphQLRequest) -> Document:
        """Return the document of a request.

        Raise GraphQLError with a code, for example if the id is unknown, if the server runs only
        trusted documents, or if the table cannot be read.
        """
        if request.query is None:
            return await self._by_id(request.document_id or request.sha256 or "", request)
        if self._trusted_only and not await self._is_trusted(request.query):
            raise _error(
                "This server runs only registered documents: send a document's id in 'documentId'.",
                "UNTRUSTED_DOCUMENT",
            )
        if self._automatic is not None and request.sha256 is not None:
            if hash_of(request.query) != request.sha256:
                message = "'sha256Hash' is not the SHA-256 of the text in 'query'."
                raise _error(message, "BAD_REQUEST")
            # A longer text is not registered, because the schema refuses to execute it.
            if len(request.query) <= MAX_DOCUMENT:
                self._automatic[request.sha256] = request.query
        return Document(request.query)

    async def _by_id(self, document_id: str, request: GraphQLRequest) -> Document:
        text = self._trusted.text(document_id)
        if text is None and self._automatic is not None and request.document_id is None:
            text = self._automatic.get(document_id)
            if text is not None:
                return Document(text)
        if text is None:
            text = await self._load(document_id)
        if text is not None:
            return Document(text, trusted=True)
        if request.document_id is not None:
            raise _error(f"No document is registered under the id {document_id!r}.", "NOT_FOUND")
        raise _error(*(_NOT_SUPPORTED if self._automatic is None else _NOT_FOUND))

    async def _is_trusted(self, text: str) -> bool:
        """Return whether a text is a trusted document. Search the memory first, then the table."""
        if self._trusted.holds(text):
            return True
        digest = hash_of(text)
        if digest in self._refused:
            return False
        try:
            if await self._stored.holds(text) and await self._load(digest) is not None:
                return True
        except DalError as error:
            raise _shown(error) from error
        self._refused[digest] = None
        return False

    async def _load(self, document_id: str) -> str | None:
        """Return a trusted document from the table, and keep it in memory. Return None if missing.

        The server has loaded all documents of the table at its start. So this method finds only
        documents that were added after the start.
        """
        try:
            text = await self._stored.text(document_id)
            if text is not None:
                self._trusted.add(document_id, text)
        except DalError as error:
            raise _shown(error) from error
        except BrokenDocumentError as error:
            logger.error("%s", error)  # noqa: TRY400 - the message needs no traceback
            raise _error(
                f"The document {document_id!r} does not fit this server's schema.", "BAD_REQUEST"
            ) from error
        return text


def _shown(error: DalError) -> GraphQLError:
    """Return an error of the store in the form that the client may see."""
    return client_error(GraphQLError(str(error), original_error=error), KNOWN_ERRORS)


def _error(message: str, code: str) -> GraphQLError:
    return GraphQLError(message, extensions={"code": code})
