"""Removes deleted data from the data file of the embedded engine, and from its write-ahead log.

SQLite does not overwrite what it deletes: old rows stay in free pages and in the free space of used
pages, until other rows replace them. SQLite's setting ``secure_delete`` would overwrite the old
rows, but each connection sets it for itself, and the engine has no option for it.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from server.errors import CommandError

_WAIT = 60.0
"""Maximum seconds that a step waits for the engine's transactions."""


def compact(database: Path) -> None:
    """Rewrite the data file without free space, and empty its log. Raise CommandError on failure.

    An engine may use the file meanwhile. Its requests then wait about a second for each 100 MB, and
    fail after 10 seconds.
    """
    try:
        with closing(sqlite3.connect(database, timeout=_WAIT, isolation_level=None)) as data:
            data.execute("VACUUM")
            (busy, _, _) = data.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise sqlite3.OperationalError("another program reads it")
    except sqlite3.Error as error:
        raise CommandError(
            f"Deleted data is still in free space of {database}, because the file cannot be "
            f"rewritten ({error}): check the free space on the disk, then restart the server."
        ) from error
