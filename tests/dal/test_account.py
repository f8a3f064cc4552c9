"""An account counts the requests of only the task that opened it."""

import asyncio
from typing import Any

from dal.account import Account, opened
from dal.client.responses import unreachable
from dal.client.table import Table
from tests.fakes import FaultyClient, Operation

KEY = {"PK": {"S": "a"}, "SK": {"S": "b"}}


async def test_each_account_has_its_own_requests(table: Table) -> None:
    async def spend(gets: int) -> Account:
        with opened() as account:
            await asyncio.gather(*(table.get(KEY) for _ in range(gets)))
        await table.get(KEY)  # not counted, because the account is closed
        return account

    accounts = await asyncio.gather(spend(1), spend(3))
    assert [*accounts] == [Account(1, 1.0, 0.0), Account(3, 3.0, 0.0)]


async def test_accounts_separate_reads_and_writes(table: Table) -> None:
    with opened() as account:
        await table.write([{"Put": {"Item": KEY}}])
        await table.put_many([KEY | {"SK": {"S": "c"}}])
        await table.get_many([KEY, KEY | {"SK": {"S": "c"}}])
        await table.write([{"Delete": {"Key": KEY}}])
        await table.write([{"Put": {"Item": KEY}}, {"Delete": {"Key": KEY | {"SK": {"S": "c"}}}}])
    assert account == Account(5, 2.0, 1 + 1 + 1 + 4)


async def test_a_failed_attempt_counts_as_a_request(table: Table) -> None:
    async def failing(real: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        raise unreachable("http://x")

    faulty = Table(FaultyClient(table.service, failing), table.name)
    with opened() as account:
        await faulty.get(KEY)
    assert account == Account(2, 1.0, 0.0)
