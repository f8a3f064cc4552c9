"""Parquet of JSONL, by DuckDB, with the columns and types of each kind."""

import glob
from pathlib import Path

from server.errors import CommandError
from server.exporter.rows import ROW_KINDS, ExportKind
from server.parquet import duckdb_in_memory


def write_parquet(jsonl: Path, parquet: Path, kind: ExportKind) -> None:
    """Write the rows of a JSONL export as Parquet, over what is at ``parquet``.

    Instants are TIMESTAMP WITH TIME ZONE in UTC, to the microsecond. CommandError without DuckDB,
    and where the file cannot be written or a value is beyond its column.
    """
    with duckdb_in_memory() as database:
        from duckdb import Error, IOException  # noqa: PLC0415 - as in duckdb_in_memory

        rows = database.read_json(
            glob.escape(str(jsonl)), format="newline_delimited", columns=dict(ROW_KINDS[kind].types)
        )
        try:
            rows.write_parquet(str(parquet), compression="zstd")
        except IOException as error:
            raise CommandError(f"{parquet} cannot be written: {error}") from error
        except Error as error:
            reason = str(error).partition("\n")[0]
            raise CommandError(
                f"Some {kind} are beyond the columns of Parquet ({reason}): export to another "
                "output with --format jsonl."
            ) from error
