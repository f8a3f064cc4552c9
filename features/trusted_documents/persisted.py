"""Finds documents by id and by hash: trusted documents, and documents that clients register.

With automatic persisted queries, clients first send only the hash of a document's text. If the
server responds that it has no text for the hash, they send the request again with the text.
"""

import logging
from collections.abc import Callable, Mapping
from time import monotonic

from cachetools import LRUCache, TTLCache
from graphql import GraphQLError

from dal.table.errors import DalError
from features.trusted_documents.documents import TrustedDocuments
from features.trusted_documents.repository import DocumentRepository, hash_of
from features.trusted_documents.settings import DocumentSettings
from schema.errors import KNOWN_ERRORS
from schema.execution.documents import MAX_DOCUMENT
from schema.execution.errors import client_error
from server.http.graphql import HASH_PREFIX, Caching, Document, Documents, not_kept
from server.http.request import GraphQLRequest

AUTOMATIC_BYTES = 16_000_000
"""Maximum bytes of the documents that clients register by hash (automatic persisted queries). Above
this limit, the server drops the least recently used documents."""

_ENTRY_BYTES = 400
"""The approximate bytes of memory that a text registered by a client needs in addition to the text
itself."""

REFUSED_TEXTS = 1_000
REFUSED_SECONDS = 5.0
"""If only registered documents are allowed (``documents_only``), the server refuses the texts of
all other documents. It remembers up to ``REFUSED_TEXTS`` refused texts, each for
``REFUSED_SECONDS``. If a client sends one of them again, the server refuses it without reading the
table."""

logger = logging.getLogger(__name__)


class PersistedDocuments(Documents):
    """Finds the document of a request by its text, its id or its hash.

    Trusted documents are documents that the operator has registered. With ``documents_only``, the
    server runs no other documents. With ``apq``, clients may register the texts of automatic
    persisted queries.
    """

    def __init__(
        self,
        settings: DocumentSettings,
        trusted: TrustedDocuments,
        stored: DocumentRepository,
        built_in: Callable[[], Mapping[str, str]] = dict,
        caching: Caching = not_kept,
    ) -> None:
        super().__init__(built_in, caching)
        self._trusted = trusted
        self._stored = stored
        self._trusted_only = settings.documents_only
        self._refused: TTLCache[str, None] = TTLCache(REFUSED_TEXTS, REFUSED_SECONDS, monotonic)
        """The SHA-256 hashes of texts that were refused recently."""
        self._automatic: LRUCache[str, str] | None = None
        if settings.apq:
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
        automatic = self._automatic if request.document_id is None else None
        text = self._trusted.text(document_id)
        if text is None and automatic is not None and document_id in automatic:
            return Document(automatic[document_id])
        if text is None:
            text = self.built_in().get(document_id.removeprefix(HASH_PREFIX))
        if text is None:
            text = await self._load(document_id)
        if text is not None:
            return Document(text, self.caching)
        if automatic is not None:
            # After this error, Apollo and urql send the text only with this request.
            raise _error("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        return await super().find(request)

    async def _is_trusted(self, text: str) -> bool:
        """Return whether a text is trusted or built in. Search the memory first, then the table."""
        if self._trusted.holds(text):
            return True
        digest = hash_of(text)
        if digest in self.built_in():
            return True
        if digest in self._refused:
            return False
        try:
            if await self._stored.holds(digest) and await self._load(digest) is not None:
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
        except DalError as error:
            raise _shown(error) from error
        if text is not None and (fault := self._trusted.add(document_id, text)):
            logger.error("%s", fault)
            raise _error(
                f"The document {document_id!r} does not fit this server's schema.", "BAD_REQUEST"
            )
        return text


def _shown(error: DalError) -> GraphQLError:
    """Return an error of the store in the form that the client may see."""
    return client_error(GraphQLError(str(error), original_error=error), KNOWN_ERRORS)


def _error(message: str, code: str) -> GraphQLError:
    return GraphQLError(message, extensions={"code": code})
