"""The data directory: a lock for its owner, and a record of the running engine."""

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
"""Bytes that must be free on the disk. SQLite's write-ahead log grows to 4 MB, and the checkpoint
that copies it into the data file needs as much again."""

_PAGE = 4096
"""Bytes of SQLite's first page, which lists the tables and contains no rows. If someone copies the
data file while an engine runs, the copy may have only this page."""

_OURS = re.compile(r"marginalia\.|engine\.|\.?jwt-secret|analytics|.*\.db$")
"""Matches the names of Marginalia's files, including backups."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_BEGUN = """\
marginalia.db in this directory holds data. While this file exists, a missing or empty marginalia.db
is an error, and no new one is created.
"""


class DataDirectoryInUseError(CommandError):
    """Another process owns the data directory."""


class DiskFullError(CommandError):
    """The disk of the data directory is full."""


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """The running engine, as recorded by the process that owns the data directory."""

    owner: int
    """Process id of the server or command that started the engine."""
    serving: bool
    """Whether the owner is a server. Commands can share a server's engine."""
    engine: int
    """Process id of the engine itself."""
    endpoint_url: str


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The latest backup of the data: when it was completed, and its file."""

    at: datetime
    file: str


class DataDirectory:
    """The directory of the embedded engine's data file and record.

    The lock is on the directory, because a lock on a file is lost if the file is deleted.
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
        """Create the directory if it does not exist.

        Raise CommandError if the engine cannot write to it.
        """
        try:
            self.path.mkdir(0o700, parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise CommandError(
                f"{self.path} is not a directory: choose another with --data-dir."
            ) from error
        except OSError as error:
            raise self.unusable(error) from error
        self.check_room()
        self._tighten()

    def _tighten(self) -> None:
        """Remove other users' permissions on the directory and its files. Log if there were any.

        The permissions stay in two cases: the directory contains files of other programs, such as
        ``/``, or it is shared, such as ``/tmp``.
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
                "Other users of this machine can read the data in %s; its mode cannot be changed "
                "(%s): run `chmod -R go= %s` as its owner.",
                self.path,
                error.strerror,
                self.path,
            )
            return
        if opened:
            logger.warning(
                "Other users of this machine could read the data in %s: now only its owner can.",
                self.path,
            )

    def require_data(self, otherwise: str = "name a table with --endpoint-url or --aws") -> None:
        """Raise CommandError unless a server or ``marginalia load`` has put data here."""
        if not self.database.exists() and not self._begun.exists():
            raise CommandError(
                f"There is no data in {self.path}: name the server's data directory with "
                f"--data-dir, or {otherwise}."
            )

    def check_room(self) -> None:
        """Raise CommandError unless a file of ``ROOM`` bytes can be written."""
        try:
            with tempfile.TemporaryFile(dir=self.path) as file:
                if sys.platform == "darwin":  # macOS has no function that reserves space
                    file.write(bytes(ROOM))
                    file.flush()
                else:
                    os.posix_fallocate(file.fileno(), 0, ROOM)
        except OSError as error:
            # Some file systems cannot reserve space, and with musl there is no replacement: do not
            # refuse them.
            if error.errno != errno.EOPNOTSUPP:
                raise self.unusable(error) from error

    @property
    def full(self) -> bool:
        """Whether the disk is too full for the engine to start."""
        try:
            self.check_room()
        except DiskFullError:
            return True
        return False

    def own(self) -> bool:
        """Become the owner of the directory. Return False if another process is the owner."""
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
        """Give up ownership of the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin(self) -> None:
        """Record that the data file contains data from now on."""
        if not self._begun.exists():
            try:
                self._begun.write_text(_BEGUN)
            except OSError as error:
                raise self.unusable(error) from error

    def check_data(self) -> None:
        """Raise CommandError if files are missing or empty, so that data was lost.

        Without this check, the engine would take a missing data file for an empty table. An engine
        that stops copies its write-ahead log into the data file, and its record is removed. So if a
        record exists, the log is needed.
        """
        logged = self._log.exists()
        try:
            size = self.database.stat().st_size
        except FileNotFoundError:
            if self._begun.exists():
                raise self._lost("gone") from None
            return
        if self.record() is not None and not logged:
            raise CommandError(
                f"The write-ahead log {self._log} is gone, and with it acknowledged writes: put a "
                "backup in the place of the data with `marginalia restore`, or remove "
                f"{self._record} to continue without these writes."
            )
        if self._begun.exists() and (not size or (size <= _PAGE and not logged)):
            raise self._lost("empty")

    def _lost(self, how: str) -> CommandError:
        return CommandError(
            f"The data file {self.database} is {how}, but it held data: put a backup in its place "
            f"with `marginalia restore`, or move the directory {self.path} away to start with an "
            "empty table."
        )

    def in_use(self) -> DataDirectoryInUseError:
        """Return the error that names the directory and, if it is known, the owner's process."""
        record = self.record()
        owner = f" (process {record.owner})" if record else ""
        return DataDirectoryInUseError(
            f"The data directory {self.path} is in use by another marginalia{owner}: "
            "stop that one, or choose another directory with --data-dir."
        )

    def record(self) -> EngineRecord | None:
        """Return the engine's record; None if it is missing or unreadable."""
        try:
            return EngineRecord(**orjson.loads(self._record.read_bytes()))
        except (OSError, TypeError, ValueError):
            return None

    def write_record(self, record: EngineRecord) -> None:
        """Replace the record in one step, so that a reader gets the old record or the new one."""
        draft = self._record.with_suffix(".new")
        try:
            draft.write_bytes(orjson.dumps(asdict(record)))
            draft.replace(self._record)
        except OSError as error:
            raise self.unusable(error) from error

    def last_backup(self) -> LastBackup | None:
        """Return the latest backup; None if its record is missing or unreadable."""
        try:
            known = orjson.loads(self._backup.read_bytes())
            return LastBackup(datetime.fromisoformat(known["at"]), str(known["file"]))
        except (OSError, KeyError, TypeError, ValueError):
            return None

    def write_backup(self, file: Path) -> None:
        """Record that a backup was made.

        If the record cannot be written, the backup is still good.
        """
        made = LastBackup(datetime.now(UTC), str(file.resolve()))
        with suppress(OSError):
            self._backup.write_bytes(orjson.dumps(made))

    def forget_record(self) -> None:
        """Remove the record after the engine has ended."""
        with suppress(OSError):
            self._record.unlink()

    def unusable(self, error: OSError) -> CommandError:
        """Return the error for an OSError while writing to the directory."""
        if error.errno in _FULL:
            return DiskFullError(
                f"The disk of the data directory {self.path} is full: free {ROOM >> 20} MB "
                "or more, or choose another directory with --data-dir."
            )
        return CommandError(
            f"The data directory {self.path} cannot be written ({error.strerror}): "
            "make it writable, or choose another with --data-dir."
        )


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def _is_ours(path: Path) -> bool:
    return _OURS.match(path.name) is not None
