"""Looks through the data file before an engine opens it."""

import sqlite3
from pathlib import Path

from server.errors import CommandError


def check_database(path: Path) -> None:
    """Raise CommandError when SQLite's quick check finds ``path`` damaged; reads, never writes."""
    if not path.exists():
        return
    try:
        finding = _quick_check(path)
    except sqlite3.OperationalError as error:
        raise CommandError(
            f"The data file {path} cannot be read ({error}): check its permissions and its disk."
        ) from error
    if finding != "ok":
        raise CommandError(
            f"The data file {path} is damaged ({finding}): put a backup in its place, "
            "or move it away to start with an empty one; nothing in it was changed."
        )


def _quick_check(path: Path) -> str:
    """Return the first thing that is wrong with the file, in SQLite's words; ``ok`` if none is."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        (finding,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return str(error)
    finally:
        database.close()
    return str(finding).rpartition("\n")[2]
