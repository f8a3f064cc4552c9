"""The data directory of the embedded engine: its lock, its checks, and its records.

Only one process owns the directory at a time: the server or command that runs the engine, or a
restore.
"""

import errno
import fcntl
import logging
import os
import re
import stat
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from server.errors import CommandError

logger = logging.getLogger(__name__)

ROOM = 16 * 1024 * 1024
"""Minimum free bytes on the disk when the engine starts. SQLite's write-ahead log grows to 4 MB.
When SQLite copies the log to the data file (a checkpoint), the data file may grow by 4 MB, too.
``ROOM`` is twice these 8 MB."""

_PAGE = 4096
"""Size in bytes of the first page of an SQLite file. This page lists the tables and contains no
rows. If an operator copies the data file while an engine runs, the copy may contain only this page,
because the rows are still in the write-ahead log. So a data file of at most this size counts as
empty if its log is missing."""

_OURS = re.compile(r"marginalia\.|engine\.|\.?jwt-secret|analytics|.*\.db$")
"""Matches the names of Marginalia's own files in the directory. Any file that ends in ``.db`` may
be a backup."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_BEGUN = """\
The file marginalia.db in this directory contains data. While this text file exists, Marginalia does
not create a new marginalia.db. If marginalia.db is missing or empty, Marginalia reports an error.
"""


class DataDirectoryInUseError(CommandError):
    """Another process owns the data directory."""


class DiskFullError(CommandError):
    """The disk of the data directory is full."""


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """The record, in a file, by which commands find a running engine.

    The owner of the data directory writes it.
    """

    owner: int
    """Process id of the server or command that started the engine."""
    serving: bool
    """Whether the owner is a server. A command can use a server's engine, but not the engine of
    another command."""
    engine: int
    """Process id of the engine itself."""
    endpoint_url: str


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The latest backup of the data: the time when it was complete, and its file."""

    at: datetime
    file: str


