"""The files of the embedded store: a Parquet file of the export, and ``base.json`` that names it.

Every file is written under another name and renamed, so a file that has its name is whole.
"""

import os
import secrets
from pathlib import Path

from dal.analytics.store import Export

_NAMED = "base.json"


class AnalyticsDirectory:
    """A folder that one embedded store keeps its files in; the first export creates it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def export(self) -> Export | None:
        """Return the export that counts; None before the first."""
        try:
            return Export.decode((self.path / _NAMED).read_bytes())
        except FileNotFoundError:
            return None

    def file_of(self, export: Export) -> Path:
        """Return the Parquet file of an export."""
        return self.path / export.name

    def new_file(self) -> Path:
        """Return the path for a new export, to write before ``put``."""
        self.path.mkdir(parents=True, exist_ok=True)
        return self.path / f"base-{secrets.token_hex(8)}.parquet"

    def put(self, export: Export) -> None:
        """Let an export count from now on, and delete the files of earlier ones."""
        before = set(self.path.glob("base-*.parquet*"))
        part = self.path / f"{_NAMED}.{secrets.token_hex(4)}.part"
        part.write_bytes(export.encode())
        publish(part, self.path / _NAMED)
        for old in before - {self.file_of(export)}:
            old.unlink(missing_ok=True)


def publish(part: Path, path: Path) -> None:
    """Rename a file once the disk has all of it."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)
