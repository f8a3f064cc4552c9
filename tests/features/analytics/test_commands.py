"""``marginalia analytics`` on the command line."""

import asyncio
from pathlib import Path

import pytest

from dal.stores import Stores
from dal.table.errors import DalError
from server.errors import CommandError
from server.local_engine.storage import open_table
from server.settings import Settings
from tests import oracle
from tests.putting import put_comments
from tests.server.cli.commands.test_stats import run

ROWS = oracle.make_comments("42", 60, seed=3)  # one comment each hour from 1 January 2023


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    data_dir = tmp_path_factory.mktemp("analytics")

    async def put() -> None:
        async with open_table(Settings(data_dir=data_dir), share=False) as table:
            await put_comments(Stores(table).comments, ROWS)

    asyncio.run(put())
    return "--data-dir", str(data_dir)


@pytest.fixture(scope="module", autouse=True)
def refreshed(store: tuple[str, str]) -> None:
    with pytest.raises(DalError, match="`marginalia analytics refresh`"):
        run("analytics", "trend", "42", *store)
    run("analytics", "refresh", *store)


def cells(printed: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")][1:-1] for line in printed.splitlines()]


def test_a_refresh_prints_its_number_of_rows_and_its_time(
    store: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run("analytics", "refresh", *store)
    printed = capsys.readouterr()
    assert printed.out.startswith("Table marginalia: the analytics store has 60 comments as of 20")
    assert printed.err == ""
    left = {one.name for one in (Path(store[1]) / "analytics" / "marginalia").iterdir()}
    assert len([one for one in left if one.startswith("base-")]) == 1
    assert not list(Path(store[1]).glob("analytics-export-*"))


def test_a_trend_has_a_bar_for_each_period(
    store: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run("analytics", "trend", "42", "--interval", "day", "--to", "2023-01-05", *store)
    printed = capsys.readouterr().out
    days = [[row for row in ROWS if row.created_at.day == day] for day in (1, 2, 3)]
    most = max(map(len, days))
    for number, day in enumerate(days, 1):
        average = sum(row.rating for row in day) / len(day)
        bar = "█" * round(30 * len(day) / most)
        assert [f"2023-01-0{number}", str(len(day)), f"{average:.2f}", bar] in cells(printed)
    assert ["2023-01-04", "0", "", ""] in cells(printed)
    assert "As of 20" in printed
    run("analytics", "trend", "42", "--language", "DE", "--language", "fr", *store)
    german = sum(row.language in {"de", "fr"} for row in ROWS)
    assert [row[:2] for row in cells(capsys.readouterr().out) if row] == [["2023-01", str(german)]]
    run("analytics", "trend", "43", *store)
    assert capsys.readouterr().out.startswith("Product 43 ")


def test_movers_are_printed_as_a_table(
    store: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--interval", "day", "--from", "2023-01-01", "--to", "2023-01-03")
    run("analytics", "movers", *given, "--by", "average", "--at-least", "2", *store)
    days = [[row.rating for row in ROWS if row.created_at.day == day] for day in (1, 3)]
    means = [sum(ratings) / len(ratings) for ratings in days]
    shown = [f"{len(ratings)} at {mean:.2f}" for ratings, mean in zip(days, means, strict=True)]
    moved = f"{len(days[1]) - len(days[0]):+}, {means[1] - means[0]:+.2f} ★"
    assert ["42", *shown, moved] in cells(capsys.readouterr().out)


def test_the_password_of_a_server_is_not_printed() -> None:
    with pytest.raises(CommandError, match="--analytics-url ") as refused:
        Settings(analytics_url="clickhouse://me:hush@127.0.0.1")
    assert "hush" not in str(refused.value)
    assert "hush" not in repr(Settings(analytics_url="http://me:hush@127.0.0.1"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("trend", "42", "--interval", "day", "--from", "1020-01-01", "--to", "2020-01-01"), "400"),
        (("trend", "42", "--from", "2020-01-01", "--to", "2020-01-01"), "earlier"),
        (("trend", "42", "--language", "no language"), "BCP 47"),
        (("movers", "--from", "2020-01-01", "--to", "2020-01-02"), "earlier MONTH"),
        (("trend", "42", "--analytics-url", "nowhere"), "--analytics-url"),
        (("trend", "42", "--analytics-url", "http://127.0.0.1:1"), "cannot be reached"),
    ],
)
def test_an_invalid_question_ends_with_one_sentence(
    store: tuple[str, str], arguments: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises((CommandError, DalError)) as refused:
        run("analytics", *arguments, *store)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
