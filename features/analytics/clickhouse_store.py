"""The analytics store on a ClickHouse server, through its HTTP interface.

The store works with every ClickHouse release since 18.16. ClickHouse's type DateTime has whole
seconds, in the years 1970 to 2105. So the store omits comments before FIRST (1970-01-05), and from
END (2105-12-31) on. ``features.analytics.sql`` explains these two dates.
"""

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import duckdb
import orjson
from yarl import URL

from features.analytics import sql as questions_sql
from features.analytics.errors import (
    NOT_FILLED,
    AnalyticsFailedError,
    AnalyticsMissingError,
    AnalyticsUnavailableError,
)
from features.analytics.sql import END, FIRST
from features.analytics.store import Export, Question, Result

SECONDS = 60.0
"""Maximum seconds that a request waits for the server. Questions have a shorter deadline: see
``features.analytics.service``."""

REPLACED = "Another refresh has replaced this one: run `marginalia analytics refresh` again."

BATCH = 50_000
"""Rows per INSERT request."""

_NAMES = ("id", "product_id", "rating", "language", "created_at")
_COLUMNS = "id String, product_id String, rating UInt8, language String, created_at DateTime('UTC')"
_STATE = (
    "CREATE TABLE IF NOT EXISTS %s_state (name String, text String, number UInt64) "
    "ENGINE = ReplacingMergeTree(number) ORDER BY name"
)
_NO_TABLE = re.compile(r"Code: 60\b")
"""Matches the code of the error UNKNOWN_TABLE in ClickHouse's messages. A comma follows the code in
messages of old releases, and a full stop in messages of new releases."""


class ClickHouseStore:
    """A copy of the comments in a ClickHouse database.

    The names of its tables begin with ``prefix``.

    ``url`` is the address of the HTTP interface, with user and password if required.
    ``?database=NAME`` in the URL selects a database. Without it, the store uses the user's default
    database. Requests go through ``proxy``, the URL of a proxy, if it is given.
    """

    name = "ClickHouse"

    def __init__(self, url: str, prefix: str, proxy: str | None = None) -> None:
        self._proxy = proxy
        self._url = URL(url).with_user(None)
        user, password = URL(url).user, URL(url).password or ""
        # aiohttp would encode the credentials of a URL in Latin-1, and ClickHouse expects UTF-8.
        self._headers = {"Authorization": aiohttp.encode_basic_auth(user, password)} if user else {}
        self._prefix = re.sub(r"\W", "_", prefix, flags=re.ASCII)

    async def export(self) -> Export | None:
        """Return the export that the tables contain; None if they contain no export."""
        try:
            answer = await self._select(
                f"SELECT argMax(text, number) FROM {self._prefix}_state GROUP BY name"
            )
        except _NoTableError:
            return None
        return next((Export.decode(text) for (text,) in answer["data"]), None)

    async def ask(self, question: Question, export: Export) -> Result:
        """Answer a question about ``export``, or about the export that has replaced it."""
        try:
            return await self._ask(question, export)
        except _NoTableError:
            later = await self.export() or export
        try:
            return await self._ask(question, later)
        except _NoTableError as error:
            raise AnalyticsMissingError(NOT_FILLED) from error

    async def _ask(self, question: Question, export: Export) -> Result:
        sql = questions_sql.clickhouse(question(questions_sql.comments(export.name)))
        answer = await self._select(sql)
        return Result(answer["data"], sql, answer["statistics"]["rows_read"])

    async def fill(self, parquet: Path, began: datetime) -> Export:
        """Insert the comments into a new table, and return the new export.

        Later questions read the new table. The tables of all other exports are dropped.
        """
        try:
            return await self._fill(parquet, began)
        except _NoTableError as error:
            raise AnalyticsUnavailableError(REPLACED) from error

    async def _fill(self, parquet: Path, began: datetime) -> Export:
        await self._do(_STATE % self._prefix)
        name = f"{self._prefix}_base_{secrets.token_hex(8)}"
        await self._do(
            f"CREATE TABLE {name} ({_COLUMNS}) ENGINE = MergeTree() ORDER BY (product_id, id)"
        )
        rows = 0
        for batch in _exported(parquet):
            rows += len(batch)
            await self._insert(name, batch)
        export = Export(began, name, rows)
        row = {"name": "base", "text": export.encode().decode(), "number": time.time_ns()}
        await self._insert(f"{self._prefix}_state", [row])
        outdated = await self._select(
            "SELECT name FROM system.tables WHERE database = currentDatabase() "
            f"AND match(name, '^{self._prefix}_base_[0-9a-f]{{16}}$') AND name != '{name}'"
        )
        for (old,) in outdated["data"]:
            await self._do(f"DROP TABLE IF EXISTS {old}")
        return export

    async def aclose(self) -> None:
        """Do nothing, because each statement closes its connection."""

    async def _insert(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        lines = b"\n".join(orjson.dumps(row) for row in rows)
        if lines:
            await self._do(f"INSERT INTO {table} FORMAT JSONEachRow", lines)

    async def _select(self, sql: str) -> dict[str, Any]:
        return dict(orjson.loads(await self._do(f"{sql} FORMAT JSONCompact")))

    async def _do(self, sql: str, rows: bytes = b"") -> bytes:
        """Execute one statement, and return the body of the response.

        Raises _NoTableError if a table does not exist. Any other failure raises
        AnalyticsFailedError with the server's message.
        """
        url = self._url.update_query(query=sql) if rows else self._url
        waits = aiohttp.ClientTimeout(None, sock_connect=SECONDS, sock_read=SECONDS)
        try:
            async with (
                aiohttp.ClientSession(
                    headers=self._headers, timeout=waits, proxy=self._proxy
                ) as client,
                client.post(url, data=rows or sql.encode(), allow_redirects=False) as answer,
            ):
                body = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise AnalyticsFailedError(
                f"ClickHouse at {self._url.host} cannot be reached ({reason}): start it, or "
                "correct --analytics-url."
            ) from error
        if answer.status == HTTPStatus.OK:
            return body
        text = body.decode(errors="replace")
        if _NO_TABLE.search(text):
            raise _NoTableError
        raise AnalyticsFailedError(
            f"ClickHouse at {self._url.host} refused the statement: {text.strip()[:200]}"
        )


class _NoTableError(Exception):
    """A table does not exist: the store has no data yet, or a newer export replaced the table."""


def _exported(parquet: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of an exported file in batches. Omit rows with dates outside FIRST to END."""
    with duckdb.connect(":memory:") as database:
        database.execute("SET TimeZone = 'UTC'")
        found = database.execute(
            "SELECT id, product_id, rating, language, "
            "strftime(created_at::TIMESTAMP, '%Y-%m-%d %H:%M:%S') AS created_at "
            "FROM read_parquet(?) WHERE created_at >= ? AND created_at < ?",
            [str(parquet), FIRST, END],
        )
        while rows := found.fetchmany(BATCH):
            yield [dict(zip(_NAMES, row, strict=True)) for row in rows]
