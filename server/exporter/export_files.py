"""Exports: a parallel scan of the table, into files or to standard output.

Files are written in a temporary directory next to their place, and moved there when all of them are
whole and on the disk. An export that fails or is interrupted leaves what was there before.
"""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, TypeAlias

from dal.client.concurrency import in_parallel
from dal.client.scan import SCAN_SEGMENTS, Progress
from dal.client.table import Table
from dal.maintenance.export import ExportRepository
from server.errors import CommandError
from server.exporter.manifest import ExportedFile, Manifest, Target, now
from server.exporter.row_kinds import ExportKind, Format, encode, header, write_parquet
from server.parquet import duckdb_in_memory

_FULL = {errno.ENOSPC, errno.EDQUOT}

Write: TypeAlias = Callable[[ExportKind, bytes], Awaitable[object]]
"""Writes rows of one kind."""


async def export(
    table: Table, target: Target, store: str, seen: Progress, *, force: bool = False
) -> Manifest:
    """Export the kinds of ``target``; ``store`` says where the table is, in words.

    Raises DalError, and CommandError when a file exists (without ``force``) or cannot be written.
    """
    if target.format == "parquet":
        with duckdb_in_memory():
            pass  # an error that DuckDB is not installed comes before the scan, not after it
    with _writing(target):
        if not force:
            target.check_absent()
        target.directory.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(".partial", ".export.", target.directory) as name:
            draft, begun = Path(name), now()
            files = await _scan_to_files(table, target, draft, seen)
            manifest = Manifest(store, target.format, begun, now(), files)
            _finish(target, draft, manifest)
            if not force:
                target.check_absent()
            _publish(target, draft)
    return manifest


async def export_to_stdout(
    table: Table,
    store: str,
    rows_of: tuple[ExportKind, Format],
    output: BinaryIO,
    seen: Progress,
) -> Manifest:
    """Write the rows of one kind, which is not Parquet, as they are read.

    Raises DalError, CommandError when there is no room for them, and BrokenPipeError when their
    reader has closed the pipe, as ``head`` does: Typer ends the command quietly then.
    """
    kind, written_in = rows_of
    file, begun, one_at_a_time = ExportedFile("-"), now(), asyncio.Lock()

    async def write(_: ExportKind, content: bytes) -> None:
        async with one_at_a_time:
            # In a thread: requests under way go on while the reader of the output takes its time.
            await asyncio.to_thread(output.write, content)

    try:
        await write(kind, header(kind, written_in))
        await _scan(table, written_in, {kind: file}, write, seen)
        await asyncio.to_thread(output.flush)
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard(output)
        raise CommandError(
            f"Standard output takes no more ({error.strerror}) after {file.rows:,} rows: the "
            "export is not complete."
        ) from error
    return Manifest(store, written_in, begun, now(), {kind: file})


def _discard(output: BinaryIO) -> None:
    """Connect a stream to nothing: flushing what it still holds would fail again at exit."""
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), output.fileno())


async def _scan_to_files(
    table: Table, target: Target, draft: Path, seen: Progress
) -> Mapping[ExportKind, ExportedFile]:
    files = {kind: ExportedFile(path.name) for kind, path in target.files.items()}
    with ExitStack() as stack:
        outputs = {
            kind: stack.enter_context((draft / one.file).open("wb")) for kind, one in files.items()
        }

        async def write(kind: ExportKind, rows: bytes) -> None:
            outputs[kind].write(rows)

        for kind in files:
            await write(kind, header(kind, target.format))
        await _scan(table, target.format, files, write, seen)
    return files


async def _scan(
    table: Table,
    written_in: Format,
    files: Mapping[ExportKind, ExportedFile],
    write: Write,
    seen: Progress,
) -> None:
    """Write the rows of all scan segments as they are read, and count them in ``files``."""
    repository, items = ExportRepository(table), 0

    async def scan(segment: int) -> None:
        nonlocal items
        async for page in repository.pages(segment, files):
            for kind, file in files.items():
                objects = page.objects[kind]
                await write(kind, encode(kind, written_in, objects))
                file.rows += len(objects)
                file.unreadable += page.unreadable[kind]
            items += page.items
            seen(items)

    await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])


def _finish(target: Target, draft: Path, manifest: Manifest) -> None:
    """Make Parquet of the rows if asked for, write the manifest, and bring all to the disk."""
    for kind, path in target.files.items():
        file = draft / path.name
        if target.format == "parquet":
            rows = file.rename(draft / f"{path.name}.jsonl")
            write_parquet(rows, file, kind)
            rows.unlink()
        _sync(file)
    encoded = draft / target.manifest.name
    encoded.write_bytes(manifest.encode())
    _sync(encoded)


def _publish(target: Target, draft: Path) -> None:
    """Move the files into place, and the manifest last: a manifest describes the files beside it.

    The old manifest goes first for the same reason: a crash in between leaves none.
    """
    target.manifest.unlink(missing_ok=True)
    for paths in (target.files.values(), (target.manifest,)):
        _sync(target.directory)
        for path in paths:
            (draft / path.name).replace(path)
    _sync(target.directory)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _writing(target: Target) -> Iterator[None]:
    """Say in one sentence why a file cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise CommandError(
                f"The disk of {target.directory} is full: make room, then run the same command "
                "again."
            ) from error
        place = error.filename2 or target.directory
        raise CommandError(
            f"{place} cannot be written ({error.strerror}): name another output."
        ) from error
