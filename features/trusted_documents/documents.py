"""Trusted documents: documents that clients request by id. Each is checked at registration.

All limits apply to trusted documents. The cost of an operation without variables is checked at
registration. If an operation has variables, the cost depends on them and is checked at each
request.
"""

import logging
from collections.abc import Mapping

from graphql import GraphQLError

from features.trusted_documents.repository import hash_of
from schema.execution.documents import DocumentCache
from server.http.graphql import HASH_PREFIX

TRUSTED_CHARACTERS = 16_000_000
"""Maximum characters of all trusted documents together. The texts of trusted documents stay in
memory."""

logger = logging.getLogger(__name__)


class TrustedDocuments:
    """Documents by id, and by the SHA-256 of their text in hexadecimal digits."""

    def __init__(self, documents: DocumentCache) -> None:
        self._documents = documents
        self._by_id: dict[str, str] = {}
        self._characters = 0

    def add(self, document_id: str, text: str) -> str | None:
        """Register a document. If it cannot be registered, return a sentence with its id."""
        fault = self._fault(document_id, text)
        if fault is not None:
            return f"Document {document_id!r} cannot be registered: {fault}"
        if not self.holds(text):
            self._characters += len(text)
        self._by_id[hash_of(text)] = self._by_id[document_id.removeprefix(HASH_PREFIX)] = text
        return None

    def add_all(self, texts: Mapping[str, str]) -> list[str]:
        """Register documents by id.

        Return a sentence for each document that cannot be registered.
        """
        sentences = [self.add(document_id, text) for document_id, text in texts.items()]
        return [one for one in sentences if one is not None]

    def add_stored(self, texts: Mapping[str, str]) -> None:
        """Register the documents of the table by id.

        Log an error for each document that does not fit this version of the schema.
        """
        for sentence in self.add_all(texts):
            logger.error("%s", sentence)

    def text(self, document_id: str) -> str | None:
        """Return the text of the document with this id; None for an unknown id.

        If the document is no longer in the cache of trusted documents, check it and cache it again.
        """
        text = self._by_id.get(document_id.removeprefix(HASH_PREFIX))
        if text is not None:
            self._documents.trusted(text)
        return text

    def holds(self, text: str) -> bool:
        """Return whether a text is a trusted document."""
        return self._by_id.get(hash_of(text)) == text

    def _fault(self, document_id: str, text: str) -> str | None:
        """Return the reason why a document cannot be registered, as a sentence; None if it can."""
        known = self._by_id.get(document_id.removeprefix(HASH_PREFIX), text)
        if known != text:
            return "another text is registered under this id: give the new text another id."
        if document_id.startswith(HASH_PREFIX) and document_id != HASH_PREFIX + hash_of(text):
            return "its id is not the SHA-256 of its text."
        if not self.holds(text) and self._characters + len(text) > TRUSTED_CHARACTERS:
            return f"all documents together may have {TRUSTED_CHARACTERS:,} characters at most."
        return self._fault_of_text(text)

    def _fault_of_text(self, text: str) -> str | None:
        try:
            checked = self._documents.trusted(text)
        except GraphQLError as error:
            return message_of(error)
        if checked.errors:
            return message_of(checked.errors[0])
        if not checked.operations:
            return "it has no operation."
        for operation in checked.operations:
            if not operation.node.variable_definitions:
                fault = operation.costs.cost({}).fault(operation.costs.limits)
                if fault is not None:
                    return fault
        return None


def message_of(error: GraphQLError) -> str:
    """Return an error's message, with the line and the column of the error in the document."""
    message = error.message
    if error.locations:
        place = error.locations[0]
        message += f" (line {place.line}, column {place.column})"
    return message
