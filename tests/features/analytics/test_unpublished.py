"""Analytics counts no unpublished comments."""

import asyncio
from pathlib import Path

import pytest

from dal.composition import KINDS
from dal.dynamodb.table import Table, TableAddress
from dal.stores import Stores
from features.analytics.exporting import refresh
from server.local_engine.storage import Store
from server.settings import Settings
from tests.features.loading.test_unpublished import LEAKY_FILES
from tests.integration.test_unpublished import hold


async def analysed(table: Table, folder: Path) -> None:
    await hold(Stores(table))
    address = TableAddress(table.name, table.service.endpoint_url, embedded=True)
    store = Store(table, address, "a test", asyncio.get_running_loop().create_future())
    settings = Settings(data_dir=folder, table=table.name)
    export = await refresh(settings, store, lambda _: None, KINDS)
    assert export.rows == 1


async def test_a_submission_is_not_counted(table: Table, tmp_path: Path) -> None:
    await analysed(table, tmp_path)


async def test_the_check_fails_if_submissions_are_decoded_as_comments(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.KINDS", [LEAKY_FILES])
    with pytest.raises(AssertionError):
        await analysed(table, tmp_path)
