"""Trusted documents: GraphQL texts under the ids that clients ask for, the same for all servers.

They stand in one partition, which is read whole when a server starts; an id that comes up later is
one look-up.
"""

from collections.abc import Mapping

from dal.model import rules
from dal.table.client import Table
from dal.table.index import TABLE
from dal.table.item import Item, primary_key
from dal.table.keys import escape, unescape
from dal.table.requests import QueryRequest, answers

_PARTITION = "DOCUMENTS"
_LABEL = "DOCUMENT#"


class DocumentRepository:
    """All access to trusted documents; what is under an id never changes."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def put(self, texts: Mapping[str, str]) -> None:
        """Keep each text under its id."""
        items = [{**_key(one), "data": {"S": text}} for one, text in texts.items()]
        await self._table.put_many(items)

    async def text(self, document_id: str) -> str | None:
        """Return the text under an id, or None; InvalidArgumentError where none can be there."""
        item = await self._table.get(_key(document_id))
        return None if item is None else str(item["data"]["S"])

    async def all(self) -> dict[str, str]:
        """Return every text by its id, in the order of the ids."""
        found = {}
        request = QueryRequest(TABLE, _PARTITION, consistent=True)
        async for answer in answers(self._table.query, request):
            for item in answer.items:
                found[unescape(item["SK"]["S"].removeprefix(_LABEL))] = str(item["data"]["S"])
        return found


def _key(document_id: str) -> Item:
    checked = rules.identifier("documentId", document_id)
    return primary_key(_PARTITION, f"{_LABEL}{escape(checked)}")
