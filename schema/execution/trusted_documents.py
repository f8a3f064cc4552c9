"""Trusted documents: texts that clients request by id, each checked when it is registered.

All limits hold for them. The cost of a document with variables is predicted in each request, the
cost of any other document when it is registered.
"""

from collections.abc import Mapping
from hashlib import sha256

from graphql import GraphQLError

from dal.limits import TRUSTED_CHARACTERS
from schema.execution.cost import QueryTooCostlyError
from schema.execution.documents import DocumentCache

_PREFIX = "sha256:"
"""Prefix of a hash as an id, as in the persisted documents of GraphQL over HTTP."""


class BrokenDocumentError(Exception):
    """A document cannot be registered; the message is one sentence that names it."""


class TrustedDocuments:
    """Documents by id, and by the SHA-256 of their text in hexadecimal digits."""

    def __init__(self, documents: DocumentCache) -> None:
        self._documents = documents
        self._by_id: dict[str, str] = {}
        self._texts: set[str] = set()
        self._characters = 0

    def add(self, document_id: str, text: str) -> None:
        """Register a document, or raise BrokenDocumentError if it cannot be executed."""
        fault = self._fault(document_id, text)
        if fault is not None:
            raise BrokenDocumentError(f"Document {document_id!r} cannot be registered: {fault}")
        if text not in self._texts:
            self._texts.add(text)
            self._characters += len(text)
        self._by_id[hash_of(text)] = self._by_id[document_id.removeprefix(_PREFIX)] = text

    def add_all(self, texts: Mapping[str, str]) -> list[str]:
        """Register documents by id; return a sentence for each broken one."""
        sentences = []
        for document_id, text in texts.items():
            try:
                self.add(document_id, text)
            except BrokenDocumentError as error:
                sentences.append(str(error))
        return sentences

    def text(self, document_id: str) -> str | None:
        """Return the text of an id, ready to be executed; None for an unknown id."""
        text = self._by_id.get(document_id.removeprefix(_PREFIX))
        if text is not None:
            self._documents.trusted(text)
        return text

    def holds(self, text: str) -> bool:
        """Return whether a text is a trusted document."""
        return text in self._texts

    def _fault(self, document_id: str, text: str) -> str | None:
        """Return why a document cannot be registered, in a sentence."""
        known = self._by_id.get(document_id.removeprefix(_PREFIX), text)
        if known != text:
            return "another text is registered under this id: give the new text another id."
        if document_id.startswith(_PREFIX) and document_id != _PREFIX + hash_of(text):
            return "its id is not the SHA-256 of its text."
        if text not in self._texts and self._characters + len(text) > TRUSTED_CHARACTERS:
            return f"all documents together have {TRUSTED_CHARACTERS:,} characters at most."
        return self._fault_of_text(text)

    def _fault_of_text(self, text: str) -> str | None:
        try:
            checked = self._documents.trusted(text)
        except GraphQLError as error:
            return _message(error)
        if checked.errors:
            return _message(checked.errors[0])
        if not checked.operations:
            return "it has no operation."
        for operation in checked.operations:
            if not operation.node.variable_definitions:
                try:
                    operation.costs.cost({}).check()
                except QueryTooCostlyError as error:
                    return str(error)
        return None


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits, as clients compute it."""
    return sha256(text.encode()).hexdigest()


def _message(error: GraphQLError) -> str:
    """Return an error's message, with the line and column in the document."""
    message = error.message
    if error.locations:
        place = error.locations[0]
        message += f" (line {place.line}, column {place.column})"
    return message
