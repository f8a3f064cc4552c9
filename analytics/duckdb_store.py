"""The embedded store: DuckDB over Parquet files in the data directory.

DuckDB keeps nothing of its own; each question reads the files there are. It runs in a few threads
beside the event loop.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import orjson

from analytics import dialects, queries
from analytics.directory import AnalyticsDirectory, publish
from analytics.errors import NOT_FILLED, AnalyticsFailedError, AnalyticsUnavailableError
from analytics.store import Base, ChangedComment, Following, Question, Result, State

THREADS = 2
"""Questions that are answered at once, and the threads of DuckDB's own for all of them."""

MEMORY = "1GB"
"""The most that DuckDB takes; a question of more spills to disk, beside the files."""

COMPACTED = 16
"""Files of changes of one kind, as they came or compacted, that are made one when there are more.
"""

ATTEMPTS = 3
"""Files may be replaced between their listing and their reading."""

_READERS = {
    ".parquet": "read_parquet([%s])",
    ".jsonl": "read_json([%s], format = 'newline_delimited', columns = {id: 'VARCHAR', "
    "sequence: 'VARCHAR', product_id: 'VARCHAR', rating: 'TINYINT', language: 'VARCHAR', "
    "created_at: 'TIMESTAMP', run: 'VARCHAR', deleted: 'TINYINT'})",
}
"""How files of changes are read, by what they are."""

_NO_ROOM = ("No space left", "quota exceeded", "File too large")

Answer = TypeVar("Answer")


class DuckDBStore:
    """Comments in the files of one folder; any number of processes may ask, append and refill."""

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

    async def state(self) -> State:
        """Return what the folder holds."""
        return await self._run(lambda _: self._directory.state())

    async def ask(self, question: Question, state: State) -> Result:
        """Answer a question of the files that are there now, of the export of ``state``."""
        return await self._run(lambda cursor: self._ask(cursor, question, state))

    async def kept(self) -> Collection[str]:
        """Return the files of the changes that are kept now."""
        return await self._run(lambda _: self._kept())

    async def fill(
        self,
        parquet: Path,
        began: datetime,
        stream: str | None,
        covered: Collection[str] = (),
    ) -> Base:
        """Keep what questions need of an export, sorted by product so that one reads few groups."""
        return await self._run(lambda cursor: self._fill(cursor, parquet, began, stream, covered))

    async def append(self, run: str, changes: Sequence[ChangedComment]) -> None:
        """Keep changes in a file; when there are many files, make them one."""
        await self._run(lambda cursor: self._append(cursor, run, changes))

    async def follow(self, following: Following) -> None:
        """Keep how far a run is."""
        await self._run(lambda _: self._directory.follow(following))

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

    def _ask(self, cursor: duckdb.DuckDBPyConnection, question: Question, state: State) -> Result:
        for _ in range(ATTEMPTS - 1):
            try:
                return self._answer(cursor, question, state)
            except duckdb.IOException:
                state = self._directory.state()
        return self._answer(cursor, question, state)

    def _answer(
        self, cursor: duckdb.DuckDBPyConnection, question: Question, state: State
    ) -> Result:
        """Answer of the files that are there; IOException where one of them has just gone."""
        if state.base is None:
            raise AnalyticsUnavailableError(NOT_FILLED)
        run = state.following.run if state.following and state.changed else None
        files = self._directory.change_files(run) if run else []
        self._show(cursor, self._directory.base_file(state.base), files)
        sql = dialects.duckdb(question(queries.comments("base", "changes" if files else None, run)))
        return Result(cursor.execute(sql).fetchall(), sql, _rows_read(cursor))

    @staticmethod
    def _show(cursor: duckdb.DuckDBPyConnection, base: Path, changes: Sequence[Path]) -> None:
        """Make files tables of a cursor."""
        cursor.execute("SET enable_profiling = 'no_output'")
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW base AS FROM read_parquet({_quoted(base)})")
        if changes:
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE changes AS {_reading(changes)}")

    def _kept(self) -> list[str]:
        following = self._directory.state().following
        files = self._directory.change_files(following.run) if following else []
        return [str(file.relative_to(self._directory.path)) for file in files]

    def _fill(
        self,
        cursor: duckdb.DuckDBPyConnection,
        parquet: Path,
        began: datetime,
        stream: str | None,
        covered: Collection[str],
    ) -> Base:
        path = self._directory.new_base()
        part = path.with_suffix(".parquet.part")
        cursor.execute("SET TimeZone = 'UTC'")
        (rows,) = cursor.execute(
            "COPY (SELECT id, product_id, rating, language, created_at::TIMESTAMP AS created_at "
            f"FROM read_parquet({_quoted(parquet)}) ORDER BY product_id, created_at) "
            f"TO {_quoted(part)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)"
        ).fetchall()[0]
        publish(part, path)
        base = Base(began, path.name, rows, stream)
        self._directory.put(base, covered)
        return base

    def _append(
        self, cursor: duckdb.DuckDBPyConnection, run: str, changes: Sequence[ChangedComment]
    ) -> None:
        self._directory.append(run, changes)
        for suffix in reversed(_READERS):  # what is new, then now and then what was compacted
            files = [one for one in self._directory.change_files(run) if one.suffix == suffix]
            if len(files) > COMPACTED:
                self._compact(cursor, run, files)

    def _compact(self, cursor: duckdb.DuckDBPyConnection, run: str, files: Sequence[Path]) -> None:
        """Keep the last change of each comment in one file; the files it was in go."""
        path = self._directory.change_path(run, "parquet")
        part = path.with_suffix(".part")
        try:
            cursor.execute(
                f"COPY (SELECT * FROM ({_reading(files)}) "
                "QUALIFY row_number() OVER (PARTITION BY id ORDER BY sequence DESC) = 1) "
                f"TO {_quoted(part)} (FORMAT parquet, COMPRESSION zstd)"
            )
        except duckdb.IOException:
            part.unlink(missing_ok=True)
            if all(file.exists() for file in files):
                raise
            return  # somebody else compacts
        publish(part, path)
        for file in files:
            file.unlink(missing_ok=True)


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
            "anew."
        ) from error


def _reading(files: Sequence[Path]) -> str:
    """Return the query of all rows in files of changes."""
    parts = []
    for suffix, reader in _READERS.items():
        paths = ", ".join(_quoted(one) for one in files if one.suffix == suffix)
        if paths:
            parts.append(f"FROM {reader % paths}")
    return " UNION ALL BY NAME ".join(parts)


def _rows_read(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many rows the scans of the last query passed on."""
    profile = orjson.loads(cursor.get_profiling_information(format="json"))
    return int(profile["query"]["total_rows_scanned"])


def _quoted(path: Path) -> str:
    text = str(path.absolute()).replace("'", "''")
    return f"'{text}'"
