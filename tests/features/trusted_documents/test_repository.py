"""Trusted documents in the table, on each engine."""

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError

TEXTS = {
    "9b74c9897bac770ffc029102a200c5de": "{ __typename }",
    "Shop/1#page %": 'query Page { product(productId: "ü") { id } }',
}


async def test_documents_are_stored_by_their_ids(each_table: Table) -> None:
    documents = Stores(each_table).documents
    assert await documents.all() == {}
    await documents.put(TEXTS)
    assert await documents.all() == TEXTS
    for document_id, text in TEXTS.items():
        assert await documents.text(document_id) == text
    assert await documents.text("unknown") is None


async def test_many_documents_are_read_by_several_queries(table: Table) -> None:
    documents = Stores(table).documents
    texts = {f"{number:03}": f"# {'x' * 29_000}\n{{ __typename }}" for number in range(50)}
    await documents.put(texts)
    assert await documents.all() == texts


@pytest.mark.parametrize("document_id", ["", "a\x00b", "a" * 600])
async def test_an_invalid_id_is_refused(table: Table, document_id: str) -> None:
    with pytest.raises(InvalidArgumentError):
        await Stores(table).documents.text(document_id)


async def test_a_marker_is_stored(table: Table) -> None:
    markers = Stores(table).markers
    assert not await markers.marked("demo")
    await markers.mark("demo")
    assert await Stores(table).markers.marked("demo")
