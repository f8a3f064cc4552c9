"""What a request of GraphQL over HTTP contains: media types, its body, its operation and document.

A client names a document by its text or by an id: ``documentId`` (GraphQL over HTTP), ``doc_id`` or
``id`` (Relay), ``extensions.persistedQuery.sha256Hash`` (Apollo, urql). With automatic persisted
queries, Apollo and urql send a hash first; if the server does not know it, they add the text.
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

from dal.errors import DalError
from dal.limits import AUTOMATIC_BYTES, MAX_BODY, MAX_DOCUMENT
from dal.repositories.documents import DocumentRepository
from schema.execution.errors import client_error
from schema.execution.trusted_documents import BrokenDocumentError, TrustedDocuments, hash_of

GRAPHQL = "application/graphql-response+json"
JSON = "application/json"
HTML = "text/html"
EVENT_STREAM = "text/event-stream"

_STANDING_FOR = {JSON: ("application/*", "*/*")}
"""Ranges that ask for JSON: who names no type gets what every client can read."""

_USUAL = 200
"""Characters of headers that are worth to be kept."""


def preferred(accept: str | None, offered: Sequence[str]) -> str | None:
    """Return the type of ``offered`` that an Accept header likes best, None where it likes none.

    Of types that it likes alike the first is returned. Without a header JSON is.
    """
    accept = accept or "*/*"
    best = _usual if len(accept) <= _USUAL else _best
    return best(accept, tuple(offered))


def _best(accept: str, offered: tuple[str, ...]) -> str | None:
    qualities = _qualities(accept)
    best = max(offered, key=lambda name: _quality(qualities, name))
    return best if _quality(qualities, best) > 0 else None


_usual = lru_cache(maxsize=200)(_best)


def _quality(qualities: dict[str, float], name: str) -> float:
    ranges = (name, *_STANDING_FOR.get(name, ()))
    return next((qualities[one] for one in ranges if one in qualities), 0.0)


def _qualities(accept: str) -> dict[str, float]:
    """Return the quality of each media range: 1 where the header gives none that can be read."""
    found = {}
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weights = [given.removeprefix("q=") for given in parameters if given.startswith("q=")]
        found[name] = _weight(weights[0]) if weights else 1.0
    return found


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


async def read_body(receive: Receive) -> bytes:
    """Return the whole body; HTTPException 413 when it is too large."""
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
                {"Connection": "close"},  # or the rest of the body would be read
            )
    return body


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


_ENTRY_BYTES = 400
"""What a text that clients register takes in memory besides its characters, about."""

REFUSED_TEXTS = 1_000
REFUSED_SECONDS = 5.0
"""Texts that were no trusted document's, and for how long they are refused without a look."""

logger = logging.getLogger(__name__)

_NOT_SUPPORTED = "PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED"
_NOT_FOUND = "PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND"
"""What makes the links of Apollo and urql send the text: for good, and this once. Some go by the
message, some by the code."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A document's text, and whether it was asked for by the id of a trusted one."""

    text: str
    trusted: bool = False


class PersistedDocuments:
    """Finds the document of a request; ``only`` trusted ones, or what clients register too."""

    def __init__(
        self,
        trusted: TrustedDocuments,
        kept: DocumentRepository,
        *,
        only: bool = False,
        automatic: bool = False,
    ) -> None:
        self._trusted = trusted
        self._kept = kept
        self._only = only
        self._refused: TTLCache[str, None] = TTLCache(REFUSED_TEXTS, REFUSED_SECONDS, monotonic)
        """The SHA-256 of such texts, where only trusted documents run."""
        self._automatic: LRUCache[str, str] | None = None
        if automatic:
            self._automatic = LRUCache(
                AUTOMATIC_BYTES, lambda text: len(text.encode()) + _ENTRY_BYTES
            )

    async def asked_by(self, operation: Operation) -> Asked:
        """Return the document of a request; GraphQLError, with its code, where none is to run."""
        if operation.query is None:
            return await self._by_id(operation.document_id or operation.sha256 or "", operation)
        if self._only and not await self._is_trusted(operation.query):
            raise _error(
                "This server runs registered documents only: send the id of one in 'documentId'.",
                "UNTRUSTED_DOCUMENT",
            )
        if self._automatic is not None and operation.sha256 is not None:
            self._register(self._automatic, operation.sha256, operation.query)
        return Asked(operation.query)

    async def _by_id(self, document_id: str, operation: Operation) -> Asked:
        text = self._trusted.text(document_id)
        if text is None and self._automatic is not None and operation.document_id is None:
            text = self._automatic.get(document_id)
            if text is not None:
                return Asked(text)
        if text is None:
            text = await self._added(document_id)
        if text is not None:
            return Asked(text, trusted=True)
        if operation.document_id is not None:
            raise _error(f"No document is registered under the id {document_id!r}.", "NOT_FOUND")
        raise _error(*(_NOT_SUPPORTED if self._automatic is None else _NOT_FOUND))

    async def _is_trusted(self, text: str) -> bool:
        """Return whether a text is a trusted document's, here or in the table."""
        if self._trusted.holds(text):
            return True
        digest = hash_of(text)
        if digest in self._refused:
            return False
        try:
            if await self._kept.holds(text) and await self._added(digest) is not None:
                return True
        except DalError as error:
            raise client_error(GraphQLError(str(error), original_error=error)) from error
        self._refused[digest] = None
        return False

    async def _added(self, document_id: str) -> str | None:
        """Return the text that was added to the table since the server started."""
        try:
            text = await self._kept.text(document_id)
            if text is not None:
                self._trusted.add(document_id, text)
        except DalError as error:
            raise client_error(GraphQLError(str(error), original_error=error)) from error
        except BrokenDocumentError as error:
            logger.error("%s", error)  # noqa: TRY400 - its sentence says it all
            raise _error(
                f"The document {document_id!r} does not fit this server's schema.", "BAD_REQUEST"
            ) from error
        return text

    @staticmethod
    def _register(automatic: LRUCache[str, str], digest: str, text: str) -> None:
        """Keep a text under its hash, for whoever sends that alone."""
        if hash_of(text) != digest:
            raise _error("'sha256Hash' is not the SHA-256 of the text in 'query'.", "BAD_REQUEST")
        if len(text) <= MAX_DOCUMENT:  # a longer one is refused, and would drive out others
            automatic[digest] = text


def _error(message: str, code: str) -> GraphQLError:
    return GraphQLError(message, extensions={"code": code})
