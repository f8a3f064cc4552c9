"""The files of the embedded store: one of the export, small ones of changes, and what they are.

``base.json`` names the Parquet file that counts; ``changes/<run>/`` has files of changes, JSON
lines as they came and Parquet once they were compacted. Every file is written beside and renamed,
so what has its name is whole.
"""

import os
import secrets
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import orjson

from analytics.documents import BASE, FOLLOWING, encoded, state_of
from analytics.store import Base, ChangedComment, Following, State

_PART = ".part"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class AnalyticsDirectory:
    """A folder that one embedded store keeps its files in; it is made when something is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def state(self) -> State:
        """Return what is held."""
        return state_of({name: self._read(name) for name in (BASE, FOLLOWING)})

    def base_file(self, base: Base) -> Path:
        """Return the Parquet file of an export."""
        return self.path / base.name

    def change_files(self, run: str) -> list[Path]:
        """Return the files of a run's changes, those compacted first."""
        found = (self.path / "changes" / run).glob("*.[jp]*")
        return sorted(one for one in found if one.suffix != _PART)

    def new_base(self) -> Path:
        """Return where an export is to be written, before it is ``put``."""
        self.path.mkdir(parents=True, exist_ok=True)
        return self.path / f"base-{secrets.token_hex(8)}.parquet"

    def put(self, base: Base, covered: Iterable[str] = ()) -> None:
        """Let an export count from now on; the files of those before go, and changes that it has.

        The exports go first: a question that read of one lists the changes anew, as that is gone.
        """
        before = set(self.path.glob("base-*.parquet*"))
        self._write(BASE, encoded(base))
        for old in before - {self.base_file(base)}:
            old.unlink(missing_ok=True)
        for name in covered:
            (self.path / name).unlink(missing_ok=True)

    def follow(self, following: Following) -> None:
        """Keep how far a run is; other runs' changes go."""
        self._write(FOLLOWING, encoded(following))
        for other in (self.path / "changes").glob("*"):
            if other.name != following.run:
                shutil.rmtree(other, ignore_errors=True)

    def append(self, run: str, changes: Iterable[ChangedComment]) -> None:
        """Keep changes in a file of their own."""
        lines = b"\n".join(orjson.dumps(_row(run, change)) for change in changes)
        self._publish(self.change_path(run, "jsonl"), lines)

    def change_path(self, run: str, suffix: str) -> Path:
        """Return a free name for changes of a run."""
        folder = self.path / "changes" / run
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{secrets.token_hex(8)}.{suffix}"

    def _read(self, name: str) -> bytes | None:
        try:
            return (self.path / f"{name}.json").read_bytes()
        except FileNotFoundError:
            return None

    def _write(self, name: str, text: bytes) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self._publish(self.path / f"{name}.json", text)

    @staticmethod
    def _publish(path: Path, content: bytes) -> None:
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_PART}")
        part.write_bytes(content)
        publish(part, path)


def publish(part: Path, path: Path) -> None:
    """Let a file that was written beside have its name, once the disk has all of it."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)


def _row(run: str, change: ChangedComment) -> dict[str, object]:
    """Return a change as its line; what is gone has values too, which nobody reads."""
    row = change._asdict() | {"run": run, "deleted": int(change.created_at is None)}
    created = change.created_at
    created = EPOCH if created is None else created.astimezone(UTC)
    row["created_at"] = created.replace(tzinfo=None).isoformat(" ")
    return row
