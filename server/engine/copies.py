"""Copies of a data file, whole and checked, made while an engine may be writing to it.

Copying the file by hand is no substitute: pages written meanwhile come half from before and half
from after, and what stands in the write-ahead log beside it is missing.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from server.engine.integrity import first_damage, reading, tables
from server.errors import CommandError

Progress = Callable[[int, int], None]
"""Gets the pages that are copied and those that there are."""

_BESIDE = ("-wal", "-shm", "-journal")

_STEP = 1_000
"""Pages copied between two words of progress."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What a copied file holds."""

    items: int
    size: int
    """Bytes."""


def copy_database(source: Path, target: Path, progress: Progress) -> Copy:
    """Copy a database as it is now into ``target``, check the copy, and flush it to the disk.

    ``target`` is absent or empty, and is one file in the end, without a write-ahead log. Raises
    CommandError, and then ``target`` may be anything.
    """
    try:
        with reading(source) as connection, closing(sqlite3.connect(target)) as copy:
            items = _copy(source, connection, copy, progress)
    except sqlite3.DatabaseError as error:
        raise _damaged(source, str(error)) from error
    sync(target)
    return Copy(items, target.stat().st_size)


def files(database: Path) -> list[Path]:
    """Return the paths of a database: the file, and what SQLite may keep beside it."""
    return [database.with_name(database.name + suffix) for suffix in ("", *_BESIDE)]


def remove(database: Path) -> None:
    """Remove a database that may be there."""
    for path in files(database):
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(
    source: Path, connection: sqlite3.Connection, copy: sqlite3.Connection, progress: Progress
) -> int:
    """Copy one state of the source; return how many items it holds."""
    # A transaction holds on to that state. Without it, every write between two steps would have
    # the copying begin again.
    connection.isolation_level = None
    connection.execute("BEGIN")
    names = tables(connection)
    if not names:
        raise CommandError(f"The file {source} holds no data of Marginalia's; nothing was changed.")
    copy.execute("PRAGMA synchronous = OFF")
    try:
        connection.backup(
            copy, pages=_STEP, progress=lambda _, left, all_: progress(all_ - left, all_), sleep=0
        )
        copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        raise CommandError(
            f"{source} cannot be copied ({error}): make room on the disk and try again."
        ) from error
    finding = first_damage(copy, "integrity_check")
    if finding is not None:
        raise _damaged(source, finding)
    counts = [copy.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names]  # noqa: S608 - names of DynamoDB tables hold no quotes
    return sum(counts)


def _damaged(source: Path, finding: str) -> CommandError:
    return CommandError(
        f"The file {source} is damaged ({finding}): restore an earlier backup; nothing was changed."
    )
