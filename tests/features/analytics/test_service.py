"""A server opens the analytics store, and closes it."""

from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from features.analytics.service import Analytics
from server.serving import open_application
from server.settings import Settings


async def test_a_server_closes_its_analytics_store(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []

    async def close(analytics: Analytics) -> None:
        closed.append(analytics)

    monkeypatch.setattr(Analytics, "aclose", close)
    async with open_application(Settings(data_dir=tmp_path), table, lambda: None):
        assert not closed
    assert len(closed) == 1
