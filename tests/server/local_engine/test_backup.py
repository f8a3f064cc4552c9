"""Backups during writes, and restores."""

import asyncio
import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from dal.stores import Stores
from server.errors import UNSUITABLE, USAGE
from server.local_engine.data_directory import DataDirectory, EngineRecord
from server.local_engine.storage import open_table
from server.settings import Settings
from tests.server.embedded import abandoned, engine_pid, fill, mounted, refusal
from tests.server.serving import (
    MARGINALIA,
    Served,
    add_comment,
    bearer,
    called,
    environment,
    served,
)
from tests.verifying import verify

COMMENTS = 400
"""The minimum number of comments. Clients write until the backup has ended."""

CLIENTS = 16


def client_of(server: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, headers=bearer("ana"), timeout=60)


async def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a thread, while the event loop continues."""
    return await asyncio.to_thread(called, *arguments)


def refused(*arguments: str | Path, **settings: str) -> str:
    """Return a command's error message, which must be one line."""
    outcome = called(*arguments, **settings)
    assert outcome.returncode == (UNSUITABLE if "is damaged" in outcome.stderr else USAGE), outcome
    (line,) = outcome.stderr.splitlines()
    return line


async def test_a_backup_made_during_writes_has_every_acknowledged_write(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    half, ended = asyncio.Event(), asyncio.Event()
    numbers = itertools.count()
    backup = tmp_path / "backup.db"

    async def add(client: httpx.AsyncClient) -> None:
        while (number := next(numbers)) < COMMENTS or not ended.is_set():
            comment_id = await add_comment(client, f"comment {number}", f"key {number}")
            if comment_id is not None:
                acknowledged.append(comment_id)
            if number == COMMENTS // 2:
                half.set()

    with served(tmp_path / "data") as server:
        async with client_of(server) as client:
            adding = asyncio.gather(*(add(client) for _ in range(CLIENTS)))
            await half.wait()
            before = set(acknowledged)
            outcome = await command("backup", backup, "--data-dir", tmp_path / "data")
            assert outcome.returncode == 0, outcome
            after = len(acknowledged)
            ended.set()
            await adding
    assert len(before) <= after < len(acknowledged)
    assert backup.stat().st_mode & 0o777 == 0o600

    restored = tmp_path / "restored"
    outcome = await command("restore", backup, "--data-dir", restored)
    assert outcome.returncode == 0, outcome
    async with open_table(Settings(data_dir=restored), share=False) as table:
        kept = await Stores(table).comments.get_many(acknowledged)
        assert not await verify(table, lambda _: None)
    assert before <= set(kept)


ITEMS = 300


def item(name: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": name}, "SK": {"S": name}, "text": {"S": name * 200}}


@pytest.fixture(scope="module")
async def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a table of 300 items."""
    data_dir = tmp_path_factory.mktemp("sample")
    await write(data_dir, [item(f"first {number}") for number in range(ITEMS)])
    return data_dir


@pytest.fixture
def data(sample: Path, tmp_path: Path) -> Path:
    """A copy of the sample. No engine uses it."""
    return shutil.copytree(sample, tmp_path / "data")


async def write(data_dir: Path, items: list[dict[str, dict[str, str]]]) -> None:
    async with open_table(Settings(data_dir=data_dir), share=True, create=True) as table:
        await table.put_many(items)


def holds(data_dir: Path, name: str) -> bool:
    """Return whether a data file contains an item. This starts no engine."""
    with closing(sqlite3.connect(data_dir / "marginalia.db")) as opened:
        query = "SELECT 1 FROM marginalia WHERE pk = ?"
        return opened.execute(query, (f"S:{name}",)).fetchone() is not None


async def test_a_restore_keeps_the_old_data_as_a_backup(data: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    database = data / "marginalia.db"
    outcome = await command("backup", backup, "--data-dir", data)
    # The item of the maintenance mode is counted too.
    assert outcome.stdout == f"{backup}: {ITEMS + 1} items of {database}.\n"
    await write(data, [item("second")])
    outcome = await command("restore", backup, "--data-dir", data)
    first, second = outcome.stdout.splitlines()
    assert first == f"{database}: {ITEMS + 1} items of {backup}."
    assert list(backup.parent.glob("backup.db*")) == [backup], "a backup is one file, without a log"
    kept = Path(second.rpartition(" ")[2].removesuffix("."))
    assert not holds(data, "second")
    assert holds(data, "first 7")
    assert (await command("restore", kept, "--data-dir", data)).returncode == 0
    assert holds(data, "second")


async def test_a_backup_with_four_changed_bytes_is_refused(data: Path, tmp_path: Path) -> None:
    """SQLite's own check finds no damage, because the changed value is still valid."""
    backup = tmp_path / "backup.db"
    assert (await command("backup", backup, "--data-dir", data)).returncode == 0
    whole = backup.read_bytes()
    backup.write_bytes(whole.replace(b"first 7first 7", b"WORSt 7first 7", 1))
    assert len(whole) == backup.stat().st_size
    before = (data / "marginalia.db").read_bytes()
    line = await asyncio.to_thread(refused, "restore", backup, "--data-dir", data)
    assert line.startswith(f"marginalia: The file {backup} is damaged (its checksum is wrong)")
    assert (data / "marginalia.db").read_bytes() == before
    # Data that changes after a restore does not keep the checksum of the backup.
    backup.write_bytes(whole)
    assert (await command("restore", backup, "--data-dir", data)).returncode == 0
    await write(data, [item("second")])
    outcome = await command("restore", backup, "--data-dir", data)
    kept = Path(outcome.stdout.splitlines()[1].rpartition(" ")[2].removesuffix("."))
    assert (await command("restore", kept, "--data-dir", data)).returncode == 0
    assert holds(data, "second")


async def test_writes_in_a_killed_engines_log_are_backed_up_and_kept(
    data: Path, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    async with open_table(Settings(data_dir=data), share=False) as table:
        await table.put_many([item("late")])
        # As long as no client writes, a copy equals the files that a killed engine leaves.
        shutil.copytree(data, killed, ignore=shutil.ignore_patterns("engine.json"))
    assert (killed / "marginalia.db-wal").stat().st_size
    assert (await command("backup", tmp_path / "late.db", "--data-dir", killed)).returncode == 0
    outcome = await command("restore", tmp_path / "late.db", "--data-dir", killed)
    assert outcome.returncode == 0, outcome
    (kept,) = killed.glob("*.before-restore-*Z")
    for database in (kept, killed / "marginalia.db"):
        assert counted(database) == ITEMS + 2


async def test_the_engine_of_a_killed_server_ends_before_a_restore(
    data: Path, tmp_path: Path
) -> None:
    await command("backup", tmp_path / "backup.db", "--data-dir", data)
    with abandoned(data, data / "marginalia.db") as engine:
        assert (
            await command("restore", tmp_path / "backup.db", "--data-dir", data)
        ).returncode == 0
        assert engine.wait(60) is not None


def test_a_restore_is_refused_while_a_server_runs(data: Path, tmp_path: Path) -> None:
    with served(data) as server:
        called("backup", tmp_path / "backup.db", "--data-dir", data)
        line = refused("restore", tmp_path / "backup.db", "--data-dir", data)
        pid = server.process.pid
        assert f" {data} is " in line
        assert f"(process {pid})" in line
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
        assert engine_pid(data)
    assert not list(data.glob("*restor*"))


@pytest.mark.parametrize("step", ["os.link", "DataDirectory.begin", "Path.replace"])
async def test_an_interrupted_restore_loses_nothing_and_can_be_run_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    backup = tmp_path / "backup.db"
    await command("backup", backup, "--data-dir", data)
    await write(data, [item("second")])

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(f"server.local_engine.backup.{step}", fail)
        assert "cannot be written (Input/output error)" in refused(
            "restore", backup, "--data-dir", data
        )
    if step == "Path.replace":
        assert "marginalia.db is missing" in await refusal(data)
    else:
        assert holds(data, "second")
    assert (await command("restore", backup, "--data-dir", data)).returncode == 0
    assert holds(data, "first 7")
    assert not holds(data, "second")
    assert (await command("restore", first_kept(data), "--data-dir", data)).returncode == 0
    assert holds(data, "second")


def first_kept(data_dir: Path) -> Path:
    return min(data_dir.glob("*.before-restore-*Z"))


def test_a_backup_replaces_a_file_only_with_force(data: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backup.write_text("mine")
    line = refused("backup", backup, "--data-dir", data)
    assert line.startswith(f"marginalia: {backup} exists: ")
    assert "--force" in line
    assert backup.read_text() == "mine"
    stale = tmp_path / "backup.db-wal"
    stale.touch()
    assert called("backup", backup, "--force", "--data-dir", data).returncode == 0
    assert not stale.exists()
    assert called("restore", backup, "--data-dir", tmp_path / "other").returncode == 0


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("", "is a directory"),
        ("data/marginalia.db", "is the data"),
        ("nowhere/b.db", "cannot be written (No such file or directory)"),
    ],
)
def test_unusable_files_for_a_backup_are_refused(
    data: Path, tmp_path: Path, file: str, sentence: str
) -> None:
    line = refused("backup", tmp_path / file, "--force", "--data-dir", data)
    assert line.startswith(f"marginalia: {tmp_path / file} {sentence}")


def test_a_full_disk_leaves_no_backup(data: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m") as disk:
        fill(disk / "ballast")
        line = refused("backup", disk / "backup.db", "--data-dir", data)
        assert line.startswith(f"marginalia: {data}/marginalia.db ")
        assert "(database or disk is full): " in line
        assert [path.name for path in disk.iterdir()] == ["ballast"]


def test_a_backup_without_data_is_refused(tmp_path: Path) -> None:
    line = refused("backup", tmp_path / "backup.db", "--data-dir", tmp_path / "data")
    assert f" no data in {tmp_path}/data: " in line
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("pages", [slice(10, 20), slice(-2, -1)])
def test_damaged_data_is_not_backed_up(data: Path, tmp_path: Path, pages: slice) -> None:
    database = data / "marginalia.db"
    content = bytearray(database.read_bytes())
    for start in range(0, len(content), 4096)[pages]:
        content[start : start + 4096] = b"\xa5" * 4096
    database.write_bytes(content)
    line = refused("backup", tmp_path / "backup.db", "--data-dir", data)
    assert line.startswith(f"marginalia: The file {data}/marginalia.db is damaged (")
    assert not list(tmp_path.glob("*backup*"))


def test_a_file_that_is_not_a_backup_is_not_restored(data: Path, tmp_path: Path) -> None:
    before = (data / "marginalia.db").read_bytes()
    backup = tmp_path / "backup.db"
    called("backup", backup, "--data-dir", data)
    os.truncate(backup, backup.stat().st_size // 2)
    text = tmp_path / "text"
    text.write_text("text" * 5_000)
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as other:
        other.execute("CREATE TABLE other (a)")
    for file, sentence in (
        (backup, f"The file {backup} is damaged ("),
        (text, f"The file {text} is damaged ("),
        (foreign, f"The file {foreign} has no data"),
        (tmp_path / "none", f"{tmp_path}/none does not exist: "),
    ):
        assert sentence in refused("restore", file, "--data-dir", data)
    assert (data / "marginalia.db").read_bytes() == before
    assert not list(data.glob("*restor*"))


@pytest.mark.parametrize("action", ["backup", "restore"])
@pytest.mark.parametrize("store", [["--aws"], ["--endpoint-url", "http://127.0.0.1:9"]])
def test_a_backup_of_dynamodb_is_refused(tmp_path: Path, action: str, store: list[str]) -> None:
    line = refused(action, tmp_path / "backup.db", *store)
    assert "embedded engine" in line


def test_a_backup_of_a_directory_that_lost_its_data_is_refused(data: Path, tmp_path: Path) -> None:
    DataDirectory(data).write_record(EngineRecord(1, True, 1, "http://nowhere"))
    line = refused("backup", tmp_path / "backup.db", "--data-dir", data)
    assert "marginalia.db-wal is missing" in line
    DataDirectory(data).forget_record()
    os.truncate(data / "marginalia.db", 0)
    line = refused("backup", tmp_path / "backup.db", "--data-dir", data)
    assert "marginalia.db is empty" in line


@pytest.mark.soak
def test_backups_and_restores_killed_at_any_moment_lose_nothing(data: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    called("backup", backup, "--data-dir", data)
    outcomes = set()
    for number in range(60):
        action = ["restore", str(backup)] if number % 2 else ["backup", str(backup), "--force"]
        with subprocess.Popen([MARGINALIA, *action, "--data-dir", data], env=environment()) as one:
            while one.poll() is None and not working(tmp_path):
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.3))
            one.kill()
        outcomes.add(one.returncode)
        assert counted(backup) == ITEMS + 1
        if (data / "marginalia.db").exists():
            assert counted(data / "marginalia.db") == ITEMS + 1
        else:
            assert "marginalia.db is missing" in refused("serve", "--data-dir", data)
            assert called("restore", backup, "--data-dir", data).returncode == 0
    assert outcomes == {0, -signal.SIGKILL}


def working(tmp_path: Path) -> bool:
    """Return whether a backup or a restore has begun to copy the data file."""
    return any(tmp_path.glob(".*.partial")) or any(tmp_path.glob("data/*.restoring"))


def counted(database: Path) -> int:
    """Return the number of items in a database, which must not be damaged."""
    with closing(sqlite3.connect(database)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (items,) = opened.execute("SELECT count(*) FROM marginalia").fetchone()
    return int(items)
