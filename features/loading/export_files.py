"""Exports the rows of a table to files with a manifest, or to standard output.

The files are first written to a temporary directory in the output's directory. After all files are
complete and on the disk, they are moved to the output. So an export that fails or is interrupted
before this move does not change existing files.
"""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TypeAlias

import orjson

from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.scan import SCAN_SEGMENTS, Progress
from dal.dynamodb.table import Table
from dal.kinds.item_kind import ItemKind
from dal.table.key_parts import format_instant
from features.loading.export_rows import Format, Layout, write_parquet
from features.loading.kind import files_of
from features.loading.parquet import duckdb_in_memory
from features.loading.scan_rows import export_pages
from server.errors import CommandError
from server.local_engine.data_directory import sync

PROMISE = (
    "Each object that was in the table from `begun` until `ended` is in these files exactly once, "
    "in a version that it had in that time. Exceptions are the objects that `unreadable` and "
    "`left_out` count. Objects that were added or deleted in that time may be missing. All reads "
    "were strongly consistent, but the files do not show the table at one instant."
)

MANIFEST = "manifest.json"
_FULL = {errno.ENOSPC, errno.EDQUOT}

Write: TypeAlias = Callable[[str, bytes], Awaitable[object]]
"""A function that appends encoded rows to the output of their kind."""


@dataclass(frozen=True, slots=True)
class Output:
    """The files of an export by their names, and a manifest in the same directory."""

    files: Mapping[str, Path]
    manifest: Path

    @property
    def directory(self) -> Path:
        """The directory of the files and the manifest."""
        return self.manifest.parent

    def check_absent(self) -> None:
        """Raise CommandError if one of the files already exists."""
        for path in (*self.files.values(), self.manifest):
            if path.exists():
                raise CommandError(
                    f"{path} exists: name another output, or add --force to replace it."
                )


@dataclass(frozen=True, slots=True)
class Target(Output):
    """The output of an export to a file for each kind. ``files`` has the names of the kinds."""

    layout: Layout
    kinds: Sequence[ItemKind]


def directory_of(path: Path, kinds: Sequence[ItemKind], layout: Layout) -> Target:
    """Return the target for an export to a directory. Each kind's file has the kind's name."""
    files = {name: path / f"{name}.{layout.format}" for name in files_of(kinds)}
    return Target(files, path / MANIFEST, layout, kinds)


