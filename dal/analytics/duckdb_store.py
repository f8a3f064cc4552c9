"""The embedded store: DuckDB over Parquet files in the data directory.

DuckDB keeps nothing of its own; each question reads the files there are. It runs in a few threads
beside the event loop.
"""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import orjson

from dal.analytics import dialects, queries
from dal.analytics.directory import AnalyticsDirectory, publish
from dal.analytics.errors import AnalyticsFailedError
from dal.analytics.store import Export, Question, Result

THREADS = 2
"""Questions that are answered at once, and the threads of DuckDB's own for all of them."""

MEMORY = "1GB"
"""The most that DuckDB takes; a question of more spills to disk, beside the files."""

ATTEMPTS = 3
"""Files may be replaced between their listing and their reading."""

_NO_ROOM = ("No space left", "quota exceeded", "File too large")

Answer = TypeVar("Answer")


class DuckDBStore:
    """Comments in the files of one folder; any number of processes may ask and refill."""

    name = "DuckDB"

    def __init__(self, path: Path) -> None:
        self._directory = AnalyticsDirectory(path)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="analytics")
        settings: dict[str, Any] = {
            "threads": THREADS,
            "memory_limit": MEMORY,
            # Of its own: DuckDB's names in there are the same in every process.
            "temp_directory": str(path / f"spilled-{secrets.token_hex(8)}"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._database = duckdb.connect(":memory:", config=settings)

    async def export(self) -> Export | None:
        """Return the export in the folder."""
        return await self._run(lambda _: self._directory.export())

    async def ask(self, question: Question, export: Export) -> Result:
        """Answer a question of an export, or of a later one that replaced it meanwhile."""
        return await self._run(lambda cursor: self._ask(cursor, question, export))

    async def fill(self, parquet: Path, began: datetime) -> Export:
        """Keep what questions need of an export, sorted by product so that one reads few groups."""
        return await self._run(lambda cursor: self._fill(cursor, parquet, began))

    async def close(self) -> None:
        """End the threads and DuckDB."""
        self._pool.shutdown(cancel_futures=True)
        self._database.close()

    async def _run(self, work: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """Do ``work`` in a thread; who is cancelled interrupts it."""
        with self._database.cursor() as cursor:
            running = self._pool.submit(_told, work, cursor)
            try:
                return await asyncio.wrap_future(running)
            except asyncio.CancelledError:
                if not running.cancel():
                    cursor.interrupt()
                    # The cursor may not be closed under the thread, which ends at once now.
                    await asyncio.to_thread(running.exception)
                raise

    def _ask(self, cursor: duckdb.DuckDBPyConnection, question: Question, export: Export) -> Result:
        for _ in range(ATTEMPTS - 1):
            try:
                return self._answer(cursor, question, export)
            except duckdb.IOException:  # the file was replaced
                export = self._directory.export() or export
        return self._answer(cursor, question, export)

    def _answer(
        self, cursor: duckdb.DuckDBPyConnection, question: Question, export: Export
    ) -> Result:
        file = _quoted(self._directory.file_of(export))
        cursor.execute("SET enable_profiling = 'no_output'")
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW base AS FROM read_parquet({file})")
        sql = dialects.duckdb(question(queries.comments("base")))
        return Result(cursor.execute(sql).fetchall(), sql, _rows_read(cursor))

    def _fill(self, cursor: duckdb.DuckDBPyConnection, parquet: Path, began: datetime) -> Export:
        path = self._directory.new_file()
        part = path.with_suffix(".parquet.part")
        cursor.execute("SET TimeZone = 'UTC'")
        (rows,) = cursor.execute(
            "COPY (SELECT id, product_id, rating, language, created_at::TIMESTAMP AS created_at "
            f"FROM read_parquet({_quoted(parquet)}) ORDER BY product_id, created_at) "
            f"TO {_quoted(part)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)"
        ).fetchall()[0]
        publish(part, path)
        export = Export(began, path.name, rows)
        self._directory.put(export)
        return export


def _told(
    work: Callable[[duckdb.DuckDBPyConnection], Answer], cursor: duckdb.DuckDBPyConnection
) -> Answer:
    """Do ``work``; DuckDB's errors and those of files become AnalyticsFailedError."""
    try:
        return work(cursor)
    except (duckdb.Error, OSError, orjson.JSONDecodeError) as error:
        said = str(error).partition("\n")[0]
        if any(words in said for words in _NO_ROOM):
            raise AnalyticsFailedError(
                f"Analytics has no room for its files ({said}): make room and try again; what was "
                "there still counts."
            ) from error
        raise AnalyticsFailedError(
            f"Analytics cannot use its files ({said}): `marginalia analytics refresh` makes them "
            "again."
        ) from error


def _rows_read(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many rows the scans of the last query passed on."""
    profile = orjson.loads(cursor.get_profiling_information(format="json"))
    return int(profile["query"]["total_rows_scanned"])


def _quoted(path: Path) -> str:
    text = str(path.absolute()).replace("'", "''")
    return f"'{text}'"
