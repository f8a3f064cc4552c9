"""What is exported and loaded into another table is the same, item by item."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from server.exporter.rows import ROW_KINDS
from server.importer.file_kinds import FILE_KINDS
from tests.conftest import Clients, fresh_table
from tests.server.exporter.objects import Stock, everything, stocks
from tests.server.serving import AWS, called


@pytest.mark.parametrize("written_in", ["jsonl", "csv", "parquet"])
@given(stock=stocks)
@settings(max_examples=settings().max_examples // 20)
async def test_a_load_of_an_export_gives_the_same_store(
    written_in: str, stock: Stock, clients: Clients, dynoxide_url: str
) -> None:
    first, second = [await fresh_table(clients, dynoxide_url) for _ in range(2)]
    await stock.fill(first)
    at = ("--endpoint-url", dynoxide_url, "--table")
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        ended = called("export", "-o", out, "--format", written_in, *at, first.name, **AWS)
        assert (ended.returncode, ended.stderr) == (0, "")
        for kind in ROW_KINDS:
            file = out / f"{kind}.{written_in}"
            ended = called("load", file, "--kind", kind, *at, second.name, **AWS)
            assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
        assert await everything(first) == await everything(second)
        again = Path(directory) / "again"
        called("export", "-o", again, "--format", written_in, *at, second.name, **AWS)
        if written_in != "parquet":  # whose rows stand compressed, in the order of their keys
            for kind in ROW_KINDS:
                both = [(where / f"{kind}.{written_in}").read_bytes() for where in (out, again)]
                assert both[0] == both[1]


def test_the_fields_are_those_that_load_takes() -> None:
    assert {kind: list(rows.fields) for kind, rows in ROW_KINDS.items()} == {
        name: [field.name for field in kind.fields] for name, kind in FILE_KINDS.items()
    }
