"""A table that this version cannot upgrade is exported, and loaded into a new table."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from server.settings import Settings
from tests import oracle
from tests.dal.maintenance import first_release
from tests.server.cli.commands.test_table import of, run, settings

__all__ = ["settings"]


async def test_a_table_that_cannot_be_upgraded_is_exported_and_loaded(
    settings: Settings, table: Table, tmp_path: Path
) -> None:
    comments = oracle.make_comments("42", 30, seed=1)
    older = Table(table.service, f"{table.name}-oldest")
    await first_release.create(older, comments, local=False)
    with pytest.raises(StoreRefusedError, match="run `marginalia export`"):
        await asyncio.to_thread(run, "table", "upgrade", *of(replace(settings, table=older.name)))
    exported = ("export", "-o", str(tmp_path / "out"))
    await asyncio.to_thread(run, *exported, *of(replace(settings, table=older.name)))
    line = of(replace(settings, table=table.name))
    await asyncio.to_thread(run, "load", str(tmp_path / "out/comments.jsonl"), *line)
    assert await oracle.walk(
        Stores(table).comments, Selection("42"), 13, backward=False
    ) == oracle.selected(comments, Selection("42"))
