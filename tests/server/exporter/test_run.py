"""Exports that are interrupted anywhere, or run beside writers, and what cannot be written."""

import errno
import fcntl
import os
import resource
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import orjson
import pytest

from dal.entities.comment import comment_key
from dal.errors import NotFoundError, StoreRefusedError
from dal.repositories.comments import CommentRepository
from dal.repositories.export import ExportPage
from dal.table.client import Table
from dal.table.item import primary_key
from server.errors import CommandError
from server.exporter import draft, run
from server.exporter.manifest import Manifest
from server.exporter.rows import ROW_KINDS, Format
from server.exporter.run import export, export_comments
from server.exporter.target import directory_of, single_file
from tests import oracle
from tests.server.exporter.objects import SmallPages

ROWS = oracle.make_comments("42", 90, seed=3)


FINISHING = 15
"""Steps: each file and the manifest flushed, all put into their place, the draft removed."""


class Killed(BaseException):
    """Ends an export as a kill does: nothing that it would do afterwards is done."""


def ids(file: Path) -> list[str]:
    return [orjson.loads(line)["id"] for line in file.read_bytes().splitlines()]


async def exported(table: Table, out: Path, written_in: Format = "jsonl") -> Manifest:
    target = directory_of(out, list(ROW_KINDS), written_in)
    return await export(table, target, "here", lambda _: None)


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Be killed at the step of that number of all that change a file for good."""
    steps: list[str] = []

    def watched(name: str, real: object) -> object:
        def act(*arguments: object, **named: object) -> object:
            steps.append(name)
            if len(steps) > step:
                raise Killed
            return real(*arguments, **named)  # type: ignore[operator]

        return act

    synced = watched("sync", draft.sync)
    monkeypatch.setattr(draft, "sync", synced)
    monkeypatch.setattr(run, "sync", synced)
    monkeypatch.setattr(Path, "replace", watched("replace", Path.replace))
    monkeypatch.setattr(Path, "unlink", watched("unlink", Path.unlink))
    monkeypatch.setattr(shutil, "rmtree", watched("rmtree", shutil.rmtree))
    return steps


async def test_killed_at_any_step_the_same_export_goes_on(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ROWS[:40]
    await CommentRepository(table).put_many(rows)
    paged = Table(SmallPages(table, 9), table.name)
    monkeypatch.setattr(draft, "CHECKPOINT_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        steps = kill_at(10**9, patch)
        await exported(paged, tmp_path / "whole")
    assert steps[-FINISHING:].count("replace") == 1 + len(ROW_KINDS) + 1
    assert len(steps) > 2 * FINISHING
    for step in (*range(0, len(steps) - FINISHING, 11), *range(len(steps) - FINISHING, len(steps))):
        out = tmp_path / str(step)
        with monkeypatch.context() as patch:
            kill_at(step, patch)
            with pytest.raises(Killed):
                await exported(paged, out)
        if not (out / "manifest.json").exists():
            await exported(paged, out)
            assert not (out / "export.partial").exists()
        assert Counter(ids(out / "comments.jsonl")) == Counter(one.comment_id for one in rows)
        assert Manifest.read(out / "manifest.json").files["comments"].rows == len(rows)


async def test_it_goes_on_from_its_last_checkpoint(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await CommentRepository(table).put_many(ROWS)

    async def fail(scan: int) -> None:
        if scan == 9:
            raise StoreRefusedError("It is away.")

    monkeypatch.setattr(draft, "CHECKPOINT_SECONDS", 0.0)
    small, out = SmallPages(table, 9, fail), tmp_path / "out"
    with pytest.raises(StoreRefusedError):
        await exported(Table(small, table.name), out)
    before = small.scans
    state = orjson.loads((out / "export.partial/state.json").read_bytes())
    assert sum(one["items"] for one in state["segments"]) > 0
    small._before = None
    manifest = await exported(Table(small, table.name), out)
    whole = SmallPages(table, 9)
    await exported(Table(whole, table.name), tmp_path / "whole")
    assert small.scans - before < whole.scans
    assert Counter(ids(out / "comments.jsonl")) == Counter(one.comment_id for one in ROWS)
    assert manifest.begun == state["begun"] < manifest.ended


async def test_beside_writers_each_row_has_a_state_of_that_time(
    table: Table, tmp_path: Path
) -> None:
    store = CommentRepository(table)
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
    manifest = await export_comments(Table(small, table.name), tmp_path, "jsonl")
    assert small.scans > 10
    rows = [orjson.loads(line) for line in (tmp_path / "comments.jsonl").read_bytes().splitlines()]
    counted = Counter(row["id"] for row in rows)
    assert set(counted.values()) == {1}
    assert manifest.files["comments"].rows == len(rows)
    assert all(row["text"] in states[row["id"]] for row in rows)
    assert {one.comment_id for one in (*kept, *edited)} <= counted.keys()


async def test_parquet_of_an_empty_table_has_its_columns(table: Table, tmp_path: Path) -> None:
    manifest = await export_comments(table, tmp_path, "parquet")
    assert manifest.files["comments"].rows == 0
    with duckdb.connect() as database:
        described = database.execute(
            "DESCRIBE SELECT * FROM read_parquet(?)", [str(tmp_path / "comments.parquet")]
        ).fetchall()
    assert {row[0]: row[1] for row in described} == {
        "id": "VARCHAR",
        "product_id": "VARCHAR",
        "username": "VARCHAR",
        "rating": "INTEGER",
        "language": "VARCHAR",
        "title": "VARCHAR",
        "text": "VARCHAR",
        "created_at": "TIMESTAMP WITH TIME ZONE",
        "updated_at": "TIMESTAMP WITH TIME ZONE",
        "verified_purchase": "BOOLEAN",
    }


async def test_what_is_in_the_way_is_told(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tickets.jsonl"
    target = single_file(file, "tickets", "jsonl")

    async def refused(**options: bool) -> str:
        with pytest.raises(CommandError) as caught:
            await export(table, target, "here", lambda _: None, **options)
        return str(caught.value)

    file.touch()
    assert await refused() == f"{file} exists: name another output, or add --force to replace it."
    assert not target.draft.exists()
    await export(table, target, "here", lambda _: None, force=True)

    target.draft.mkdir()
    lock = os.open(target.draft, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert "Another export is writing to" in await refused(force=True)
    os.close(lock)

    with monkeypatch.context() as patch:
        patch.setattr(run, "_scan", full)
        assert "is full: make room and run the same command again" in await refused(force=True)
    other = single_file(file, "tickets", "csv")
    with pytest.raises(CommandError, match=r"left by another export \(format jsonl\)"):
        await export(table, other, "here", lambda _: None, force=True)
    await export(table, target, "here", lambda _: None, force=True)

    under_a_file = directory_of(file / "out", ["tickets"], "jsonl")
    with pytest.raises(CommandError, match=r"cannot be written \(Not a directory\)"):
        await export(table, under_a_file, "here", lambda _: None)


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file grow over a size; as on a full disk, the write that reaches it is cut short."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_write_that_is_cut_short_is_done_again(table: Table, tmp_path: Path) -> None:
    await CommentRepository(table).put_many(ROWS)
    with files_up_to(5_000), pytest.raises(CommandError, match=r"cannot be written \(File too"):
        await exported(table, tmp_path)
    await exported(table, tmp_path)
    assert Counter(ids(tmp_path / "comments.jsonl")) == Counter(one.comment_id for one in ROWS)


async def test_it_ends_after_all_that_its_threads_write(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await CommentRepository(table).put_many(ROWS)
    begun, ended, write = threading.Event(), threading.Event(), draft.SegmentWriter.write
    refused = threading.Event()

    def slow_or_refused(self: draft.SegmentWriter, page: ExportPage) -> None:
        if not begun.is_set():
            begun.set()
            assert refused.wait(60)
            time.sleep(0.2)
            write(self, page)
            ended.set()
            return
        refused.set()
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr(draft.SegmentWriter, "write", slow_or_refused)
    with pytest.raises(CommandError, match=r"cannot be written \(File too"):
        await exported(table, tmp_path)
    assert ended.is_set()


async def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_part_that_was_cut_is_refused(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await CommentRepository(table).put_many(ROWS)
    with monkeypatch.context() as patch:
        patch.setattr(run, "_assemble", lambda *_: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            await exported(table, tmp_path)
    parts = sorted((tmp_path / "export.partial").glob("comments.*"))
    longest = max(parts, key=lambda one: one.stat().st_size)
    longest.write_bytes(longest.read_bytes()[:-1])
    with pytest.raises(CommandError, match=r"was cut or removed: remove the folder"):
        await exported(table, tmp_path)


async def test_items_that_hold_nothing_are_counted(table: Table, tmp_path: Path) -> None:
    await CommentRepository(table).put_many(ROWS[:3])
    await table.put_many([primary_key("COMMENT#x"), primary_key("ORG#a", "METADATA#a")])
    manifest = await exported(table, tmp_path)
    assert manifest.unreadable == 2
    comments = manifest.files["comments"]
    assert (comments.rows, comments.unreadable) == (3, 1)


async def test_ratings_that_no_comment_has(table: Table, tmp_path: Path) -> None:
    """Another program's: those that an INTEGER holds are exported, others told in a sentence."""

    async def store(rating: str) -> None:
        await CommentRepository(table).put_many(ROWS[:1])
        (item,) = await table.get_many([comment_key(ROWS[0].comment_id)])
        await table.put_many([{**item, "rating": {"N": rating}}])

    await store("1000")
    manifest = await export_comments(table, tmp_path / "some", "parquet")
    assert manifest.files["comments"].rows == 1
    await store("3000000000")
    with pytest.raises(CommandError, match="Some comments are beyond the columns") as caught:
        await export_comments(table, tmp_path / "none", "parquet")
    assert "\n" not in str(caught.value)
