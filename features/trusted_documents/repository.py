"""The table's trusted documents.

A trusted document is the text of a GraphQL request, stored under an id. Clients send the id instead
of the text. All documents are in one partition. A server reads all documents when it starts. If a
document is added later, the server reads it when a client first uses it. Each text is also stored
under its SHA-256. So a server that receives a text without an id can check whether the text is
trusted.
"""

import re
from collections.abc import Mapping
from hashlib import sha256

from dal.dynamodb.table import Table
from dal.model import rules
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import Item, primary_key
from dal.table.key_parts import LAST_CHARACTER, escape, unescape
from dal.table.ranges import Range

_PARTITION = "DOCUMENTS"
_LABEL = "DOCUMENT#"
_HASH = "HASH#"
_IDS = Range(_LABEL, f"{_LABEL}{LAST_CHARACTER}")

_SHA_256 = re.compile("[0-9a-f]{64}")


def is_document(item: Item) -> bool:
    """Return whether an item is a trusted document."""
    return bool(item["PK"]["S"] == _PARTITION)


class DocumentRepository:
    """Reads and writes trusted documents. Callers must not store a new text under an id in use."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def put(self, texts: Mapping[str, str]) -> None:
        """Store each text under its id, which is its key in ``texts``, and under its SHA-256."""
        keys = [(_key(one), text) for one, text in texts.items()]
        keys += [(_hash_key(hash_of(text)), text) for text in sorted(set(texts.values()))]
        await self._table.put_many([{**key, "data": {"S": text}} for key, text in keys])

    async def text(self, document_id: str) -> str | None:
        """Return the text of the document with an id or a SHA-256; None if it does not exist.

        Raises InvalidArgumentError if the id is invalid.
        """
        item = await self._table.get(_key(document_id))
        if item is None and _SHA_256.fullmatch(document_id):
            item = await self._table.get(_hash_key(document_id))
        return None if item is None else str(item["data"]["S"])

    async def holds(self, digest: str) -> bool:
        """Return whether the text with a SHA-256 is a trusted document."""
        return await self._table.get(_hash_key(digest)) is not None

    async def all(self) -> dict[str, str]:
        """Return the texts of all documents by id, sorted by id."""
        found = {}
        request = QueryRequest(TABLE, _PARTITION, _IDS, consistent=True)
        async for answer in query_all(self._table.query, request):
            for item in answer.items:
                found[unescape(item["SK"]["S"].removeprefix(_LABEL))] = str(item["data"]["S"])
        return found


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits, as clients compute it."""
    return sha256(text.encode()).hexdigest()


def _key(document_id: str) -> Item:
    checked = rules.identifier("documentId", document_id)
    return primary_key(_PARTITION, f"{_LABEL}{escape(checked)}")


def _hash_key(digest: str) -> Item:
    return primary_key(_PARTITION, f"{_HASH}{digest}")
