"""Directories in which no data can be stored, and full disks."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from dal.dynamodb.errors import StoreFullError
from dal.dynamodb.table import Table
from server.errors import CommandError
from server.local_engine.storage import open_store, open_table
from server.settings import Settings
from tests.server.embedded import engine_pid, fill, mounted, refusal, successor

KEPT = {"PK": {"S": "kept"}, "SK": {"S": "kept"}}


async def test_a_file_in_place_of_the_directory_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    for data_dir in (path, path / "below"):
        assert (await refusal(data_dir)).startswith(f"{data_dir} is not a ")


@pytest.mark.parametrize("data_dir", [Path("/sys/marginalia"), Path("/proc"), Path("/sys/kernel")])
async def test_a_directory_without_write_permission_is_reported(data_dir: Path) -> None:
    sentence = await refusal(data_dir)
    assert sentence.startswith(f"The data directory {data_dir} cannot be written (")
    assert sentence.endswith(" --data-dir.")


async def test_a_read_only_disk_is_reported(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "ro") as data_dir:
        assert "cannot be written (Read-only file system)" in await refusal(data_dir)


async def test_a_full_disk_is_reported_at_the_start(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m") as data_dir:
        sentence = await refusal(data_dir)
        assert f" {data_dir} is full: " in sentence
        assert "16 MB" in sentence


async def test_a_disk_that_fills_up_is_reported_and_loses_no_acknowledged_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fill_up(settings: Settings) -> None:
        async with open_table(settings, share=False) as table:
            await table.put_many([KEPT])
            await asyncio.to_thread(fill, settings.data_dir / "ballast")
            with monkeypatch.context() as patch:
                patch.setattr("dal.dynamodb.retries.DEADLINE", 0.5)
                await write_much(table)

    with mounted(tmp_path / "disk", "size=24m") as data_dir:
        settings = Settings(data_dir=data_dir)
        with pytest.raises(CommandError, match="is full: free 16 MB or more"):
            await fill_up(settings)
        (data_dir / "ballast").unlink()
        async with open_table(settings, share=False) as table:
            assert await table.get(KEPT) == KEPT


async def test_after_a_full_disk_and_a_killed_engine_the_server_waits_for_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.local_engine.engine.ROOM_LOOK", 0.05)
    with mounted(tmp_path / "disk", "size=24m") as data_dir:
        async with open_store(Settings(data_dir=data_dir), share=False) as store:
            await store.table.put_many([KEPT])
            await asyncio.to_thread(fill, data_dir / "ballast")
            with pytest.raises(StoreFullError):
                await write_much(store.table)
            # On a full disk, an engine that ends twice within a minute does not end the server.
            for time in (1, 2):
                await asyncio.to_thread(fill, data_dir / "ballast")
                assert await store.table.get(KEPT) == KEPT
                pid = engine_pid(data_dir)
                os.kill(pid, signal.SIGKILL)
                async with asyncio.timeout(60):
                    while sum("free space" in line for line in caplog.messages) < time:  # noqa: ASYNC110 - a log tells no event
                        await asyncio.sleep(0.05)
                assert not store.died.done()
                (data_dir / "ballast").unlink()
                await successor(data_dir, pid, died=store.died)
            assert await store.table.get(KEPT) == KEPT
            await write_much(store.table)
    assert sum("free space" in line for line in caplog.messages) == 2


async def write_much(table: Table) -> None:
    await table.put_many([KEPT | {"SK": {"S": "much"}, "text": {"S": "x" * 300_000}}])
