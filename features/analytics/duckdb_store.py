"""The embedded analytics store: DuckDB, which reads a Parquet file in the data directory.

DuckDB runs in threads, so that the event loop can serve other requests meanwhile. A folder contains
the Parquet file, and ``base.json`` with the name of the Parquet file. Every file is written under a
temporary name and then renamed, so a file with its final name is complete.
"""

import asyncio
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import orjson

from features.analytics import sql as questions_sql
from features.analytics.errors import AnalyticsFailedError
from features.analytics.store import Export, Question, Result

THREADS = 2
"""Maximum questions at the same time, and the number of threads that DuckDB uses for all questions
together."""

MEMORY = "1GB"
"""DuckDB's memory limit. If a question needs more memory, DuckDB writes temporary files to the
store's folder."""

ATTEMPTS = 3
"""Maximum attempts to answer a question. An attempt fails if a refresh replaces the file
meanwhile."""

_DISK_FULL = ("No space left", "quota exceeded", "File too large")

T = TypeVar("T")

_CURRENT = "base.json"


class DuckDBStore:
    """A copy of the comments in the files of one folder.

    Several processes may use the folder at the same time. Only one fill runs at a time; other
    fills wait.
    """

    name = "DuckDB"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="analytics")
        settings: dict[str, Any] = {
            "threads": THREADS,
            "memory_limit": MEMORY,
            # Each process needs its own folder for temporary files, because DuckDB gives these
            # files the same names in every process.
            "temp_directory": str(path / f"spilled-{secrets.token_hex(8)}"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._database = duckdb.connect(":memory:", config=settings)

    async def export(self) -> Export | None:
        """Return the export that the folder contains; None if the folder contains no export."""
        return await self._run(lambda _: self._export())

    async def ask(self, question: Question, export: Export) -> Result:
        """Answer a question about ``export``, or about the export that has replaced it."""
        return await self._run(lambda cursor: self._ask(cursor, question, export))

    async def fill(self, parquet: Path, began: datetime) -> Export:
        """Store the exported comments, and return the new export.

        The rows are sorted by product, so that a trend reads few row groups.
        """
        return await self._run(lambda cursor: self._fill(cursor, parquet, began))

    async def aclose(self) -> None:
        """Stop the threads and DuckDB."""
        self._pool.shutdown(cancel_futures=True)
        self._database.close()

    async def _run(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run ``work`` in a thread, and return the result of ``work``.

        If the caller is cancelled, the thread is interrupted.
        """
        with self._database.cursor() as cursor:
            running = self._pool.submit(_converting_errors, work, cursor)
            try:
                return await asyncio.wrap_future(running)
            except asyncio.CancelledError:
                if not running.cancel():
                    cursor.interrupt()
                    # Wait for the interrupted thread, because DuckDB crashes if a cursor is closed
                    # while a thread uses it.
                    await asyncio.to_thread(running.exception)
                raise

    def _ask(self, cursor: duckdb.DuckDBPyConnection, question: Question, export: Export) -> Result:
        for _ in range(ATTEMPTS - 1):
            try:
                return self._run_sql(cursor, question, export)
            except duckdb.IOException:  # a refresh has probably replaced the file
                export = self._export() or export
        return self._run_sql(cursor, question, export)

    def _export(self) -> Export | None:
        try:
            return Export.decode((self._path / _CURRENT).read_bytes())
        except FileNotFoundError:
            return None

    def _run_sql(
        self, cursor: duckdb.DuckDBPyConnection, question: Question, export: Export
    ) -> Result:
        file = _quoted(self._path / export.name)
        cursor.execute("SET enable_profiling = 'no_output'")
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW base AS FROM read_parquet({file})")
        sql = questions_sql.duckdb(question(questions_sql.comments("base")))
        rows = cursor.execute(sql).fetchall()
        profile = orjson.loads(cursor.get_profiling_information(format="json"))
        return Result(rows, sql, int(profile["query"]["total_rows_scanned"]))

    def _fill(self, cursor: duckdb.DuckDBPyConnection, parquet: Path, began: datetime) -> Export:
        self._path.mkdir(parents=True, exist_ok=True)
        with _locked(self._path):
            path = self._path / f"base-{secrets.token_hex(8)}.parquet"
            part = path.with_suffix(".parquet.part")
            cursor.execute("SET TimeZone = 'UTC'")
            (rows,) = cursor.execute(
                "COPY (SELECT id, product_id, rating, language, "
                "created_at::TIMESTAMP AS created_at "
                f"FROM read_parquet({_quoted(parquet)}) ORDER BY product_id, created_at) "
                f"TO {_quoted(part)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)"
            ).fetchall()[0]
            _publish(part, path)
            export = Export(began, path.name, rows)
            earlier = {*self._path.glob("base-*.parquet*")} - {path}
            part = self._path / f"{_CURRENT}.{secrets.token_hex(4)}.part"
            part.write_bytes(export.encode())
            _publish(part, self._path / _CURRENT)
            for old in earlier:
                old.unlink(missing_ok=True)
            return export


def _converting_errors(
    work: Callable[[duckdb.DuckDBPyConnection], T], cursor: duckdb.DuckDBPyConnection
) -> T:
    """Run ``work``. Turn the errors of DuckDB and of the file system into AnalyticsFailedError."""
    try:
        return work(cursor)
    except (duckdb.Error, OSError, orjson.JSONDecodeError) as error:
        reason = str(error).partition("\n")[0]
        if any(words in reason for words in _DISK_FULL):
            raise AnalyticsFailedError(
                f"The disk of the analytics files is full ({reason}): free some space and try "
                "again. The previous data is still in use."
            ) from error
        raise AnalyticsFailedError(
            f"The analytics files cannot be read or written ({reason}): run `marginalia analytics "
            "refresh` to create them again."
        ) from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let only one fill of a folder run at a time, because a fill deletes other fills' files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _quoted(path: Path) -> str:
    text = str(path.absolute()).replace("'", "''")
    return f"'{text}'"


def _publish(part: Path, path: Path) -> None:
    """Force the contents of ``part`` to the disk, then rename it to ``path``."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)
