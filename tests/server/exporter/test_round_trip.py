"""An export that is loaded into another table gives the same items, one by one."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from dal.client.table import Table
from dal.maintenance.verify import verify
from server.exporter.export_files import directory_of, export
from server.exporter.export_rows import Format, Layout
from server.importer.column_mapping import NO_PRESET, ColumnMapping, make_column_mapping
from server.importer.file_kinds import FILE_KINDS, FileKindName
from server.importer.opening import open_file
from server.importer.rows import RejectsFile
from server.importer.run import Load
from server.progress import ProgressBar
from tests.conftest import Clients, fresh_table
from tests.server.exporter.objects import Stock, everything, stocks
from tests.server.serving import AWS, called

KINDS: Sequence[FileKindName] = list(FILE_KINDS)


async def load(table: Table, file: Path, kind: FileKindName) -> None:
    mapping: ColumnMapping[Any] = make_column_mapping(FILE_KINDS[kind], [], [])
    with open_file(file, NO_PRESET, mapping, None) as opened:
        rejects = RejectsFile(file.with_suffix(".rejects"))
        work = Load(opened.source, opened.rows, mapping, rejects)
        with ProgressBar(file.name, None) as progress:
            await work.run(mapping.kind.put(table), progress)
    rejects.close()
    assert work.tally.rejected == 0, rejects.path.read_text()


@pytest.mark.parametrize("written_in", ["csv", "parquet"])
@given(stock=stocks)
@settings(max_examples=settings().max_examples // 10)
async def test_a_load_of_an_export_gives_the_same_store(
    written_in: Format, stock: Stock, clients: Clients, dynoxide_url: str
) -> None:
    first, second = [await fresh_table(clients, dynoxide_url) for _ in range(2)]
    await stock.fill(first)
    with tempfile.TemporaryDirectory() as directory:
        target = directory_of(Path(directory), KINDS, Layout(written_in, all_states=True))
        await export(first, target, "here", lambda _: None)
        for kind in KINDS:
            await load(second, target.files[kind], kind)
        await second.drain()
    assert await verify(second, lambda _: None) == []
    assert await everything(first) == await everything(second)


@given(stock=stocks)
@settings(max_examples=settings().max_examples // 30)
async def test_the_commands_give_the_same_store_and_the_same_rows(
    stock: Stock, clients: Clients, dynoxide_url: str
) -> None:
    first, second = [await fresh_table(clients, dynoxide_url) for _ in range(2)]
    await stock.fill(first)
    at = ("--endpoint-url", dynoxide_url, "--table")
    with tempfile.TemporaryDirectory() as directory:
        out, again = Path(directory) / "out", Path(directory) / "again"
        ended = called("export", "-o", out, "--all-states", *at, first.name, **AWS)
        assert (ended.returncode, ended.stderr) == (0, "")
        for kind in KINDS:
            file = out / f"{kind}.jsonl"
            ended = called("load", file, "--kind", kind, *at, second.name, **AWS)
            assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
        assert await everything(first) == await everything(second)
        called("export", "-o", again, "--all-states", *at, second.name, **AWS)
        for kind in KINDS:
            # Scan segments take turns: the order of their rows may differ.
            rows = [(where / f"{kind}.jsonl").read_bytes().split(b"\n") for where in (out, again)]
            assert sorted(rows[0]) == sorted(rows[1])
