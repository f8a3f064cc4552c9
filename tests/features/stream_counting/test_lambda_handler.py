"""The Lambda handler: repeated, partly failed and overlapping deliveries count once."""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from dal.dynamodb.errors import NoTableError
from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from dal.table.index import EXPIRES
from features.stream_counting import lambda_handler
from features.stream_counting.applier import Record
from features.stream_counting.lambda_handler import apply, handler
from features.stream_counting.streams import Streams
from tests.engines import SECOND_IN_SOAK
from tests.fakes import FaultyClient, client_error, lose_answer, refuse
from tests.features.stream_counting.clients import connection_of
from tests.features.stream_counting.records import all_records, made
from tests.features.stream_counting.test_applier import cut, let_pass
from tests.histories import check_all, history, write_raw

ARN = "arn:aws:dynamodb:local:0:table/t/stream/2026-01-01T00:00:00.000"


def delivered(records: Sequence[Record], arn: str = ARN) -> list[Record]:
    """Return records as Lambda delivers them: with the stream's ARN, and times as numbers."""
    return [
        {
            **record,
            "eventSourceARN": arn,
            "dynamodb": {**record["dynamodb"], "ApproximateCreationDateTime": 1767225600.0},
        }
        for record in records
    ]


async def records(table: Table, streams: Streams, seed: int) -> list[Record]:
    await write_raw(table, history(seed, 100))
    return delivered((await all_records(table, streams))[1])


async def test_deliveries_that_repeat_and_overlap_count_once(
    streamed: Table, streams: Streams
) -> None:
    found = await records(streamed, streams, seed=1)
    chance = random.Random(1)
    for batch in [*cut(found, chance), *cut(found, chance)]:
        await apply(streamed, [*batch, *batch[:3]])
    assert await check_all(streamed) > 10


@SECOND_IN_SOAK
async def test_concurrent_invocations_with_the_same_delivery_count_once(
    streamed: Table, streams: Streams
) -> None:
    found = await records(streamed, streams, seed=2)
    runs = [[*cut(found, random.Random(seed)), found[-60:]] for seed in range(3)]

    async def run(batches: Sequence[Sequence[Record]]) -> None:
        for batch in batches:
            await apply(streamed, batch)

    await asyncio.gather(*map(run, runs))
    await check_all(streamed)


@SECOND_IN_SOAK
@pytest.mark.parametrize("at", [0, 1])
async def test_a_delivery_that_fails_at_a_record_does_not_count_the_records_after_it(
    streamed: Table, streams: Streams, at: int
) -> None:
    found = await records(streamed, streams, seed=3)
    faults = [*[let_pass] * at, refuse(client_error("AccessDeniedException"))]
    client = FaultyClient(streamed.service, *faults)
    with pytest.raises(StoreRefusedError):
        await apply(Table(client, streamed.name), found)
    assert transactions(client) == at + 1
    await apply(streamed, found)  # Lambda repeats the whole delivery
    await check_all(streamed)


@SECOND_IN_SOAK
async def test_after_lost_responses_each_change_is_counted_once(
    streamed: Table, streams: Streams
) -> None:
    found = await records(streamed, streams, seed=4)
    moody = Table(FaultyClient(streamed.service, *[let_pass, lose_answer] * 20), streamed.name)
    for batch in cut(found, random.Random(4)):
        await apply(moody, batch)
    await check_all(streamed)


async def test_a_transaction_has_at_most_100_actions(table: Table) -> None:
    client = FaultyClient(table.service)
    found = delivered([made(number, f"p{number % 9}") for number in range(1, 301)])
    await apply(Table(client, table.name), found)
    sizes = [len(call[1]["TransactItems"]) for call in client.calls if "TransactItems" in call[1]]
    assert sum(sizes) == 300 + 9 * len(sizes)
    assert max(sizes) == 99


async def test_a_marker_expires_after_its_record(table: Table) -> None:
    await apply(table, delivered([made(1, "42")]))
    key = {"S": "EVENT#2026-01-01T00:00:00.000#event-1"}
    marker = await table.get({"PK": key, "SK": key})
    assert marker is not None
    assert set(marker) == {"PK", "SK", EXPIRES}


async def test_a_delivery_without_comments_writes_nothing(table: Table) -> None:
    client = FaultyClient(table.service)
    other = made(1, "42")
    other["dynamodb"]["Keys"]["PK"] = {"S": "PRODUCT#42"}
    await apply(Table(client, table.name), delivered([other]))
    await apply(Table(client, table.name), [])
    assert client.calls == []


@pytest.mark.usefixtures("invocations")
async def test_the_handler_reads_its_settings_from_the_environment(
    streamed: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "MARGINALIA_TABLE": streamed.name,
        "AWS_ENDPOINT_URL": str(connection_of(streamed).endpoint_url),
        "AWS_DEFAULT_REGION": "local",
        "AWS_ACCESS_KEY_ID": "embedded",
        "AWS_SECRET_ACCESS_KEY": "embedded",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    event = {"Records": delivered([made(1, "42"), made(2, "42")])}
    await asyncio.to_thread(handler, event, None)
    assert await count(streamed) == "2"
    opened = list(lambda_handler._tables.values())
    await asyncio.to_thread(handler, event, None)
    assert list(lambda_handler._tables.values()) == opened
    monkeypatch.setenv("MARGINALIA_TABLE", "absent")
    with pytest.raises(NoTableError):
        await asyncio.to_thread(handler, event, None)
    assert await count(streamed) == "2"


@pytest.fixture
def invocations() -> Iterator[None]:
    """Create the event loop and client that the handler keeps between invocations.

    Close them at the end.
    """
    yield
    runner = lambda_handler._runner()
    runner.run(lambda_handler._clients.aclose())
    lambda_handler._tables.clear()
    runner.close()
    lambda_handler._runner.cache_clear()


def test_importing_it_needs_neither_network_nor_settings() -> None:
    program = (
        "import socket, json\n"
        "socket.socket.connect = None\n"
        "from features.stream_counting.lambda_handler import handler\n"
        "print(json.dumps(handler.__name__))"
    )
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    assert json.loads(done.stdout) == "handler"


async def count(table: Table) -> Any:
    item = await table.get({"PK": {"S": "PRODUCT#42"}, "SK": {"S": "S#en"}})
    return item and item["count_total"]["N"]


def transactions(client: FaultyClient) -> int:
    return sum(operation == "transact_write_items" for operation, _ in client.calls)
