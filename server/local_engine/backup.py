"""Backs up the data file of the embedded engine, and restores backups.

A backup has a checksum in its header, because SQLite finds damaged pages but not changed values.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from server.errors import UNSUITABLE, CommandError
from server.local_engine.data_directory import DataDirectory, sync
from server.local_engine.engine_process import end_orphan

_CHECKSUM_AT = 68
"""The position of SQLite's ``application_id`` in a database file: four bytes, of which SQLite and
the engine make no use. 0 means that the file has no checksum."""

_CHUNK = 1 << 20


def back_up(directory: DataDirectory, file: Path, *, force: bool) -> int:
    """Copy the data file to ``file``. Return the number of items.

    A server may write during the copy. ``file`` appears only after the copy is complete, checked
    and on the disk. Raises CommandError if there is no data, if the data is damaged, if ``file``
    cannot be written, or if it exists and ``force`` is false.
    """
    directory.require_data()
    directory.check_data()
    if file.is_dir():
        raise CommandError(f"{file} is a directory: name a file in it.")
    if file.resolve() in _files(directory.database):
        raise CommandError(f"{file} is the data file itself: name another file.")
    if not force and any(path.exists() for path in _files(file)):
        raise CommandError(f"{file} exists: name another file, or add --force to replace it.")
    try:
        with _copied(directory.database, file) as (draft, items):
            # An earlier database of this name may have left a log. Delete it, because SQLite would
            # apply it to the new file.
            for log in _files(file)[1:]:
                log.unlink(missing_ok=True)
            with draft.open("r+b") as written:
                written.seek(_CHECKSUM_AT)
                written.write(_checksum(draft))
            sync(draft)
            draft.replace(file)
            sync(file.absolute().parent)
            directory.write_backup(file)
    except OSError as error:
        raise CommandError(
            f"{file} cannot be written ({error.strerror}): name another file."
        ) from error
    return items


def restore(directory: DataDirectory, file: Path) -> tuple[int, Path | None]:
    """Replace the data with a backup. Return the number of items and the path of the old data.

    The path is None if there was no old data. Raises CommandError if the backup is missing or
    damaged, if the directory cannot be written, or if a server or a command uses the directory. If
    a restore is killed, the data file may be missing. Without this file no server starts, and the
    operator must run the restore again.
    """
    if not file.is_file():
        raise CommandError(f"{file} does not exist: name a backup.")
    database = directory.database
    kept = database.with_suffix(f".db.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    directory.prepare()
    if not directory.own():
        raise directory.in_use()
    try:
        end_orphan(directory)
        with file.open("rb") as read:
            read.seek(_CHECKSUM_AT)
            expected = read.read(4)
        # The data that an earlier restore has kept has no checksum.
        if any(expected) and expected != _checksum(file):
            raise _damaged(file, "its checksum is wrong")
        with _copied(file, database) as (draft, items):
            # Keep the old file together with its log, because the log contains the latest writes.
            for path, name in zip(_files(database)[:2], _files(kept)[:2], strict=True):
                if path.exists():
                    os.link(path, name)
            # Below, the data file is missing for a moment. If the restore is killed in this moment,
            # the record of ``begin`` prevents a server from starting with an empty table.
            directory.begin()
            sync(directory.path)
            for path in _files(database):
                path.unlink(missing_ok=True)
            draft.replace(database)
            sync(directory.path)
    except OSError as error:
        raise directory.unusable(error) from error
    finally:
        directory.leave()
    return items, kept if kept.exists() else None


@contextmanager
def _copied(source: Path, target: Path) -> Iterator[tuple[Path, int]]:
    """Copy the database ``source``. Yield the path of the checked copy, and the number of items.

    The copy has no free space, so it contains no deleted data (see ``compaction``).
    The copy is in a temporary directory next to ``target``, on the same disk.
    """
    with TemporaryDirectory(".partial", f".{target.name}.", target.absolute().parent) as folder:
        draft = Path(folder, target.name)
        try:
            with (
                closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as data,
                closing(sqlite3.connect(draft)) as copy,
            ):
                data.execute("VACUUM INTO ?", (str(draft),))
                items = _check(source, copy)
                # The engine changes restored data, so the data must not keep the backup's checksum.
                copy.execute("PRAGMA application_id = 0")
            sync(draft)  # some versions of SQLite do not flush this copy
        except sqlite3.OperationalError as error:
            raise CommandError(
                f"{source} cannot be copied ({error}): check its permissions and the free space "
                "on the disk, then try again."
            ) from error
        except sqlite3.DatabaseError as error:
            raise _damaged(source, error) from error
        yield draft, items


def _check(source: Path, copy: sqlite3.Connection) -> int:
    """Return the number of items. Raise an error for a damaged copy or another program's data."""
    (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found.rpartition("\n")[2])
    made = copy.execute("SELECT 1 FROM sqlite_master WHERE name = '_tables'").fetchone()
    names = copy.execute("SELECT table_name FROM _tables").fetchall() if made else []
    if not names:
        raise CommandError(f"The file {source} has no data of Marginalia. Nothing was changed.")
    counts = [copy.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for (name,) in names]  # noqa: S608 - names of DynamoDB tables have no quotes
    return sum(counts)


def _damaged(file: Path, how: object) -> CommandError:
    return CommandError(
        f"The file {file} is damaged ({how}): restore an earlier backup. Nothing was changed.",
        UNSUITABLE,
    )


def _checksum(file: Path) -> bytes:
    """Return the CRC-32 of a database without the bytes of the checksum; never four zero bytes."""
    with file.open("rb") as opened:
        found = zlib.crc32(opened.read(_CHECKSUM_AT))
        opened.seek(_CHECKSUM_AT + 4)
        while chunk := opened.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return (found or 1).to_bytes(4, "big")


def _files(database: Path) -> list[Path]:
    """Return the path of a database and the paths of the files that SQLite creates next to it."""
    return [database.with_name(database.name + end) for end in ("", "-wal", "-shm", "-journal")]
