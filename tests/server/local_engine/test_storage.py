"""The messages about tables that an older version or another program has created."""

import uuid

import pytest

from dal.counts.mode import KEY
from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.maintenance.tables import create_table
from dal.table.definition import table_definition
from dal.table.errors import StoreRefusedError
from server.errors import UNSUITABLE, exit_code
from server.local_engine.storage import open_store
from server.settings import Settings


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, dynoxide_url: str) -> Settings:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "local")
    return Settings(endpoint_url=dynoxide_url, table=f"test-{uuid.uuid4().hex}")


async def test_a_table_without_the_local_indexes_is_refused(
    settings: Settings, table: Table
) -> None:
    definition = table_definition(settings.table, INDEXES)
    del definition["LocalSecondaryIndexes"]
    used = {
        key["AttributeName"]
        for index in definition["GlobalSecondaryIndexes"]
        for key in index["KeySchema"]
    }
    definition["AttributeDefinitions"] = [
        one
        for one in definition["AttributeDefinitions"]
        if one["AttributeName"] in used | {"PK", "SK"}
    ]
    await table.once("create_table", **definition)
    with pytest.raises(StoreRefusedError, match="lacks the indexes byDate, byStatusDate") as fault:
        async with open_store(settings, share=True):
            pass
    assert "\n" not in str(fault.value)
    assert exit_code(fault.value) == UNSUITABLE
    # A command that only describes the table may open it.
    async with open_store(settings, share=True, usable=False) as store:
        assert (await admin.describe(store.table))["TableName"] == settings.table


async def test_a_missing_table_is_refused(settings: Settings) -> None:
    with pytest.raises(StoreRefusedError, match="`marginalia table create`"):
        async with open_store(settings, share=True):
            pass
    async with open_store(settings, share=True, usable=False) as store:
        assert await admin.create(store.table, INDEXES)
    async with open_store(settings, share=True) as store:
        assert not store.created


async def test_a_copy_of_a_table_with_statistics_is_reported(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """The copy may be a restored backup or an import."""
    async with open_store(settings, share=True, usable=False) as store:
        await create_table(store.table)
        item = await store.table.get(KEY)
        assert item is not None
        await store.table.put_many([{**item, "complete": {"S": "another"}}])
    async with open_store(settings, share=True):
        assert "a copy of" in caplog.text
        assert "`marginalia stats rebuild`" in caplog.text
        assert "`marginalia table describe`" in caplog.text
