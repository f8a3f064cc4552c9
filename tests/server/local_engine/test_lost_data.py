"""A server refuses lost and damaged data files, and does not change them."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from server.local_engine.storage import open_table
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
    """A copy of the sample, which the test damages."""
    return shutil.copytree(sample, tmp_path / "used")


async def test_a_file_that_is_not_a_database_is_refused_and_kept(tmp_path: Path) -> None:
    database = tmp_path / "marginalia.db"
    database.write_bytes(b"not a database" * 1000)
    refused = await refusal(tmp_path)
    assert f" {database}: Database file is encrypted or not a valid SQLite database. " in refused
    assert "`marginalia restore`" in refused
    assert database.read_bytes() == b"not a database" * 1000


async def test_a_file_without_a_readable_schema_is_refused_and_kept(used: Path) -> None:
    database = used / "marginalia.db"
    content = bytearray(database.read_bytes())
    content[PAGE : 20 * PAGE] = b"\xa5" * PAGE * 19
    database.write_bytes(content)
    assert "image is malformed. " in await refusal(used)
    assert database.read_bytes() == content


async def test_a_cut_file_is_refused(used: Path) -> None:
    os.truncate(used / "marginalia.db", 20 * PAGE)
    assert "image is malformed. " in await refusal(used)


async def test_a_directory_in_place_of_the_data_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "marginalia.db").mkdir()
    sentence = f" {tmp_path}/marginalia.db: unable to open database"
    assert sentence in await refusal(tmp_path)


async def test_an_emptied_file_is_reported(used: Path) -> None:
    database = used / "marginalia.db"
    os.truncate(database, 0)
    refused = await refusal(used)
    assert f"{database} is empty" in refused
    assert "`marginalia restore`" in refused
    assert database.stat().st_size == 0


async def test_a_deleted_file_is_reported(used: Path) -> None:
    (used / "marginalia.db").unlink()
    assert f"{used}/marginalia.db is missing" in await refusal(used)


async def test_a_file_without_its_tables_is_reported(used: Path) -> None:
    """A copy that is made while the engine runs may contain only the file's first page."""
    database = used / "marginalia.db"
    database.unlink()
    with closing(sqlite3.connect(database)) as empty:
        empty.execute("PRAGMA user_version = 1")
    assert f"{database} is empty" in await refusal(used)


async def test_an_empty_file_that_never_had_data_is_used(tmp_path: Path) -> None:
    (tmp_path / "marginalia.db").touch()
    async with open_table(Settings(data_dir=tmp_path), share=False) as table:
        assert await table.get(KEPT) is None


async def test_a_deleted_directory_is_created_again(used: Path) -> None:
    shutil.rmtree(used)
    async with open_table(Settings(data_dir=used), share=False) as table:
        assert await table.get(KEPT) is None
