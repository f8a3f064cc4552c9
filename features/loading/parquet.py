"""Opens DuckDB, an optional package (extra ``analytics``), to read and write Parquet files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from server.errors import CommandError, installing

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def duckdb_in_memory() -> Iterator["DuckDBPyConnection"]:
    """Open a new database in memory. Raise CommandError if DuckDB is not installed.

    The settings prevent DuckDB from downloading extensions.
    """
    try:
        import duckdb  # noqa: PLC0415 - optional, and its import takes 50 ms
    except ModuleNotFoundError as error:
        raise CommandError(
            f"Parquet needs DuckDB, which is not installed: run {installing('analytics')}."
        ) from error
    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
