import asyncio
import json
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.kinds.item_kind import Put
from dal.model import Comment
from dal.repositories.comments import CommentRepository
from dal.writes.overwrite import Outcome
from features.loading.column_mapping import make_column_mapping
from features.loading.kind import COMMENTS
from features.loading.rows import Reject, RejectsFile, Row
from features.loading.run import Load
from features.loading.source import Counted, open_source, source_of
from features.loading.text_rows import CsvRows, read_jsonl
from server.errors import CommandError
from server.progress import ProgressBar
from tests.features.loading.bulk import bulk_writer
from tests.features.loading.reading import RecordingStore, jsonl, row, source


def make_load(content: bytes | str, rejects: Path, maps: Sequence[str] = ()) -> Load[Comment]:
    opened = source(content)
    text = content if isinstance(content, str) else content.decode(errors="replace")
    rows = CsvRows(opened) if text.startswith("id,") else read_jsonl(opened)
    return Load(opened, rows, make_column_mapping(COMMENTS, maps, []), RejectsFile(rejects))


async def run(load: Load[Comment], put: Put[Comment]) -> Load[Comment]:
    with ProgressBar("test", None) as progress:
        await load.run(put, progress)
    return load


async def test_the_last_of_several_rows_with_one_id_stays(
    tmp_path: Path, comments: CommentRepository
) -> None:
    rows = [row(str(number % 7), text=str(number)) for number in range(3_000)]
    load = await run(make_load(jsonl(rows), tmp_path / "r"), bulk_writer(comments).put)
    assert load.outcome == Outcome(7, 2_993)
    for number in range(2_993, 3_000):
        stored = await comments.get(str(number % 7))
        assert stored is not None
        assert stored.text == str(number)


async def test_of_several_rows_with_one_id_the_last_is_in_the_rejects(tmp_path: Path) -> None:
    load = make_load(jsonl([row("1", text="first"), row("1", text="last")]), tmp_path / "r")

    async def refuse(comments: Sequence[Comment]) -> Outcome:
        return Outcome(refused=tuple(one.comment_id for one in comments))

    await run(load, refuse)
    (entry,) = (tmp_path / "r").read_text().splitlines()
    assert (json.loads(entry)["line"], json.loads(entry)["row"]["text"]) == (2, "last")


async def test_an_error_in_the_middle_of_a_file_ends_the_load(tmp_path: Path) -> None:
    def failing() -> Iterator[bytes]:
        yield jsonl([row(str(number)) for number in range(1_000)]).encode()[:50_000]
        raise OSError(5, "Input/output error")

    opened = source_of("sample", Counted(failing()), None)
    mapping = make_column_mapping(COMMENTS, [], [])
    load = Load(opened, read_jsonl(opened), mapping, RejectsFile(tmp_path / "r"))
    with pytest.raises(CommandError, match="sample cannot be read: Input/output error"):
        await run(load, RecordingStore().put_many)


async def test_batches_of_long_rejects_stay_small(tmp_path: Path) -> None:
    load = make_load(("x" * 900_000 + "\n") * 20, tmp_path / "r")
    batch = load._next_batch(200)
    assert batch is not None
    assert len(batch.rejects) == 3


async def test_rows_that_arrive_slowly_are_written_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("features.loading.run._BATCH_SECONDS", 0.05)
    load = make_load(jsonl([row(str(number)) for number in range(50)]), tmp_path / "r")
    store = RecordingStore()
    await run(replace(load, rows=_slowly(load.rows)), store.put_many)
    assert len(store.comments) == 50
    assert all(len(batch) < 10 for batch in store.batches)


def _slowly(rows: Iterator[Row | Reject]) -> Iterator[Row | Reject]:
    for each in rows:
        time.sleep(0.01)
        yield each


async def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(jsonl([row(str(number), text="x" * 4_000) for number in range(5_000)]))

    async def put(comments: Sequence[Comment]) -> Outcome:
        await asyncio.sleep(0)
        return Outcome(new=len(comments))

    await run(make_load(jsonl([row("0")]), tmp_path / "first"), put)  # imports modules
    with open_source(path) as opened:
        mapping = make_column_mapping(COMMENTS, [], [])
        load = Load(opened, read_jsonl(opened), mapping, RejectsFile(tmp_path / "r"))
        tracemalloc.start()
        await run(load, put)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert load.outcome.total == 5_000
    assert most < 12_000_000


ROWS = st.one_of(
    st.builds(row, st.sampled_from("abcdef"), rating=st.sampled_from([1, 5, 9, "4", None])).map(
        json.dumps
    ),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20).filter(
        lambda text: not text.lstrip().startswith("[")
    ),
)


@given(st.lists(ROWS, max_size=50))
async def test_every_row_is_either_written_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.mktemp("run") / "rejects.jsonl"
    first = "{  }"  # the first bytes must show that the file is JSONL in UTF-8
    content = "".join(f"{line}\n" for line in [first, *lines])
    load = await run(make_load(content, path), RecordingStore().put_many)
    entries = path.read_bytes().count(b"\n") if path.exists() else 0
    assert load.rejected == entries
    assert load.outcome.total + load.rejected == load.read
    assert load.read == sum(1 for line in content.split("\n") if line.strip())
