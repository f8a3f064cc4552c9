"""The same questions on a ClickHouse server, by its HTTP interface.

Releases from 18.16 on will do: no function, type or clause is used that is younger. Its dates go
from 1970 to 2105, by the second; comments of other years are left out.
"""

import re
import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import httpx
import orjson

from analytics import dialects, queries
from analytics.dialects import END, FIRST
from analytics.documents import BASE, FOLLOWING, encoded, state_of
from analytics.errors import NOT_FILLED, AnalyticsFailedError, AnalyticsUnavailableError
from analytics.store import Base, ChangedComment, Following, Question, Result, State

SECONDS = 60.0
"""For one request; a question has a deadline of its own."""

REPLACED = "Another refresh replaced this one: run it again."

BATCH = 50_000
"""Rows of an export that one request inserts."""

_COLUMNS = "id String, product_id String, rating UInt8, language String, created_at DateTime('UTC')"
_CHANGES = (
    f"CREATE TABLE IF NOT EXISTS %s_changes ({_COLUMNS}, sequence String, run String, "
    "deleted UInt8) ENGINE = MergeTree() PARTITION BY run ORDER BY id"
)
_STATE = (
    "CREATE TABLE IF NOT EXISTS %s_state (name String, text String, number UInt64) "
    "ENGINE = ReplacingMergeTree(number) ORDER BY name"
)
_NO_TABLE = re.compile(r"Code: 60\b")
"""Followed by a comma in old releases, by a full stop in today's."""


