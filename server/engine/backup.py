"""Backups of the embedded engine's data file, and the way back from them."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from server.engine.copies import Copy, Progress, copy_database, files, remove, sync
from server.engine.data_directory import DataDirectory
from server.engine.orphan_process import end_orphan
from server.errors import CommandError


def back_up(directory: DataDirectory, file: Path, progress: Progress, *, force: bool) -> Copy:
    """Write the data, as it is now, to ``file``: one file for its owner alone.

    A server may be writing meanwhile. ``file`` appears when it is whole, checked and on the disk;
    one that is there already is replaced with ``force``, and CommandError otherwise.
    """
    directory.check_begun()
    if not directory.database.exists():
        raise CommandError(f"There is no data in {directory.path}: choose another with --data-dir.")
    _check_target(directory, file, force=force)
    draft = _draft(file)
    try:
        copy = copy_database(directory.database, draft, progress)
        # A log left by another database of that name would be read into this one.
        for beside in files(file)[1:]:
            beside.unlink(missing_ok=True)
        draft.replace(file)
        sync(file.absolute().parent)
    except OSError as error:
        raise _not_written(file, error) from error
    finally:
        remove(draft)
    return copy


def _check_target(directory: DataDirectory, file: Path, *, force: bool) -> None:
    if file.is_dir():
        raise CommandError(f"{file} is a directory: name a file in it.")
    if file.resolve() in files(directory.database):
        raise CommandError(f"{file} is the data file itself: name another file.")
    if not force and any(path.exists() for path in files(file)):
        raise CommandError(f"{file} exists: name another file, or add --force to replace it.")


def _draft(file: Path) -> Path:
    """Create an empty file that its owner alone may read, beside ``file``."""
    parent = file.absolute().parent
    try:
        descriptor, path = tempfile.mkstemp(".partial", f".{file.name}.", parent)
    except OSError as error:
        raise _not_written(file, error) from error
    os.close(descriptor)
    return Path(path)


def _not_written(file: Path, error: OSError) -> CommandError:
    return CommandError(f"{file} cannot be written ({error.strerror}): name another file.")


def restore(directory: DataDirectory, file: Path, progress: Progress) -> tuple[Copy, Path | None]:
    """Put a backup in the place of the data; return also where the data from before is kept.

    CommandError while a server or command works on the directory, and when the backup is not
    whole. Killed at any point, it leaves the old data, or none, which no server takes for an empty
    table, or the backup's; running it again is safe.
    """
    if not file.is_file():
        raise CommandError(f"There is no file {file}: name a backup.")
    draft = directory.database.with_suffix(".db.restoring")
    with _owned(directory):
        try:
            remove(draft)
            return copy_database(file, draft, progress), _replace(directory, draft)
        except OSError as error:
            raise directory.unusable(error) from error
        finally:
            remove(draft)


@contextmanager
def _owned(directory: DataDirectory) -> Iterator[None]:
    """Let no server or command work on the directory."""
    directory.prepare()
    if not directory.own():
        raise directory.in_use()
    try:
        end_orphan(directory)
        yield
    finally:
        directory.leave()


def _replace(directory: DataDirectory, draft: Path) -> Path | None:
    """Put ``draft`` in the place of the data file; return the name under which that one is kept."""
    database = directory.database
    now = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    kept = database.with_suffix(f".db.before-restore-{now}")
    # The log beside the file holds what was written last, so the two are kept together.
    for path, name in zip(files(database)[:2], files(kept)[:2], strict=True):
        if path.exists():
            os.link(path, name)
    # From here until the end, no server begins anew where the file is missing.
    directory.begin()
    sync(directory.path)
    remove(database)
    draft.replace(database)
    sync(directory.path)
    return kept if kept.exists() else None