class DataDirectory:
    """The directory with the data file of the embedded engine.

    The directory itself is locked, because a lock on a file in it is lost if the file is deleted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.database = self.path / "marginalia.db"
        self._log = self.path / "marginalia.db-wal"
        self._record = self.path / "engine.json"
        self._begun = self.path / "marginalia.begun"
        self._backup = self.path / "marginalia.backup"
        self._lock: int | None = None

    def prepare(self) -> None:
        """Create the directory if it is missing, and remove other users' permissions on it.

        A directory that other programs also use keeps its permissions. Raises CommandError if the
        path is not a directory, if the directory cannot be written, or if the disk is full.
        """
        try:
            self.path.mkdir(0o700, parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise CommandError(
                f"{self.path} is not a directory: choose a directory with --data-dir."
            ) from error
        except OSError as error:
            raise self.unusable(error) from error
        self.check_room()
        self._tighten()

    def _tighten(self) -> None:
        """Remove other users' permissions on the directory and its data files, and log this.

        The directory keeps its permissions if it contains files of other programs, like ``/``, or
        if it is shared, like ``/tmp``. If the permissions cannot be changed, log a warning.
        """
        try:
            opened = [one for one in self.path.glob("marginalia.*") if _mode(one) & _OTHERS]
            mode = _mode(self.path)
            shared = mode & stat.S_ISVTX or not all(map(_is_ours, self.path.iterdir()))
            if mode & _OTHERS and not shared:
                opened.append(self.path)
            for path in opened:
                path.chmod(0o700 if path == self.path else 0o600)
        except OSError as error:
            logger.warning(
                "Other users of this machine can read the data in %s, and its permissions cannot "
                "be changed (%s): run `chmod -R go= %s` as the owner of the directory.",
                self.path,
                error.strerror,
                self.path,
            )
            return
        if opened:
            logger.warning(
                "Other users of this machine could read the data in %s. Now only its owner can.",
                self.path,
            )

    def require_data(self, otherwise: str = "name a table with --endpoint-url or --aws") -> None:
        """Raise CommandError if the directory contains no data.

        The error's message ends with ``otherwise``, a second way to continue.
        """
        if not self.database.exists() and not self._begun.exists():
            raise CommandError(
                f"There is no data in {self.path}: name the server's data directory with "
                f"--data-dir, or {otherwise}."
            )

    def check_room(self) -> None:
        """Raise DiskFullError if the disk has less free space than ``ROOM``.

        Raises another CommandError if a file cannot be written although the disk has space, for
        example because of the directory's permissions.
        """
        try:
            with tempfile.TemporaryFile(dir=self.path) as file:
                if sys.platform == "darwin":  # macOS cannot reserve space, so write zeros
                    file.write(bytes(ROOM))
                    file.flush()
                else:
                    os.posix_fallocate(file.fileno(), 0, ROOM)
        except OSError as error:
            # Some file systems cannot reserve space. The C library musl then returns EOPNOTSUPP.
            # Ignore this error, because it says nothing about the free space.
            if error.errno != errno.EOPNOTSUPP:
                raise self.unusable(error) from error

    @property
    def full(self) -> bool:
        """Whether the disk has too little free space to start the engine.

        Raises CommandError if the directory cannot be written for another reason.
        """
        try:
            self.check_room()
        except DiskFullError:
            return True
        return False

    def own(self) -> bool:
        """Become the owner: lock the directory. Return False if another process is the owner."""
        try:
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.leave()
            return False
        except OSError as error:
            self.leave()
            raise self.unusable(error) from error
        return True

    def leave(self) -> None:
        """Unlock the directory, so that another process can become its owner."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin(self) -> None:
        """Record that there is data. From now on, a missing data file is an error."""
        if not self._begun.exists():
            try:
                self._begun.write_text(_BEGUN)
            except OSError as error:
                raise self.unusable(error) from error

    def check_data(self) -> None:
        """Raise CommandError if data was lost because files are missing or empty.

        Without this check, the engine would create an empty data file in place of a lost one.

        The check also finds a missing write-ahead log. While the engine runs, ``engine.json`` and
        this log exist. When the engine stops, it copies the log to the data file and deletes the
        log, and its owner removes ``engine.json``. So if ``engine.json`` exists but the log does
        not, acknowledged writes are lost.
        """
        logged = self._log.exists()
        try:
            size = self.database.stat().st_size
        except FileNotFoundError:
            if self._begun.exists():
                raise self._lost("missing") from None
            return
        if self.record() is not None and not logged:
            raise CommandError(
                f"The write-ahead log {self._log} is missing, so acknowledged writes are lost: "
                "restore a backup with `marginalia restore`, or remove "
                f"{self._record} to continue without these writes."
            )
        if self._begun.exists() and (not size or (size <= _PAGE and not logged)):
            raise self._lost("empty")

    def last_change(self) -> int | None:
        """Return the time of the data file's last change, in nanoseconds.

        None if the file is missing, or if the log of a killed engine contains later changes.
        """
        if self._log.exists() or not self.database.exists():
            return None
        return self.database.stat().st_mtime_ns

    def _lost(self, how: str) -> CommandError:
        return CommandError(
            f"The data file {self.database} is {how}, but it had data before: restore a backup "
            f"with `marginalia restore`, or move the directory {self.path} away to start with an "
            "empty table."
        )

    def in_use(self) -> DataDirectoryInUseError:
        """Return the error for a directory that another process owns."""
        record = self.record()
        owner = f" (process {record.owner})" if record else ""
        return DataDirectoryInUseError(
            f"The data directory {self.path} is used by another marginalia process{owner}: "
            "stop that process, or choose another directory with --data-dir."
        )

    def record(self) -> EngineRecord | None:
        """Return the record of the engine, or None if it is missing or invalid."""
        try:
            return EngineRecord(**orjson.loads(self._record.read_bytes()))
        except (OSError, TypeError, ValueError):
            return None

    def write_record(self, record: EngineRecord) -> None:
        """Replace the record in one step, so that no reader sees an incomplete record."""
        draft = self._record.with_suffix(".new")
        try:
            draft.write_bytes(orjson.dumps(asdict(record)))
            draft.replace(self._record)
        except OSError as error:
            raise self.unusable(error) from error

    def last_backup(self) -> LastBackup | None:
        """Return the latest backup, or None if its record is missing or invalid."""
        try:
            known = orjson.loads(self._backup.read_bytes())
            return LastBackup(datetime.fromisoformat(known["at"]), str(known["file"]))
        except (OSError, KeyError, TypeError, ValueError):
            return None

    def write_backup(self, file: Path) -> None:
        """Record that a backup was made. Ignore errors, because the backup itself is complete."""
        made = LastBackup(datetime.now(UTC), str(file.resolve()))
        with suppress(OSError):
            self._backup.write_bytes(orjson.dumps(made))

    def forget_record(self) -> None:
        """Remove the record after the engine has ended."""
        with suppress(OSError):
            self._record.unlink()

    def unusable(self, error: OSError) -> CommandError:
        """Return the error for a failed write to the directory: DiskFullError or CommandError."""
        if error.errno in _FULL:
            return DiskFullError(
                f"The disk of the data directory {self.path} is full: free {ROOM >> 20} MB "
                "or more, or choose another directory with --data-dir."
            )
        return CommandError(
            f"The data directory {self.path} cannot be written ({error.strerror}): "
            "make it writable, or choose another directory with --data-dir."
        )


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def _is_ours(path: Path) -> bool:
    return _OURS.match(path.name) is not None


def sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
