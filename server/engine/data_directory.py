"""The data directory: one owner at a time, and a record of the engine that runs over it."""

import errno
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from filelock import FileLock, Timeout

from server.errors import CommandError

ROOM = 16 * 1024 * 1024
"""Bytes that must be free: SQLite's write-ahead log grows to 4 MB before it is folded in, and
folding it in needs as much again."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class DataDirectoryInUseError(CommandError):
    """Another process owns the data directory."""


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """A running engine, as the process that owns the data directory left word of it."""

    owner: int
    """Process id of the server or command that started the engine."""
    serving: bool
    """Whether the owner is a server: it stays, and its engine may be shared."""
    engine: int
    """Process id of the engine itself."""
    endpoint_url: str


class DataDirectory:
    """A directory that holds the embedded engine's file, its lock and its record."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.database = self.path / "marginalia.db"
        self._record = self.path / "engine.json"
        self._lock = FileLock(self.path / "marginalia.lock")

    def prepare(self) -> None:
        """Create the directory if absent; CommandError when the engine could not write there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise CommandError(
                f"{self.path} is not a directory: choose another with --data-dir."
            ) from error
        except OSError as error:
            raise self._unusable(error) from error
        self.check_room()

    def check_room(self) -> None:
        """Raise CommandError unless a file of ``ROOM`` bytes can be written."""
        try:
            with tempfile.TemporaryFile(dir=self.path) as file:
                os.posix_fallocate(file.fileno(), 0, ROOM)
        except OSError as error:
            # Some file systems cannot reserve room, and musl does not fill in for them.
            if error.errno != errno.EOPNOTSUPP:
                raise self._unusable(error) from error

    def own(self) -> bool:
        """Become the directory's owner; False when another process is."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise self._unusable(error) from error
        return True

    def leave(self) -> None:
        """Stop being the owner."""
        self._lock.release()

    def in_use(self) -> DataDirectoryInUseError:
        """Return the error that names the directory and, when it is known, the owner's process."""
        record = self.record()
        owner = f" (process {record.owner})" if record else ""
        return DataDirectoryInUseError(
            f"The data directory {self.path} is in use by another marginalia{owner}: "
            "stop that one, or choose another directory with --data-dir."
        )

    def record(self) -> EngineRecord | None:
        """Return the record of the engine; None without one, or when it cannot be read."""
        try:
            return EngineRecord(**orjson.loads(self._record.read_bytes()))
        except (OSError, TypeError, ValueError):
            return None

    def write_record(self, record: EngineRecord) -> None:
        """Replace the record in one step, so that a reader sees the old or the new one."""
        draft = self._record.with_suffix(".new")
        try:
            draft.write_bytes(orjson.dumps(asdict(record)))
            draft.replace(self._record)
        except OSError as error:
            raise self._unusable(error) from error

    def forget_record(self) -> None:
        """Remove the record: no engine runs any more."""
        with suppress(OSError):
            self._record.unlink()

    def _unusable(self, error: OSError) -> CommandError:
        if error.errno in _FULL:
            return CommandError(
                f"The disk of the data directory {self.path} is full: free {ROOM >> 20} MB "
                "or more, or choose another directory with --data-dir."
            )
        return CommandError(
            f"The data directory {self.path} cannot be written ({error.strerror}): "
            "make it writable, or choose another with --data-dir."
        )
