"""Lambda's events in the form that AWS documents: repeated, halved and invalid deliveries.

``events/delivery.json`` was written from AWS's documentation, not recorded in an account.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from features.stream_counting.applier import Record
from features.stream_counting.lambda_handler import apply, handler
from tests import recount
from tests.fakes import FaultyClient

DELIVERY = json.loads((Path(__file__).parent / "events/delivery.json").read_text("utf-8"))
RECORDS: list[Record] = DELIVERY["Records"]

TEA = {
    "S#en": {"count_4": "1", "count_5": "1", "count_total": "2"},
    "S#de": {"count_3": "1", "count_total": "1"},
}
"""The counters, by language, after all records.

One comment was edited, one has a new text, and one was invalid at first.
"""


async def counted(table: Table, product: str) -> dict[str, dict[str, str]]:
    """Return the stored counts of a product by language."""
    stored = await recount.stored(table, product)
    return {
        sort_key: {name: count for name, count in item.items() if name.startswith("count_")}
        for sort_key, item in stored.items()
        if sort_key != "S"
    }


async def check(table: Table) -> None:
    assert await counted(table, "tea") == TEA
    assert not any((await counted(table, "coffee")).values())


@pytest.mark.parametrize("failed_at", range(len(RECORDS) + 1))
async def test_a_delivery_that_failed_at_any_record_is_counted_when_it_is_repeated(
    table: Table, failed_at: int
) -> None:
    await apply(table, RECORDS[:failed_at])
    await apply(table, RECORDS)
    await check(table)


async def test_a_delivery_that_is_halved_repeatedly_counts_once(table: Table) -> None:
    """Lambda can halve a failed delivery and deliver each half again."""

    async def deliver(records: list[Record]) -> None:
        if len(records) > 1:
            await deliver(records[: len(records) // 2])
            await deliver(records[len(records) // 2 :])
        await apply(table, records)

    await deliver(RECORDS)
    await check(table)


async def test_a_record_that_is_twice_in_a_delivery_counts_once(table: Table) -> None:
    await apply(table, [copy.deepcopy(record) for record in RECORDS for _ in range(2)])
    await check(table)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("language", "x" * 1_100), ("GSI4PK", f"PRODUCT#{'x' * 1_100}")],
)
async def test_an_uncountable_comment_does_not_stop_a_delivery(
    table: Table, attribute: str, value: str
) -> None:
    """DynamoDB would refuse this counter every time, so all later records would wait."""
    poison = copy.deepcopy(RECORDS[0])
    poison["eventID"] = "poison"
    poison["dynamodb"]["NewImage"][attribute] = {"S": value}
    await apply(table, [poison, *RECORDS])
    await check(table)
    assert await counted(table, "x" * 1_100) == {}


@pytest.mark.parametrize("view", ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE"])
async def test_a_stream_without_both_images_is_refused_and_counts_nothing(
    table: Table, view: str
) -> None:
    told = copy.deepcopy(RECORDS)
    told[2]["dynamodb"]["StreamViewType"] = view
    client = FaultyClient(table.service)
    with pytest.raises(StoreRefusedError, match="NEW_AND_OLD_IMAGES"):
        await apply(Table(client, table.name), told)
    assert client.calls == []


@pytest.mark.parametrize(
    "event", [{}, {"key1": "value1"}, {"Records": [{"eventSource": "aws:s3"}]}]
)
def test_an_event_of_another_kind_is_refused(
    event: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARGINALIA_TABLE", "nowhere")
    with pytest.raises(StoreRefusedError, match="stream"):
        handler(event, None)
