"""Loads during other loads and writes: every stored comment is counted, and none is lost."""

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.errors import ConflictError
from dal.dynamodb.table import Table
from dal.errors import NotFoundError
from dal.model import RATINGS, Comment
from dal.stores import Stores
from features.loading.column_mapping import make_column_mapping
from features.loading.kind import COMMENTS
from features.loading.rows import RejectsFile
from features.loading.run import Load
from features.loading.text_rows import read_jsonl
from server.progress import ProgressBar
from tests import recount
from tests.engines import SECOND_IN_SOAK
from tests.fakes import Answer, Fault, FaultyClient, Operation, client_error, lose_answer, refuse
from tests.features.loading.bulk import bulk_writer, load_rows
from tests.features.loading.reading import jsonl, row, source
from tests.strategies import FEW, LANGUAGES

PRODUCTS = ("a", "b")
IDS = range(30)

rows = st.tuples(
    st.sampled_from(IDS),
    st.sampled_from(PRODUCTS),
    st.sampled_from(RATINGS),
    st.sampled_from(LANGUAGES),
    st.sampled_from(["", "other"]),
)
files = st.lists(rows, min_size=5, max_size=60)
edits = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from([*RATINGS, None])), max_size=12)
"""Writes of clients: a number is the new rating of a comment, None deletes the comment."""

BUSY = client_error("ProvisionedThroughputExceededException")
CONFLICT = client_error("TransactionCanceledException", reasons=("TransactionConflict",))


async def let_pass(real: Operation, arguments: Answer) -> Answer:
    return await real(**arguments)


faults = st.lists(
    st.sampled_from([let_pass, let_pass, lose_answer, refuse(BUSY), refuse(CONFLICT)]), max_size=30
)


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> Iterator[None]:
    """Make a file of a few rows load in several batches, like a large file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("features.loading.writer._LEAST", 7)
        patch.setattr("features.loading.writer._MOST", 7)
        yield


def comments_of(prefix: str, file: Sequence[tuple[int, str, int, str, str]]) -> list[Comment]:
    mapping = make_column_mapping(COMMENTS, [], [])
    return [
        mapping.make(
            row(
                f"{prefix}{number}",
                product_id=f"{prefix}{product}",
                rating=rating,
                language=language,
                text=text,
            )
        )
        for number, product, rating, language, text in file
    ]


async def load(table: Table, made: Sequence[Comment], rejects: Path) -> Load[Any]:
    """Load comments from a file, with separate caches like a separate command."""
    cells = [row(one.comment_id, **_cells(one)) for one in made]
    opened = source(jsonl(cells))
    work = Load(
        opened, read_jsonl(opened), make_column_mapping(COMMENTS, [], []), RejectsFile(rejects)
    )
    with ProgressBar("test", None) as progress:
        await work.run(bulk_writer(Stores(table).comments).put, progress)
    return work


def _cells(one: Comment) -> dict[str, object]:
    names = ("product_id", "rating", "language", "text")
    return {name: getattr(one, name) for name in names}


async def edit(table: Table, prefix: str, todo: Sequence[tuple[int, int | None]]) -> None:
    """Execute writes one after another, as a server does."""
    store = Stores(table).comments
    for number, rating in todo:
        with suppress(NotFoundError, ConflictError):
            if rating is None:
                await store.delete(f"{prefix}{number}", lambda _: None)
            else:
                await store.update(f"{prefix}{number}", {"rating": rating}, lambda _: None)


@FEW
@SECOND_IN_SOAK
@given(first=files, second=files, live=st.lists(edits, max_size=2), met=faults)
async def test_after_two_loads_and_concurrent_writes_counters_equal_a_recount(
    each_table: Table,
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[int, str, int, str, str]],
    second: list[tuple[int, str, int, str, str]],
    live: list[list[tuple[int, int | None]]],
    met: list[Fault],
) -> None:
    prefix, rejects = uuid.uuid4().hex, tmp_path_factory.mktemp("loads")
    loads = [comments_of(prefix, first), comments_of(prefix, second)]
    # Some of the loaded comments exist already.
    await load_rows(Stores(each_table).comments, loads[1][::2])
    faulty = Table(FaultyClient(each_table.service, *met), each_table.name)
    tallies = await asyncio.gather(
        *(
            load(table, made, rejects / str(number))
            for number, (table, made) in enumerate(zip((faulty, each_table), loads, strict=True))
        ),
        *(edit(each_table, prefix, todo) for todo in live),
    )
    for tally, made in zip(tallies[:2], loads, strict=True):
        assert tally is not None
        assert (tally.outcome.total, tally.rejected) == (len(made), 0)
    last = [{one.comment_id: one for one in made} for made in loads]
    stored = {one.comment_id: one for one in await _stored(each_table, prefix)}
    edited = {f"{prefix}{number}" for todo in live for number, _ in todo}
    written = last[0].keys() | last[1].keys()
    assert written - edited <= stored.keys() <= written
    for number in stored.keys() - edited:
        text = stored[number]._replace(updated_at=None)  # an edited text has the load's time
        assert text in [of_file[number] for of_file in last if number in of_file]
    again = await load(each_table, loads[0], rejects / "again")
    assert again.outcome.new == len(last[0].keys() - stored.keys())
    now = {one.comment_id: one for one in await _stored(each_table, prefix)}
    assert {number: one._replace(updated_at=None) for number, one in now.items()} == {
        number: one._replace(updated_at=None) for number, one in (stored | last[0]).items()
    }


async def _stored(table: Table, prefix: str) -> list[Comment]:
    """Check that the counters equal a recount. Return all comments."""
    return [one for product in PRODUCTS for one in await recount.check(table, f"{prefix}{product}")]
