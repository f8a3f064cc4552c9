"""``marginalia explain`` on the command line, with a real engine."""

from datetime import timedelta

import pytest

from dal.dynamodb.table import Table
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from features.plans.trace import Trace
from tests import oracle
from tests.putting import put_comments
from tests.server.serving import AWS, called

DATA = oracle.make_comments("42", 60, seed=1)


@pytest.fixture
async def store(table: Table, comments: CommentRepository, dynoxide_url: str) -> list[str]:
    await put_comments(comments, DATA)
    return ["--endpoint-url", dynoxide_url, "--table", table.name]


async def test_one_page_is_read_and_printed(store: list[str], comments: CommentRepository) -> None:
    said = called("explain", "42", "--rating", "5", "--first", "3", *store, **AWS)
    assert (said.returncode, said.stderr) == (0, "")
    page = await comments.page(Selection("42", frozenset({5})), Slice(3))
    for part in ("AP3b", "byRating", "PRODUCT#42/5", "Requests: 1", "Read capacity units: 0.5"):
        assert part in said.stdout
    assert f"--after {page.edges[-1].cursor}" in said.stdout


async def test_the_rejected_indexes_are_printed_as_a_table(
    store: list[str], comments: CommentRepository
) -> None:
    asked = ("explain", "42", "--rating", "4", "--rating", "5", "--language", "en")
    said = called(*asked, *store, COLUMNS="200", **AWS)
    assert (said.returncode, said.stderr) == (0, "")
    selection = Selection("42", frozenset({4, 5}), frozenset({"en"}))
    page = await comments.page(selection, Slice(20, instruments=Trace))
    assert isinstance(page.stats.instruments, Trace)
    chosen, *others = page.stats.instruments.alternatives
    for one in (chosen, *others):
        assert any(one.index in line and one.reason in line for line in said.stdout.splitlines())
    assert f"{chosen.index} (chosen)" in said.stdout
    assert ": Requests: 2." in said.stdout
    assert ": Requests: 1." in said.stdout


async def test_the_next_page_starts_at_the_cursor(
    store: list[str], comments: CommentRepository
) -> None:
    first = await comments.page(Selection("42"), Slice(3))
    cursor = first.edges[-1].cursor
    said = called("explain", "42", "--after", cursor, *store, COLUMNS="200", **AWS)
    assert f"< {first.edges[-1].position}" in said.stdout


async def test_dates_and_order_have_the_syntax_of_the_api(
    store: list[str], comments: CommentRepository
) -> None:
    start, end = oracle.START + timedelta(hours=7), oracle.START + timedelta(hours=31)
    bounds = ("--created-from", start.isoformat(), "--created-before", "2023-01-02T07:00")
    said = called("explain", "42", *bounds, "--order-by", "oldest", *store, COLUMNS="200", **AWS)
    assert (said.returncode, said.stderr) == (0, "")
    selection = Selection("42", None, None, start, end)
    page = await comments.page(selection, Slice(20, reverse=True))
    for part in ("AP1", ">= 2023-01-01T07:00:00.000000Z and < 2023-01-02T07:00:00", "Rows: 20."):
        assert part in said.stdout
    assert f"--after {page.edges[-1].cursor}" in said.stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--created-from", "may"], "--created-from is 'may'; it must be a date such as"),
        (
            ["--created-from", "2024-02-01", "--created-before", "2024-01-01"],
            "--created-from is after --created-before: exchange the two.",
        ),
        (["--rating", "7"], "--rating is 7;"),
        (["--language", "english"], "--language 'english' "),
        (["--first", "101"], "first is 101;"),
        (["--first", "1", "--last", "1"], "Pass first or "),
        (["--after", "x"], "after: "),
    ],
)
def test_a_bad_argument_ends_with_one_sentence(options: list[str], complaint: str) -> None:
    said = called("explain", "42", *options)
    assert said.returncode == 2
    assert said.stderr.startswith(f"marginalia: {complaint}")
    assert said.stderr.count("\n") == 1
