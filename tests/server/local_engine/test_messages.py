"""The sentences of the embedded engine, its data directory and its backups."""

import errno
import os
import platform
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from server.errors import CommandError
from server.local_engine import program
from server.local_engine.backup import back_up, restore
from server.local_engine.compaction import compact
from server.local_engine.data_directory import DataDirectory, EngineRecord
from server.local_engine.program import NONE, engine_binary

B = Path("b.db")


def empty() -> DataDirectory:
    return DataDirectory(Path("data"))


def made() -> DataDirectory:
    with closing(sqlite3.connect("data/marginalia.db")) as data:
        data.execute("CREATE TABLE a (b)")
    return empty()


def text() -> DataDirectory:
    empty().database.write_text("text" * 5_000)
    return empty()


def begun() -> DataDirectory:
    empty().begin()
    return empty()


def killed() -> DataDirectory:
    made().write_record(EngineRecord(1, True, 7, "http://nowhere"))
    return empty()


def failing(error: CommandError) -> None:
    raise error


def engine(value: str) -> None:
    with mock.patch.dict(os.environ, MARGINALIA_ENGINE=value):
        engine_binary()


def no_engine(system: str, machine: str) -> None:
    with (
        mock.patch.dict(os.environ, MARGINALIA_ENGINE="", PATH=""),
        mock.patch.object(sys, "platform", system),
        mock.patch.object(platform, "machine", return_value=machine),
        mock.patch.object(program, "_ROOT", Path.cwd()),
    ):
        engine_binary()


def installed(system: str, machine: str) -> None:
    Path("node_modules").mkdir()
    Path("node_modules/installed").touch()
    no_engine(system, machine)


MESSAGES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: DataDirectory(B).prepare(),
        "/b.db is not a directory: choose a directory with --data-dir.",
    ),
    (
        lambda: failing(empty().unusable(OSError(errno.EACCES, "Permission denied"))),
        (
            "The data directory /data cannot be written (Permission denied): make it "
            "writable, or choose another directory with --data-dir."
        ),
    ),
    (
        lambda: failing(empty().unusable(OSError(errno.ENOSPC, "No space left"))),
        (
            "The disk of the data directory /data is full: free 16 MB or more, or choose "
            "another directory with --data-dir."
        ),
    ),
    (
        lambda: empty().require_data(),
        (
            "There is no data in /data: name the server's data directory with --data-dir, "
            "or name a table with --endpoint-url or --aws."
        ),
    ),
    (
        lambda: killed().check_data(),
        (
            "The write-ahead log /data/marginalia.db-wal is missing, so acknowledged writes "
            "are lost: restore a backup with `marginalia restore`, or remove "
            "/data/engine.json to continue without these writes."
        ),
    ),
    (
        lambda: begun().check_data(),
        (
            "The data file /data/marginalia.db is missing, but it had data before: restore "
            "a backup with `marginalia restore`, or move the directory /data away to start "
            "with an empty table."
        ),
    ),
    (
        lambda: failing(killed().in_use()),
        (
            "The data directory /data is used by another marginalia process (process 1): "
            "stop that process, or choose another directory with --data-dir."
        ),
    ),
    (lambda: back_up(made(), Path(), force=False), ". is a directory: name a file in it."),
    (
        lambda: back_up(made(), empty().database, force=True),
        "/data/marginalia.db is the data file itself: name another file.",
    ),
    (
        lambda: back_up(made(), B, force=False),
        "b.db exists: name another file, or add --force to replace it.",
    ),
    (
        lambda: back_up(made(), B, force=True),
        "The file /data/marginalia.db has no data of Marginalia. Nothing was changed.",
    ),
    (
        lambda: back_up(text(), B, force=True),
        (
            "The file /data/marginalia.db is damaged (file is not a database): restore an "
            "earlier backup. Nothing was changed."
        ),
    ),
    (lambda: restore(empty(), Path("none")), "none does not exist: name a backup."),
    (
        lambda: compact(text().database),
        (
            "Deleted data is still in free space of /data/marginalia.db, because the file "
            "cannot be rewritten (file is not a database): check the free space on the "
            "disk, then restart the server."
        ),
    ),
    (
        lambda: engine(NONE),
        (
            "No storage engine may run here, because MARGINALIA_ENGINE has the value "
            "'none': use a table on another store with --endpoint-url or --aws."
        ),
    ),
    (
        lambda: engine("nowhere"),
        (
            "The storage engine is not at nowhere: set MARGINALIA_ENGINE to the path of the "
            "program dynoxide, or unset it."
        ),
    ),
    (
        lambda: no_engine("darwin", "arm64"),
        "The storage engine is not installed: run `make setup`.",
    ),
    (
        lambda: installed("darwin", "arm64"),
        (
            "npm has not installed the package @dynoxide/darwin-arm64, the storage engine: delete "
            "the directory node_modules and run `make setup` again, or run `cargo install "
            "dynoxide-rs`, or set MARGINALIA_ENGINE=none and use another store with "
            "--endpoint-url or --aws."
        ),
    ),
    (
        lambda: installed("freebsd14", "amd64"),
        (
            "npm has no storage engine for freebsd14-x64: run `cargo install dynoxide-rs`, or set "
            "MARGINALIA_ENGINE=none and use another store with --endpoint-url or --aws."
        ),
    ),
]


@pytest.mark.parametrize(("call", "sentence"), MESSAGES, ids=[text for _, text in MESSAGES])
def test_a_message(
    call: Callable[[], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    B.touch()
    with pytest.raises(CommandError) as caught:
        call()
    assert str(caught.value).replace(f"{tmp_path}/", "/") == sentence