@dataclass(slots=True)
class ExportedFile:
    """One file of an export.

    ``unreadable`` is the number of items that have the keys of this kind but could not be decoded.
    ``left_out`` is the number of unpublished comments, which the file does not contain.
    """

    file: str
    rows: int = 0
    unreadable: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of the manifest, a JSON file that describes a complete export.

    ``begun`` and ``ended`` are the times of the export's start and end, in ISO 8601 and UTC.
    """

    store: str
    format: Format
    begun: str
    ended: str
    files: Mapping[str, ExportedFile]
    promise: str = PROMISE

    @property
    def unreadable(self) -> int:
        """The number of items of all kinds that could not be decoded."""
        return sum(one.unreadable for one in self.files.values())

    @property
    def left_out(self) -> int:
        """The number of unpublished comments, which the files do not contain."""
        return sum(one.left_out for one in self.files.values())


def now() -> str:
    """Return the current time as manifests have it."""
    return format_instant(datetime.now(UTC))


@contextmanager
def draft_in(directory: Path) -> Iterator[Path]:
    """Create ``directory`` if needed. Yield a temporary directory in it, for incomplete files."""
    directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(".partial", ".export.", directory) as name:
        yield Path(name)


async def export(
    table: Table, target: Target, store: str, seen: Progress, *, force: bool = False
) -> Manifest:
    """Export the kinds of ``target``. ``store`` describes the table in the manifest.

    The function calls ``seen`` with the number of items that it has scanned. Raises DalError if the
    table cannot be read. Raises CommandError if a file cannot be written, or if a file exists and
    ``force`` is false. For Parquet, also raises CommandError if DuckDB is not installed, or if a
    value does not fit its column.
    """
    if target.layout.format == "parquet":
        with duckdb_in_memory():
            pass  # If DuckDB is missing, raise the error before the scan.
    with writing(target.directory):
        if not force:
            target.check_absent()
        with draft_in(target.directory) as draft:
            begun = now()
            files = await _scan_to_files(table, target, draft, seen)
            manifest = Manifest(store, target.layout.format, begun, now(), files)
            # Convert rows to Parquet if needed, write the manifest, and flush all files to disk.
            for name, path in target.files.items():
                file = draft / path.name
                if target.layout.format == "parquet":
                    rows = file.rename(draft / f"{path.name}.jsonl")
                    write_parquet(rows, file, files_of(target.kinds)[name], target.layout)
                    rows.unlink()
                sync(file)
            write_manifest(draft / target.manifest.name, asdict(manifest))
            if not force:
                target.check_absent()
            publish(target, draft)
    return manifest


async def export_to_stdout(
    table: Table, target: Target, store: str, output: BinaryIO, seen: Progress
) -> Manifest:
    """Write the rows of ``target``, which has one kind, to ``output`` during the scan.

    The format is JSONL or CSV.

    Raises DalError if the table cannot be read, and CommandError if the output cannot be written,
    for example because its disk is full. Raises BrokenPipeError if the output is a pipe that its
    reader, such as ``head``, has closed. Typer then ends the command without a message.
    """
    (name,) = target.files
    file, begun, one_at_a_time = ExportedFile("-"), now(), asyncio.Lock()

    async def write(_: str, content: bytes) -> None:
        async with one_at_a_time:
            # Write in a thread, because a slow reader of the output would block the event loop.
            await asyncio.to_thread(output.write, content)

    try:
        await _scan(table, target, {name: file}, write, seen)
        await asyncio.to_thread(output.flush)
    except BrokenPipeError:
        raise
    except OSError as error:
        # Redirect the output to the null device. Otherwise Python would flush the rest of the
        # buffer when it exits, and fail again.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, output.fileno())
        os.close(nothing)
        raise CommandError(
            f"Standard output accepts no more data ({error.strerror}) after {file.rows:,} rows: "
            "the export is incomplete."
        ) from error
    return Manifest(store, target.layout.format, begun, now(), {name: file})


async def _scan_to_files(
    table: Table, target: Target, draft: Path, seen: Progress
) -> Mapping[str, ExportedFile]:
    files = {name: ExportedFile(path.name) for name, path in target.files.items()}
    with ExitStack() as stack:
        outputs = {
            name: stack.enter_context((draft / one.file).open("wb")) for name, one in files.items()
        }

        async def write(name: str, rows: bytes) -> None:
            outputs[name].write(rows)

        await _scan(table, target, files, write, seen)
    return files


async def _scan(
    table: Table, target: Target, files: Mapping[str, ExportedFile], write: Write, seen: Progress
) -> None:
    """Scan the segments of the table in parallel, write the rows, and count them in ``files``."""
    items, layout, kinds = 0, target.layout, files_of(target.kinds)
    for name, kind in kinds.items():
        await write(name, layout.header(kind))

    async def scan(segment: int) -> None:
        nonlocal items
        async for page in export_pages(table, segment, target.kinds, all_states=layout.all_states):
            for name, kind in kinds.items():
                objects, file = page.objects[name], files[name]
                await write(name, layout.encode(kind, objects))
                file.rows += len(objects)
                file.unreadable += page.unreadable[name]
            if "comments" in files:
                files["comments"].left_out += page.left_out
            items += page.items
            seen(items)

    await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest, and flush it to the disk."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    path.write_bytes(orjson.dumps(manifest, option=options))
    sync(path)


def publish(target: Output, draft: Path) -> None:
    """Move the files from the temporary directory to the output.

    The old manifest is deleted first, and the new manifest is moved last. So a manifest never
    describes files of another export. After a crash, there may be files without a manifest.
    """
    target.manifest.unlink(missing_ok=True)
    for paths in (target.files.values(), (target.manifest,)):
        sync(target.directory)
        for path in paths:
            (draft / path.name).replace(path)
    sync(target.directory)


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Turn an OSError into a CommandError with the reason why a file cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise CommandError(
                f"The disk of {directory} is full: free space, then run the same command again."
            ) from error
        place = error.filename2 or directory
        raise CommandError(
            f"{place} cannot be written ({error.strerror}): name another output."
        ) from error
