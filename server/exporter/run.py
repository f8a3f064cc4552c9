"""An export: the parallel scan into parts, the parts into files, the files into their place."""

import asyncio
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dal.repositories.export import ExportRepository
from dal.table.client import Table
from dal.table.concurrency import in_parallel
from dal.table.parallel_scan import SCAN_SEGMENTS, Progress
from server.errors import CommandError
from server.exporter.draft import Draft, SegmentWriter, open_draft, sync, write_whole
from server.exporter.manifest import ExportedFile, Manifest, now
from server.exporter.parquet import write_parquet
from server.exporter.rows import ExportKind, Format, header
from server.exporter.target import Target, directory_of
from server.parquet import duckdb_in_memory

_FULL = {errno.ENOSPC, errno.EDQUOT}


async def export_comments(table: Table, directory: Path, written_in: Format) -> Manifest:
    """Export all comments to ``comments.<format>`` in a directory, over what is there.

    Interrupted, it goes on when it is called again. Raises CommandError and DalError.
    """
    target = directory_of(directory, ["comments"], written_in)
    return await export(table, target, table.name, lambda _: None, force=True)


async def export(
    table: Table, target: Target, store: str, seen: Progress, *, force: bool = False
) -> Manifest:
    """Export the kinds of ``target``; ``store`` says where the table is, in words.

    The files appear when they are whole and on the disk, the manifest last. Raises CommandError
    and DalError; the same export then goes on from its last checkpoint.
    """
    if target.format == "parquet":
        with duckdb_in_memory():
            pass  # it is there: better to know before the scan than after it
    with _writing(target):
        asked = {
            "store": store,
            "table": await table.id(),
            "format": target.format,
            "kinds": list(target.files),
        }
        if not (force or target.assembled):
            target.check_absent()
        with open_draft(target, asked, now()) as draft:
            if not target.assembled:
                await _scan(table, draft, seen)
                await _in_thread(partial(_assemble, draft, store))
            return _publish(draft)


async def _scan(table: Table, draft: Draft, seen: Progress) -> None:
    """Read what the draft lacks of each scan segment."""
    repository = ExportRepository(table)
    items = [segment.items for segment in draft.state.segments]

    async def scan(segment: int) -> None:
        writer = SegmentWriter(draft, segment)
        try:
            if writer.state.done:
                return
            async for page in repository.pages(segment, writer.state.last, draft.target.files):
                await _in_thread(partial(writer.write, page))
                items[segment] = writer.state.items
                seen(sum(items))
        finally:
            writer.close()

    await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])


async def _in_thread(work: Callable[[], None]) -> None:
    """Do ``work`` in a thread; who is cancelled waits for its end.

    A thread cannot be stopped, and the draft may be another run's once this one is over.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.gather(running, return_exceptions=True)
        raise


def _assemble(draft: Draft, store: str) -> None:
    """Make the files of the parts, and the manifest, which says that they are whole."""
    ended = now()
    files = {kind: _file(draft, kind, path) for kind, path in draft.target.files.items()}
    manifest = Manifest(store, draft.target.format, draft.state.begun, ended, files)
    write_whole(draft.target.made(draft.target.manifest), manifest.encode())


def _file(draft: Draft, kind: ExportKind, path: Path) -> ExportedFile:
    whole, written_in = draft.target.made(path), draft.target.format
    with whole.open("wb") as file:
        file.write(header(kind, written_in))
        for segment in range(SCAN_SEGMENTS):
            with draft.part(kind, segment).open("rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)
        sync(file)
    if written_in == "parquet":
        columnar = whole.with_suffix(".columns")
        write_parquet(whole, columnar, kind)
        with columnar.open("rb+") as file:
            sync(file)
        columnar.replace(whole)
    states = [segment.parts[kind] for segment in draft.state.segments]
    rows, unreadable = (sum(one.rows for one in states), sum(one.unreadable for one in states))
    return ExportedFile(path.name, rows, unreadable)


def _publish(draft: Draft) -> Manifest:
    """Put the files into their place, the manifest last; those that an earlier run put stay."""
    target = draft.target
    manifest = Manifest.read(target.made(target.manifest))
    for path in (*target.files.values(), target.manifest):
        if target.made(path).exists():
            target.made(path).replace(path)
            _sync_directory(target.folder)
    draft.discard()
    return manifest


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
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
        place = error.filename or target.draft
        if error.errno in _FULL:
            raise CommandError(
                f"The disk of {target.folder} is full: make room and run the same command again, "
                "which goes on from here."
            ) from error
        raise CommandError(
            f"{place} cannot be written ({error.strerror}): name another output."
        ) from error
