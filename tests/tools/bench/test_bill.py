"""The bill, computed from the declared table, agrees with the engine and with docs/costs.md."""

from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from tests.engines import ROOT
from tests.server.serving import called_as
from tests.strategies import comment
from tools.bench import report
from tools.bench.__main__ import main
from tools.bench.bill import ONLY_PRINTED, measure, notes, page_sections, use_of
from tools.bench.capacity import Consumed, size_of, written_units
from tools.bench.month import LOADS, formulas, month_section
from tools.bench.prices import PRICES, read_prices

PAGE = ROOT / "docs" / "costs.md"


async def test_the_capacity_of_each_operation_equals_the_engines_and_the_documented_one(
    table: Table,
) -> None:
    lines = [line async for line in measure(table)]
    assert [line.operation for line in lines if line.consumed != line.reported] == []
    prices = read_prices(PRICES)
    written = PAGE.read_text("utf-8")
    use = use_of(lines)
    made = report.page(written, "month", [month_section(prices, use, LOADS)], formulas(prices, use))
    made = report.page(made, "bill", page_sections(lines, prices), notes(prices))
    assert {line.operation for line in lines} > ONLY_PRINTED
    assert written == made, "run `python -m tools.bench bill --write`"


def test_item_sizes_follow_the_rules_of_dynamodb() -> None:
    """These are the developer guide's rules: names and values count, and numbers at two
    digits a byte.
    """
    item = {"name": {"S": "é"}, "n": {"N": "-12345"}, "yes": {"BOOL": True}}
    assert size_of(item) == (4 + 2) + (1 + 4) + (3 + 1)


def test_a_moved_index_row_is_written_twice() -> None:
    old, new, text = (
        COMMENT.encode(comment("1", **one)) for one in ({}, {"rating": 1}, {"text": "t"})
    )
    whole = written_units(None, old, transaction=False)
    assert whole == 1 + 5
    assert written_units(None, old, transaction=True) == 2 + 5
    assert written_units(old, text, transaction=False) == 1 + 5
    assert written_units(old, new, transaction=False) == 1 + 5 + 2, "two partitions name the rating"
    assert written_units(old, old, transaction=False) == 1
    assert written_units(old, None, transaction=False) == whole


def test_prices_come_from_a_file(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    text = PRICES.read_text("utf-8").replace("0.625", "2").replace("0.125", "1")
    prices.write_text(text, "utf-8")
    assert read_prices(prices).of(Consumed(wcu=3, rcu=1)) == 7


def test_adds_without_views_are_refused() -> None:
    assert called_as("bench", main, "bill", "--adds", "5").returncode == 2


@pytest.mark.parametrize(
    "text",
    [
        None,
        "write_units =",
        "write_units = 1",
        PRICES.read_text("utf-8").replace("write_units = 0.625", 'write_units = "0.625"'),
    ],
)
def test_a_file_without_prices_is_refused(tmp_path: Path, text: str | None) -> None:
    prices = tmp_path / "prices.toml"
    if text is not None:
        prices.write_text(text, "utf-8")
    done = called_as("bench", main, "bill", "--prices", prices)
    assert done.returncode == 1
    assert "has no valid prices" in done.stderr
    assert "Traceback" not in done.stderr
