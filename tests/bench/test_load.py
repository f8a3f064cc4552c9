"""``marginalia bench load``: loads beside a writer that only sends."""

import asyncio
import random
from typing import Any

from bench.load import comments, send
from dal.statistics.counter_items import item_key
from dal.statistics.counts import StatisticsKey
from dal.table.client import Table
from tests.server.serving import called


def test_writers_take_turns_over_tables_that_are_exact() -> None:
    done = called("bench", "load", "--rows", "200", "--products", "5", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "│" in line]
    assert [line.split("│")[1].strip() for line in lines] == ["bare writer", "load"]
    assert "every table was exact" in done.stdout


def test_the_rows_are_by_date_and_few_products_have_many() -> None:
    made = comments(1_000, 20)
    dates = [one.created_at for one in made]
    products = [one.product_id for one in made]
    assert dates == sorted(dates)
    assert len({one.comment_id for one in made}) == 1_000
    assert products.count("p0") > 5 * products.count("p19") > 0


async def test_transactions_of_one_counter_follow_each_other(table: Table) -> None:
    chance = random.Random(1)
    keys = [[chance.choice("abcd") for _ in range(2)] for _ in range(100)]
    under_way: list[int] = []
    ended: list[int] = []
    most = 0

    async def once(_: str, *, number: int, TransactItems: Any) -> None:  # noqa: N803 - DynamoDB's
        nonlocal most
        assert not any({*keys[number]} & {*keys[other]} for other in under_way)
        assert all(other in ended for other in range(number) if {*keys[number]} & {*keys[other]})
        under_way.append(number)
        most = max(most, len(under_way))
        await asyncio.sleep(chance.random() / 1_000)
        under_way.remove(number)
        ended.append(number)

    table.once = once  # type: ignore[method-assign, assignment]
    transactions = [
        {
            "number": number,
            "TransactItems": [{"Update": {"Key": item_key(StatisticsKey(key))}} for key in several],
        }
        for number, several in enumerate(keys)
    ]
    await send(table, transactions, 4)
    assert sorted(ended) == list(range(100))
    assert 1 < most <= 4
