"""Damaged data files: told, and left as they are."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.engine import integrity
from server.engine.storage import open_table
from server.settings import Settings
from tests.server.embedded import refusal

PAGE = 4096
KEPT = {"PK": {"S": "1"}, "SK": {"S": "1"}}


@pytest.fixture(scope="module")
async def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a table of 200 items of 2 KB."""
    data_dir = tmp_path_factory.mktemp("sample")
    text = {"text": {"S": "x" * 2000}}
    items = [{"PK": {"S": f"{i}"}, "SK": {"S": f"{i}"}} | text for i in range(200)]
    async with open_table(Settings(data_dir=data_dir), share=False) as table:
        await table.put_many(items)
    return data_dir


@pytest.fixture
def used(sample: Path, tmp_path: Path) -> Path:
    """A copy of the sample, to be spoilt."""
    return shutil.copytree(sample, tmp_path / "used")


async def test_a_file_that_is_no_database_is_told_and_kept(tmp_path: Path) -> None:
    database = tmp_path / "marginalia.db"
    database.write_bytes(b"not a database" * 1000)
    assert await refusal(tmp_path) == (
        f"The data file {database} is damaged (file is not a database): put a backup in its "
        f"place with `marginalia restore`, or move the directory {tmp_path} away to begin anew; "
        "nothing in it was changed."
    )
    assert database.read_bytes() == b"not a database" * 1000


async def test_damaged_pages_are_told_and_kept(used: Path) -> None:
    database = used / "marginalia.db"
    content = bytearray(database.read_bytes())
    content[10 * PAGE : 20 * PAGE] = b"\xa5" * PAGE * 10
    database.write_bytes(content)
    assert f"The data file {database} is damaged (" in await refusal(used)
    assert database.read_bytes() == content


async def test_a_cut_file_is_told(used: Path) -> None:
    database = used / "marginalia.db"
    os.truncate(database, 20 * PAGE)
    assert f"The data file {database} is damaged (" in await refusal(used)


async def test_a_directory_in_the_files_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "marginalia.db").mkdir()
    assert f"The data file {tmp_path}/marginalia.db cannot be read (" in await refusal(tmp_path)


async def test_an_emptied_file_is_told(used: Path) -> None:
    database = used / "marginalia.db"
    os.truncate(database, 0)
    assert await refusal(used) == (
        f"The data file {database} is empty, but it held data: put a backup in its place with "
        f"`marginalia restore`, or move the directory {used} away to begin anew."
    )
    assert database.stat().st_size == 0


async def test_a_file_that_is_gone_is_told(used: Path) -> None:
    (used / "marginalia.db").unlink()
    assert f"The data file {used}/marginalia.db is gone, but it held data" in await refusal(used)


async def test_a_file_without_its_tables_is_told(used: Path) -> None:
    """A copy made while the engine runs holds its first page and nothing else."""
    database = used / "marginalia.db"
    database.unlink()
    with closing(sqlite3.connect(database)) as empty:
        empty.execute("PRAGMA user_version = 1")
    assert f"The data file {database} is empty, but it held data" in await refusal(used)


async def test_an_empty_file_that_never_held_data_is_filled(tmp_path: Path) -> None:
    (tmp_path / "marginalia.db").touch()
    async with open_table(Settings(data_dir=tmp_path), share=False) as table:
        assert await table.get(KEPT) is None


async def test_a_directory_that_is_gone_begins_anew(used: Path) -> None:
    shutil.rmtree(used)
    async with open_table(Settings(data_dir=used), share=False) as table:
        assert await table.get(KEPT) is None


async def test_a_large_file_is_said_to_be_looked_through(
    used: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sentence = f"Checking the data file {used}/marginalia.db, 0.0 GB, before it is opened.\n"
    async with open_table(Settings(data_dir=used), share=False):
        assert capfd.readouterr().err == ""
    monkeypatch.setattr(integrity, "LARGE", 0)
    async with open_table(Settings(data_dir=used), share=False):
        assert capfd.readouterr().err == sentence


def test_how_far_it_is_goes_by_what_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    counts = iter([100, 4_100, 9_100, 99_000])
    monkeypatch.setattr(integrity, "_bytes_read", lambda: next(counts))
    shown: list[int] = []
    bar = SimpleNamespace(update=lambda done, note: shown.append(done))
    done = SimpleNamespace(wait=lambda seconds: len(shown) == 3)
    integrity._tell(cast("Any", bar), 10_000, cast("Any", done))
    assert shown == [4_000, 9_000, 10_000]
