r"""The rejects file: JSONL that ``load`` reads like any other file once its rows are mended.

Each entry holds ``line`` and ``reason``, and ``row`` (an object) where the row could be parsed, or
else ``raw`` (its text; bytes that are not UTF-8 stand as ``\udc80`` to ``\udcff``), for CSV with
``columns`` and, where it is no comma, ``delimiter``. ``cut`` marks an overlong line of which only
the head was kept.
"""

import contextlib
import errno
import json
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from server.errors import CommandError
from server.importer.rows import OPENING, Reject
from server.importer.source import STDIN

SUFFIX = ".rejects.jsonl"


class RejectsFile:
    """Written anew by each load, and only when there is something to reject.

    What an earlier load left in its place, perhaps mended meanwhile, is moved to ``PATH.old``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def write(self, reject: Reject) -> None:
        """Append one entry; OSError when the file cannot be written."""
        if self._file is None:
            self._move_aside()
            self._file = self.path.open("wb")
        self._file.write(_entry(reject))

    def close(self) -> None:
        """Finish the file; OSError when its last bytes cannot be written."""
        if self._file is None:
            self._move_aside()
        else:
            self._file.close()

    def abandon(self) -> None:
        """Close the file after a failure, whatever became of its last bytes."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    def _move_aside(self) -> None:
        if self.path.is_file():
            self.path.replace(self.path.with_name(f"{self.path.name}.old"))


def rejects_file(chosen: Path | None, source: Path) -> RejectsFile:
    """Return the rejects file at ``chosen``, or beside ``source``, or in the current directory.

    Raises CommandError when it could not be written, or another file is in its place.
    """
    path = chosen or _default(source)
    try:
        _check(path, source)
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written ({error.strerror}): name another file with --rejects."
        ) from error
    return RejectsFile(path)


def _check(path: Path, source: Path) -> None:
    if path.exists() and source.exists() and path.samefile(source):
        raise CommandError(f"{path} is the file to load: name another with --rejects.")
    if path.is_file() and not _is_ours(path):
        raise CommandError(f"{path} is not a rejects file: name another with --rejects.")
    _probe(path)


def _default(source: Path) -> Path:
    name = "stdin" if source == STDIN else source.name
    beside = source.with_name(f"{name}{SUFFIX}")
    try:
        _probe(beside)
    except OSError:
        return Path(beside.name)
    return beside


def _probe(path: Path) -> None:
    """Raise OSError unless ``path`` can be written; nothing is left of the attempt."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.is_file() or not path.exists():
        with tempfile.TemporaryFile(dir=path.parent):
            pass


def _is_ours(path: Path) -> bool:
    """Tell whether a load wrote ``path``, which may be empty when it was killed."""
    with path.open("rb") as file:
        return file.read(len(OPENING)) in {b"", OPENING}


def _entry(reject: Reject) -> bytes:
    entry: dict[str, object] = {"line": reject.line, "reason": reject.reason}
    if reject.raw is not None:
        entry["raw"] = reject.raw
    if reject.columns is not None:
        entry["columns"] = reject.columns
        if reject.delimiter != ",":
            entry["delimiter"] = reject.delimiter
    if reject.cut:
        entry["cut"] = True
    text = json.dumps(entry, ensure_ascii=False)
    if reject.row is not None:
        text = f'{text[:-1]}, "row": {reject.row}}}'
    # A lone surrogate, which UTF-8 cannot hold, is written as its JSON escape.
    return f"{text}\n".encode(errors="backslashreplace")
