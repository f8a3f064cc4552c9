"""An export of one kind to standard output: it keeps no state, and cannot go on."""

import asyncio
import os
from pathlib import Path
from typing import BinaryIO

from dal.repositories.export import ExportRepository
from dal.table.client import Table
from dal.table.concurrency import in_parallel
from dal.table.parallel_scan import SCAN_SEGMENTS, Progress
from server.errors import CommandError
from server.exporter.manifest import ExportedFile, Manifest, now
from server.exporter.rows import ExportKind, Format, encode, header


async def export_to_stdout(
    table: Table,
    store: str,
    rows_of: tuple[ExportKind, Format],
    output: BinaryIO,
    seen: Progress,
) -> Manifest:
    """Write the rows of one kind, which is not Parquet, as they are read.

    Raises DalError, CommandError when there is no room for them, and BrokenPipeError when nobody
    reads them any more, as ``head`` does: Typer ends the command quietly then.
    """
    kind, written_in = rows_of
    repository, begun, one_at_a_time = ExportRepository(table), now(), asyncio.Lock()
    rows = unreadable = items = 0

    async def write(content: bytes) -> None:
        async with one_at_a_time:
            # A thread writes, so that requests under way go on while the reader takes its time.
            await asyncio.to_thread(output.write, content)

    async def scan(segment: int) -> None:
        nonlocal rows, unreadable, items
        async for page in repository.pages(segment, None, [kind]):
            await write(encode(kind, written_in, page.objects[kind]))
            rows += len(page.objects[kind])
            unreadable += page.unreadable[kind]
            items += page.items
            seen(items)

    try:
        await write(header(kind, written_in))
        await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])
        await asyncio.to_thread(output.flush)
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard(output)
        raise CommandError(
            f"Standard output takes no more ({error.strerror}) after {rows:,} rows: the export "
            "is not complete."
        ) from error
    files = {kind: ExportedFile("-", rows, unreadable)}
    return Manifest(store, written_in, begun, now(), files)


def _discard(output: BinaryIO) -> None:
    """Lead a stream nowhere: what it still holds would fail once more when the process ends."""
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), output.fileno())