class ClickHouseStore:
    """Comments in the tables of a ClickHouse database whose names begin with ``prefix``.

    ``url`` is that of its HTTP interface, with a name and a password where it needs them, and
    ``?database=`` for another one than the user's own.
    """

    name = "ClickHouse"

    def __init__(self, url: str, prefix: str) -> None:
        self._url = httpx.URL(url)
        self._prefix = re.sub(r"\W", "_", prefix, flags=re.ASCII)
        self._client = httpx.AsyncClient(timeout=SECONDS)

    async def state(self) -> State:
        """Return what the tables hold."""
        try:
            answer = await self._select(
                f"SELECT name, argMax(text, number) FROM {self._prefix}_state GROUP BY name"
            )
        except _NoTableError:
            return State()
        return state_of(dict(answer["data"]))

    async def ask(self, question: Question, state: State) -> Result:
        """Answer a question; of a later export where that of ``state`` is gone."""
        try:
            return await self._ask(question, state)
        except _NoTableError:
            state = await self.state()
        try:
            return await self._ask(question, state)
        except _NoTableError as error:
            raise AnalyticsUnavailableError(NOT_FILLED) from error

    async def _ask(self, question: Question, state: State) -> Result:
        if state.base is None:
            raise AnalyticsUnavailableError(NOT_FILLED)
        run = state.following.run if state.changed and state.following else None
        changes = f"{self._prefix}_changes" if run else None
        sql = dialects.clickhouse(question(queries.comments(state.base.name, changes, run)))
        answer = await self._select(sql)
        return Result(answer["data"], sql, answer["statistics"]["rows_read"])

    async def kept(self) -> Collection[str]:
        """Return nothing: changes stay until their run is over."""
        return ()

    async def fill(
        self,
        parquet: Path,
        began: datetime,
        stream: str | None,
        covered: Collection[str] = (),  # noqa: ARG002 - see ``kept``
    ) -> Base:
        """Insert an export into a table of its own, then let that count and drop the others."""
        try:
            return await self._fill(parquet, began, stream)
        except _NoTableError as error:
            raise AnalyticsUnavailableError(REPLACED) from error

    async def _fill(self, parquet: Path, began: datetime, stream: str | None) -> Base:
        await self._make_tables()
        name = f"{self._prefix}_base_{secrets.token_hex(8)}"
        await self._do(
            f"CREATE TABLE {name} ({_COLUMNS}) ENGINE = MergeTree() ORDER BY (product_id, id)"
        )
        rows = 0
        for batch in _exported(parquet):
            rows += len(batch)
            await self._insert(name, batch)
        base = Base(began, name, rows, stream)
        await self._keep(BASE, encoded(base))
        await self._drop_outdated(name)
        return base

    async def _drop_outdated(self, kept: str) -> None:
        """Drop the exports before ``kept``, and the changes of runs that are over."""
        tables = await self._select(
            "SELECT name FROM system.tables WHERE database = currentDatabase() "
            f"AND match(name, '^{self._prefix}_base_[0-9a-f]{{16}}$') AND name != '{kept}'"
        )
        for (old,) in tables["data"]:
            await self._do(f"DROP TABLE IF EXISTS {old}")
        following = (await self.state()).following
        runs = await self._select(f"SELECT DISTINCT run FROM {self._prefix}_changes")
        for (run,) in runs["data"]:
            if following is None or run != following.run:
                await self._do(f"ALTER TABLE {self._prefix}_changes DROP PARTITION '{run}'")

    async def append(self, run: str, changes: Sequence[ChangedComment]) -> None:
        """Insert changes of a run; a row that comes again says the same."""
        await self._make_tables()
        rows = [
            {
                **_comment(change.id, *change[2:5], change.created_at or FIRST),
                "sequence": change.sequence,
                "run": run,
                "deleted": int(change.created_at is None or not _in_range(change.created_at)),
            }
            for change in changes
        ]
        await self._insert(f"{self._prefix}_changes", rows)

    async def follow(self, following: Following) -> None:
        """Keep how far a run is."""
        await self._make_tables()
        await self._keep(FOLLOWING, encoded(following))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _make_tables(self) -> None:
        for table in (_CHANGES, _STATE):
            await self._do(table % self._prefix)

    async def _keep(self, name: str, text: bytes) -> None:
        row = {"name": name, "text": text.decode(), "number": time.time_ns()}
        await self._insert(f"{self._prefix}_state", [row])

    async def _insert(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        lines = b"\n".join(orjson.dumps(row) for row in rows)
        if lines:
            await self._do(f"INSERT INTO {table} FORMAT JSONEachRow", lines)

    async def _select(self, sql: str) -> dict[str, Any]:
        said = await self._do(f"{sql} FORMAT JSONCompact")
        return dict(orjson.loads(said))

    async def _do(self, sql: str, rows: bytes = b"") -> bytes:
        """Do one statement; AnalyticsFailedError has what the server said against it."""
        url = self._url.copy_merge_params({"query": sql}) if rows else self._url
        try:
            answer = await self._client.post(url, content=rows or sql.encode())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            said = str(error) or type(error).__name__
            raise AnalyticsFailedError(
                f"ClickHouse at {self._url.host} does not answer ({said}): start it, or correct "
                "--analytics-url."
            ) from error
        if answer.is_success:
            return answer.content
        if _NO_TABLE.search(answer.text):
            raise _NoTableError
        raise AnalyticsFailedError(
            f"ClickHouse at {self._url.host} refused: {answer.text.strip()[:200]}"
        )


class _NoTableError(Exception):
    """A table is not there: nothing was ever filled, or an export was replaced."""


def _exported(parquet: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of an exported file that ClickHouse has dates for."""
    with duckdb.connect(":memory:") as database:
        database.execute("SET TimeZone = 'UTC'")
        found = database.execute(
            "SELECT id, product_id, rating, language, created_at::TIMESTAMP FROM read_parquet(?)",
            [str(parquet)],
        )
        while rows := found.fetchmany(BATCH):
            dated = [(*row[:4], row[4].replace(tzinfo=UTC)) for row in rows]
            yield [_comment(*row) for row in dated if _in_range(row[4])]


def _in_range(created: datetime) -> bool:
    return FIRST <= created < END


def _comment(
    comment_id: str, product_id: str, rating: int, language: str, created: datetime
) -> dict[str, Any]:
    shown = created if _in_range(created) else FIRST
    return {
        "id": comment_id,
        "product_id": product_id,
        "rating": rating,
        "language": language,
        "created_at": f"{shown.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
    }
