"""Looks through a data file before an engine opens it, or a backup before it is believed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import psutil

from server.engine.data_directory import DataDirectory
from server.errors import CommandError

if TYPE_CHECKING:
    from server.progress import ProgressBar

LARGE = 100_000_000
"""Bytes of a file that is looked through for long enough to say so: about half a second."""

_SECONDS_BETWEEN = 0.5


def check_data(directory: DataDirectory) -> None:
    """Raise CommandError when the data file is damaged, or lost what it held; never writes."""
    directory.check_begun()
    database = directory.database
    if not database.exists():
        return
    with reading(database) as connection:
        with _saying(database):
            finding = first_damage(connection, "quick_check")
        if finding is None and directory.begun and not tables(connection):
            raise directory.lost("empty")
    if finding is not None:
        raise CommandError(
            f"The data file {database} is damaged ({finding}): {directory.way_out}; nothing in "
            "it was changed."
        )


@contextmanager
def _saying(path: Path) -> Iterator[None]:
    """Say of a large file that it is looked through in the block, and how far that is."""
    size = path.stat().st_size
    if size < LARGE:
        yield
        return
    from server.progress import ProgressBar  # noqa: PLC0415 - rich is a twentieth of every start

    done = Event()
    with ProgressBar(f"Checking {path.name}", size if _bytes_read() else None) as bar:
        bar.say(f"Checking the data file {path}, {size / 1e9:.1f} GB, before it is opened.")
        telling = Thread(target=_tell, args=(bar, size, done), daemon=True)
        telling.start()
        try:
            yield
        finally:
            done.set()
            telling.join()


def _tell(bar: "ProgressBar", size: int, done: Event) -> None:
    """Show how much was read: SQLite reads each page about once, and says nothing meanwhile."""
    before = _bytes_read()
    while not done.wait(_SECONDS_BETWEEN):
        read = min(_bytes_read() - before, size)
        bar.update(read, f"{read / 1e9:.1f} GB" if read else "")


def _bytes_read() -> int:
    """Return what this process has read from files; 0 where the system does not tell."""
    process = psutil.Process()
    return process.io_counters().read_chars if hasattr(process, "io_counters") else 0


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database to read; CommandError when the file or its disk does not let it be read."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            yield opened
    except sqlite3.OperationalError as error:
        raise CommandError(
            f"The data file {path} cannot be read ({error}): check its permissions and its disk."
        ) from error


def first_damage(connection: sqlite3.Connection, check: str) -> str | None:
    """Return the first thing that one of SQLite's checks finds, in its words; None if nothing."""
    try:
        (finding,) = connection.execute(f"PRAGMA {check}(1)").fetchone()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return str(error)
    last = str(finding).rpartition("\n")[2]
    return None if last == "ok" else last


def tables(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the engine's tables; none for a database that no engine has made."""
    made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_tables'").fetchone()
    found = connection.execute("SELECT table_name FROM _tables") if made else []
    return [name for (name,) in found]
