"""Exports that fail or are interrupted at any point, or run beside writers."""

import errno
import os
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest

from dal.client.table import Table
from dal.entities.comment import comment_key
from dal.errors import NotFoundError, StoreRefusedError
from dal.stores import Stores
from dal.table.items import primary_key
from server.errors import CommandError
from server.exporter import export_files
from server.exporter.export_files import export
from server.exporter.manifest import Manifest, directory_of, single_file
from server.exporter.row_kinds import ROW_KINDS, ExportKind, Format
from tests import oracle
from tests.server.exporter.objects import SmallPages

ROWS = oracle.make_comments("42", 90, seed=3)
COMMENTS: Sequence[ExportKind] = ["comments"]


async def exported(
    table: Table,
    out: Path,
    written_in: Format = "jsonl",
    *,
    kinds: Sequence[ExportKind] = COMMENTS,
    force: bool = False,
) -> Manifest:
    target = directory_of(out, kinds, written_in)
    return await export(table, target, "here", lambda _: None, force=force)


def rows_in(out: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (out / "comments.jsonl").read_bytes().splitlines()]


def contents(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in out.iterdir()}


class StoppedError(Exception):
    """Ends an export at one of its steps."""


def stop_at(step: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stop at that step of all that bring files to the disk, move or remove them."""
    steps: list[str] = []

    def watch(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def act(*arguments: object, **named: object) -> object:
            steps.append(name)
            if len(steps) > step:
                raise StoppedError
            return real(*arguments, **named)

        monkeypatch.setattr(owner, name, act)

    watch(os, "fsync")
    watch(Path, "replace")
    watch(Path, "unlink")
    return steps


async def test_a_manifest_describes_the_files_beside_it_wherever_an_export_stops(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = list(ROW_KINDS)
    await Stores(table).comments.put_many(ROWS[:10])
    await exported(table, tmp_path, kinds=kinds)
    before = contents(tmp_path)
    await Stores(table).comments.put_many(ROWS[10:30])
    for step in range(100):
        with monkeypatch.context() as patch:
            steps = stop_at(step, patch)
            with suppress(StoppedError):
                await exported(table, tmp_path, kinds=kinds, force=True)
        if "unlink" not in steps[:step]:
            assert contents(tmp_path) == before
        if "manifest.json" in (after := contents(tmp_path)):
            manifest = orjson.loads(after["manifest.json"])
            assert manifest["files"]["comments"]["rows"] == len(rows_in(tmp_path))
        assert after.keys() - {"manifest.json"} == before.keys() - {"manifest.json"}
        if len(steps) <= step:
            break
    assert steps[-3:] == ["fsync", "replace", "fsync"]
    assert len(rows_in(tmp_path)) == 30


async def test_a_store_that_fails_leaves_what_was_there(table: Table, tmp_path: Path) -> None:
    async def fail(scan: int) -> None:
        if scan == 9:
            raise StoreRefusedError("It is away.")

    await Stores(table).comments.put_many(ROWS)
    await exported(table, tmp_path)
    before = contents(tmp_path)
    failing = Table(SmallPages(table, 9, fail), table.name)
    with pytest.raises(StoreRefusedError):
        await exported(failing, tmp_path, force=True)
    assert contents(tmp_path) == before


async def test_beside_writers_each_row_has_a_state_of_that_time(
    table: Table, tmp_path: Path
) -> None:
    store = Stores(table).comments
    await store.put_many(ROWS)
    states = {row.comment_id: {row.text} for row in ROWS}
    kept, edited, gone = ROWS[::3], ROWS[1::3], ROWS[2::3]

    async def write(scan: int) -> None:
        one = edited[scan % len(edited)]._replace(text=f"edit {scan}", rating=scan % 5 + 1)
        new = ROWS[0]._replace(comment_id=f"new {scan}", text=f"new {scan}")
        states[one.comment_id].add(one.text)
        states[new.comment_id] = {new.text}
        await store.put_many([one, new])
        with suppress(NotFoundError):
            await store.delete(gone[scan % len(gone)].comment_id, lambda _: None)

    small = SmallPages(table, 7, write)
    manifest = await exported(Table(small, table.name), tmp_path)
    assert small.scans > 10
    rows = rows_in(tmp_path)
    counted = Counter(row["id"] for row in rows)
    assert set(counted.values()) == {1}
    assert manifest.files["comments"].rows == len(rows)
    assert all(row["text"] in states[row["id"]] for row in rows)
    assert {one.comment_id for one in (*kept, *edited)} <= counted.keys()


async def test_parquet_of_an_empty_table_has_its_columns(table: Table, tmp_path: Path) -> None:
    manifest = await exported(table, tmp_path, "parquet")
    assert manifest.files["comments"].rows == 0
    with duckdb.connect() as database:
        described = database.execute(
            "DESCRIBE SELECT * FROM read_parquet(?)", [str(tmp_path / "comments.parquet")]
        ).fetchall()
    integers = {"rating": "INTEGER", "verified_purchase": "BOOLEAN"}
    instants = dict.fromkeys(("created_at", "updated_at"), "TIMESTAMP WITH TIME ZONE")
    texts = dict.fromkeys(ROW_KINDS["comments"].fields, "VARCHAR")
    assert {row[0]: row[1] for row in described} == texts | integers | instants


async def test_files_that_are_there_or_cannot_be(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tickets.jsonl"
    target = single_file(file, "tickets", "jsonl")
    exists = f"{file} exists: name another output, or add --force to replace it."

    async def refused(**options: bool) -> str:
        with pytest.raises(CommandError) as caught:
            await export(table, target, "here", lambda _: None, **options)
        assert contents(tmp_path).keys() == {file.name}
        return str(caught.value)

    async def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def meanwhile(*_: object) -> None:
        file.touch()

    with monkeypatch.context() as patch:
        patch.setattr(export_files, "_scan", meanwhile)
        assert await refused() == exists
    assert await refused() == exists
    with monkeypatch.context() as patch:
        patch.setattr(export_files, "_scan", full)
        assert "is full: make room, then run the same command" in await refused(force=True)
    with pytest.raises(CommandError, match=r"cannot be written \(Not a directory\)"):
        await exported(table, file / "out")
    await export(table, target, "here", lambda _: None, force=True)


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file grow over a size; as on a full disk, the write that reaches it is cut short."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("written_in", "rows", "said"),
    [
        ("jsonl", ROWS, r"cannot be written \(File too large\): name another"),
        # One row is shorter in JSONL: DuckDB's write is the one that fails.
        ("parquet", ROWS[:1], r"The Parquet file of the comments cannot be written \(IO Error: "),
    ],
)
async def test_a_write_that_is_cut_short_publishes_nothing(
    table: Table, tmp_path: Path, written_in: Format, rows: Sequence[Any], said: str
) -> None:
    await Stores(table).comments.put_many(rows)
    with files_up_to(1_000), pytest.raises(CommandError, match=said):
        await exported(table, tmp_path, written_in)
    assert contents(tmp_path) == {}
    assert (await exported(table, tmp_path, written_in)).files["comments"].rows == len(rows)


async def test_items_that_hold_nothing_are_counted(table: Table, tmp_path: Path) -> None:
    await Stores(table).comments.put_many(ROWS[:3])
    await table.put_many([primary_key("COMMENT#x"), primary_key("ORG#a", "METADATA#a")])
    manifest = await exported(table, tmp_path, kinds=list(ROW_KINDS))
    assert manifest.unreadable == 2
    comments = manifest.files["comments"]
    assert (comments.rows, comments.unreadable) == (3, 1)


async def test_ratings_that_no_comment_has(table: Table, tmp_path: Path) -> None:
    """Another program's: an INTEGER holds some of them, and an error names the others."""

    async def store(rating: str) -> None:
        await Stores(table).comments.put_many(ROWS[:1])
        (item,) = await table.get_many([comment_key(ROWS[0].comment_id)])
        await table.put_many([{**item, "rating": {"N": rating}}])

    await store("1000")
    manifest = await exported(table, tmp_path / "some", "parquet")
    assert manifest.files["comments"].rows == 1
    await store("3000000000")
    with pytest.raises(CommandError, match="Some comments are beyond the columns") as caught:
        await exported(table, tmp_path / "none", "parquet")
    assert "\n" not in str(caught.value)
