"""The document that a request asks for: by its text, by a registered id, or by its hash.

Clients ask by ``documentId`` (GraphQL over HTTP), ``doc_id`` or ``id`` (Relay) or
``extensions.persistedQuery.sha256Hash`` (Apollo, urql). With automatic persisted queries these
last send a hash first, and where nobody knows it the text beside it.
"""

import logging
from dataclasses import dataclass
from time import monotonic

from cachetools import LRUCache, TTLCache
from graphql import GraphQLError

from dal.errors import DalError
from dal.limits import AUTOMATIC_BYTES, MAX_DOCUMENT
from dal.repositories.documents import DocumentRepository
from schema.execution.errors import shown
from schema.execution.trusted_documents import BrokenDocumentError, TrustedDocuments, hash_of
from server.http.graphql_request import Operation

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
            raise shown(GraphQLError(str(error), original_error=error)) from error
        self._refused[digest] = None
        return False

    async def _added(self, document_id: str) -> str | None:
        """Return the text that was added to the table since the server started."""
        try:
            text = await self._kept.text(document_id)
            if text is not None:
                self._trusted.add(document_id, text)
        except DalError as error:
            raise shown(GraphQLError(str(error), original_error=error)) from error
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
