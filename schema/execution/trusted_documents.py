"""Trusted documents: texts that clients request by id, each checked when it is registered.

They are exempt from no limit. What they cost depends on their variables, so it is predicted with
each request, and here too where they have none.
"""

from collections.abc import Mapping
from hashlib import sha256

from graphql import GraphQLError

from dal.limits import TRUSTED_CHARACTERS
from schema.execution.cost import QueryTooCostlyError
from schema.execution.documents import DocumentCache, Operation
from schema.execution.messages import plain

_PREFIX = "sha256:"
"""What GraphQL over HTTP has before the hash of a document's text, as its id."""


class BrokenDocumentError(Exception):
    """A document cannot be registered; its message is one sentence that names it."""


class TrustedDocuments:
    """Documents by their ids, and by the SHA-256 of their texts in hexadecimal digits."""

    def __init__(self, documents: DocumentCache) -> None:
        self._documents = documents
        self._by_id: dict[str, str] = {}
        self._texts: set[str] = set()
        self._characters = 0

    def add(self, document_id: str, text: str) -> None:
        """Register a document; BrokenDocumentError where it cannot be executed."""
        fault = self._fault(document_id, text)
        if fault is not None:
            raise BrokenDocumentError(f"Document {document_id!r} cannot be registered: {fault}")
        if text not in self._texts:
            self._texts.add(text)
            self._characters += len(text)
        self._by_id[hash_of(text)] = self._by_id[document_id.removeprefix(_PREFIX)] = text

    def add_all(self, texts: Mapping[str, str]) -> list[str]:
        """Register documents by their ids; return a sentence for each that is broken."""
        sentences = []
        for document_id, text in texts.items():
            try:
                self.add(document_id, text)
            except BrokenDocumentError as error:
                sentences.append(str(error))
        return sentences

    def text(self, document_id: str) -> str | None:
        """Return the text under an id, its document ready to be executed; None without one."""
        text = self._by_id.get(document_id.removeprefix(_PREFIX))
        if text is not None:
            self._documents.trusted(text)
        return text

    def holds(self, text: str) -> bool:
        """Return whether a text is one of a trusted document."""
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
        return self._unfit(text)

    def _unfit(self, text: str) -> str | None:
        """Return why a text can never be executed."""
        try:
            checked = self._documents.trusted(text)
        except GraphQLError as error:
            return _told(error)
        if checked.errors:
            return _told(checked.errors[0])
        if not checked.operations:
            return "it has no operation."
        return next(filter(None, map(_too_costly, checked.operations)), None)


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits, as clients make it."""
    return sha256(text.encode()).hexdigest()


def _told(error: GraphQLError) -> str:
    """Return an error's message, and where it is."""
    message = plain(error.message)
    if error.locations:
        place = error.locations[0]
        message += f" (line {place.line}, column {place.column})"
    return message


def _too_costly(operation: Operation) -> str | None:
    if operation.node.variable_definitions:
        return None
    try:
        operation.costs.cost({}).check()
    except QueryTooCostlyError as error:
        return str(error)
    return None
