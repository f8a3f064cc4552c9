"""The data directory: one owner at a time, and a record of the engine that runs over it."""

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
from pathlib import Path

import orjson

from server.errors import CommandError

logger = logging.getLogger(__name__)

ROOM = 16 * 1024 * 1024
"""Bytes that must be free: SQLite's write-ahead log grows to 4 MB before it is folded in, and
folding it in needs as much again."""

_PAGE = 4096
"""Bytes of SQLite's first page, which lists tables and holds none: a copy of the file alone, made
while an engine ran, may have no other page."""

_OURS = re.compile(r"marginalia\.|engine\.|\.?jwt-secret|analytics|.*\.db$")
"""The names of our files, backups among them."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_BEGUN = """\
Data has been kept in marginalia.db of this directory. As long as this file is here, an emptied or
missing marginalia.db is refused instead of being begun anew.
"""


class DataDirectoryInUseError(CommandError):
    """Another process owns the data directory."""


class DiskFullError(CommandError):
    """The disk of the data directory has no room."""


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
    """A directory that holds the embedded engine's file and its record.

    The lock is on the directory itself: no file can be removed that it depends on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.database = self.path / "marginalia.db"
        self._log = self.path / "marginalia.db-wal"
        self._record = self.path / "engine.json"
        self._begun = self.path / "marginalia.begun"
        self._lock: int | None = None

    def prepare(self) -> None:
        """Create the directory if absent; CommandError when the engine could not write there."""
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
        """Close the directory and its files to other users, and log it where any was open.

        A directory that holds other files besides stays open, as ``/`` must, and one that is shared
        by design, as ``/tmp`` is.
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
                "Other users of this machine can read the data in %s, which cannot be closed "
                "(%s): run `chmod -R go= %s` as its owner.",
                self.path,
                error.strerror,
                self.path,
            )
            return
        if opened:
            logger.warning(
                "Other users of this machine could read the data in %s: now its owner alone can.",
                self.path,
            )

    def check_room(self) -> None:
        """Raise CommandError unless a file of ``ROOM`` bytes can be written."""
        try:
            with tempfile.TemporaryFile(dir=self.path) as file:
                if sys.platform == "darwin":  # which cannot reserve room
                    file.write(bytes(ROOM))
                    file.flush()
                else:
                    os.posix_fallocate(file.fileno(), 0, ROOM)
        except OSError as error:
            # Some file systems cannot reserve room, and musl does not fill in for them.
            if error.errno != errno.EOPNOTSUPP:
                raise self.unusable(error) from error

    @property
    def full(self) -> bool:
        """Whether the disk has no room for the engine to start."""
        try:
            self.check_room()
        except DiskFullError:
            return True
        return False

    def own(self) -> bool:
        """Become the directory's owner; False when another process is."""
        try:
            lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise self.unusable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        except OSError as error:
            os.close(lock)
            raise self.unusable(error) from error
        self._lock = lock
        return True

    def leave(self) -> None:
        """Stop being the owner."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def begin(self) -> None:
        """Note that the data file holds data from now on."""
        if not self._begun.exists():
            try:
                self._begun.write_text(_BEGUN)
            except OSError as error:
                raise self.unusable(error) from error

    def check_data(self) -> None:
        """Raise CommandError when the data was lost, by what is left of the files.

        The engine takes a missing data file for an empty table. It needs the write-ahead log unless
        it was stopped, which removes its record.
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
                f"{self._record} to go on with what is left."
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
            raise self.unusable(error) from error

    def forget_record(self) -> None:
        """Remove the record: no engine runs any more."""
        with suppress(OSError):
            self._record.unlink()

    def unusable(self, error: OSError) -> CommandError:
        """Return the error of a directory in which something could not be written."""
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
