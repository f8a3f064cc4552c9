"""Exports that fail or are interrupted at any step, or run while other programs write."""

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

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.errors import NotFoundError
from dal.kinds.item_kind import ItemKind
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from dal.table.items import primary_key
from features.loading import export_files
from features.loading.export_files import MANIFEST, Manifest, Target, directory_of, export
from features.loading.export_rows import Format, Layout
from features.loading.kind import COMMENTS, with_file
from server.errors import CommandError
from tests import oracle
from tests.features.loading.bulk import load_rows
from tests.features.loading.objects import SmallPages
from tests.moderating import held_for

ROWS = oracle.make_comments("42", 90, seed=3)


async def exported(
    table: Table,
    out: Path,
    written_in: Format = "jsonl",
    *,
    kinds: Sequence[ItemKind] = with_file(KINDS, "comments"),
    force: bool = False,
    all_states: bool = False,
) -> Manifest:
    target = directory_of(out, kinds, Layout(written_in, all_states))
    return await export(table, target, "here", lambda _: None, force=force)


def rows_in(out: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (out / "comments.jsonl").read_bytes().splitlines()]


def contents(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in out.iterdir()}


class StoppedError(Exception):
    """Ends an export at one of its steps."""


def stop_at(step: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stop an export before one of the calls that flush, move or delete files.

    Return a list, to which each call appends its name.
    """
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


async def test_an_export_that_stops_at_any_point_leaves_a_manifest_of_its_files(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await load_rows(Stores(table).comments, ROWS[:10])
    await exported(table, tmp_path, kinds=KINDS)
    before = contents(tmp_path)
    await load_rows(Stores(table).comments, ROWS[10:30])
    for step in range(100):
        with monkeypatch.context() as patch:
            steps = stop_at(step, patch)
            with suppress(StoppedError):
                await exported(table, tmp_path, kinds=KINDS, force=True)
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


async def test_an_export_from_a_failing_store_changes_no_file(table: Table, tmp_path: Path) -> None:
    async def fail(scan: int) -> None:
        if scan == 9:
            raise StoreRefusedError("It is away.")

    await load_rows(Stores(table).comments, ROWS)
    await exported(table, tmp_path)
    before = contents(tmp_path)
    failing = Table(SmallPages(table, 9, fail), table.name)
    with pytest.raises(StoreRefusedError):
        await exported(failing, tmp_path, force=True)
    assert contents(tmp_path) == before


async def test_during_writes_each_exported_row_has_a_state_from_that_time(
    table: Table, tmp_path: Path
) -> None:
    store = Stores(table).comments
    await load_rows(store, ROWS)
    states = {row.comment_id: {row.text} for row in ROWS}
    kept, edited, gone = ROWS[::3], ROWS[1::3], ROWS[2::3]

    async def write(scan: int) -> None:
        one = edited[scan % len(edited)]._replace(text=f"edit {scan}", rating=scan % 5 + 1)
        new = ROWS[0]._replace(comment_id=f"new {scan}", text=f"new {scan}")
        states[one.comment_id].add(one.text)
        states[new.comment_id] = {new.text}
        await load_rows(store, [one, new])
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


async def test_a_parquet_file_of_an_empty_table_has_all_columns(
    table: Table, tmp_path: Path
) -> None:
    manifest = await exported(table, tmp_path, "parquet")
    assert manifest.files["comments"].rows == 0
    query = f"DESCRIBE SELECT * FROM '{tmp_path}/comments.parquet'"
    with duckdb.connect() as database:
        types = {row[0]: row[1] for row in database.execute(query).fetchall()}
    assert list(types) == [one.name for one in Layout("parquet").fields(COMMENTS)]
    assert [types[name] for name in ("id", "rating", "verified_purchase", "updated_at")] == [
        "VARCHAR",
        "INTEGER",
        "BOOLEAN",
        "TIMESTAMP WITH TIME ZONE",
    ]


async def test_an_export_requires_new_writable_files(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tickets.jsonl"
    manifest = tmp_path / f"{file.name}.{MANIFEST}"
    target = Target({"tickets": file}, manifest, Layout("jsonl"), with_file(KINDS, "tickets"))

    async def refusal(*, force: bool = False) -> str:
        with pytest.raises(CommandError) as caught:
            await export(table, target, "here", lambda _: None, force=force)
        assert contents(tmp_path).keys() == {file.name}
        return str(caught.value)

    async def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def create_it(*_: object) -> None:
        file.touch()

    with monkeypatch.context() as patch:
        patch.setattr(export_files, "_scan", create_it)
        for _ in range(2):
            assert (await refusal()).startswith(f"{file} exists: ")
        patch.setattr(export_files, "_scan", full)
        assert "is full: " in await refusal(force=True)
    with pytest.raises(CommandError, match=r"cannot be written \(Not a directory\)"):
        await exported(table, file / "out")
    await export(table, target, "here", lambda _: None, force=True)


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Limit the size of files. As on a full disk, a longer write is incomplete."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("written_in", "rows", "message"),
    [
        ("jsonl", ROWS, r"cannot be written \(File too large\): name another"),
        # One row as JSON is below the limit, so it is DuckDB's write that fails.
        ("parquet", ROWS[:1], r"The Parquet file of the comments cannot be written \(IO Error: "),
    ],
)
async def test_an_incomplete_write_publishes_no_file(
    table: Table, tmp_path: Path, written_in: Format, rows: Sequence[Any], message: str
) -> None:
    await load_rows(Stores(table).comments, rows)
    with files_up_to(1_000), pytest.raises(CommandError, match=message):
        await exported(table, tmp_path, written_in)
    assert contents(tmp_path) == {}
    assert (await exported(table, tmp_path, written_in)).files["comments"].rows == len(rows)


async def test_comments_that_are_not_published_are_left_out_and_counted(
    table: Table, tmp_path: Path
) -> None:
    stores = Stores(table)
    await load_rows(stores.comments, ROWS[:5])
    for one in ROWS[5:8]:
        await stores.comments.add(one, hold=held_for(ReviewCause.SETTING))
    manifest = await exported(table, tmp_path)
    assert (manifest.left_out, len(rows_in(tmp_path))) == (3, 5)
    assert not {"state", "reason"} & rows_in(tmp_path)[0].keys()
    assert (await exported(table, tmp_path / "b", kinds=with_file(KINDS, "orders"))).left_out == 0
    manifest = await exported(table, tmp_path, force=True, all_states=True)
    assert (manifest.left_out, len(rows_in(tmp_path))) == (0, 8)
    assert Counter(row["state"] for row in rows_in(tmp_path)) == {"PUBLISHED": 5, "PENDING": 3}


async def test_items_of_other_programs_are_reported(table: Table, tmp_path: Path) -> None:
    """Items that cannot be decoded are counted.

    Parquet's INTEGER can contain some invalid ratings.
    """
    await load_rows(Stores(table).comments, ROWS[:1])
    (item,) = await table.get_many([comment_key(ROWS[0].comment_id)])
    organization = primary_key("ORG#a", "METADATA#a")
    await table.put_many([primary_key("COMMENT#x"), organization, {**item, "rating": {"N": "99"}}])
    manifest = await exported(table, tmp_path / "some", "parquet", kinds=KINDS)
    assert manifest.unreadable == 2
    assert (manifest.files["comments"].rows, manifest.files["comments"].unreadable) == (1, 1)
    await table.put_many([{**item, "rating": {"N": "3000000000"}}])
    with pytest.raises(
        CommandError, match="Some of the comments cannot be written as Parquet"
    ) as caught:
        await exported(table, tmp_path / "none", "parquet")
    assert "\n" not in str(caught.value)
