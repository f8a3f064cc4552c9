"""Damaged data files: told, and left as they are."""

import os
from pathlib import Path

import pytest

from server.engine.storage import open_table
from server.settings import Settings
from tests.server.embedded import refusal

PAGE = 4096


@pytest.fixture
async def used(tmp_path: Path) -> Path:
    """A directory with a table of 200 items of 2 KB."""
    text = {"text": {"S": "x" * 2000}}
    items = [{"PK": {"S": f"{i}"}, "SK": {"S": f"{i}"}} | text for i in range(200)]
    async with open_table(Settings(data_dir=tmp_path), share=False) as table:
        await table.put_many(items)
    return tmp_path


async def test_a_file_that_is_no_database_is_told_and_kept(tmp_path: Path) -> None:
    database = tmp_path / "marginalia.db"
    database.write_bytes(b"not a database" * 1000)
    assert await refusal(tmp_path) == (
        f"The data file {database} is damaged (file is not a database): put a backup in its "
        "place, or move it away to start with an empty one; nothing in it was changed."
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
