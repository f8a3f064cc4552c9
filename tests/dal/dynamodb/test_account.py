"""An account counts the requests of only the task that opened it."""

import asyncio
from typing import Any

import pytest

from dal.dynamodb.account import Account, Limit, check_list, opened
from dal.dynamodb.errors import QueryTooCostlyError
from dal.dynamodb.responses import unreachable
from dal.dynamodb.table import Table
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


@pytest.mark.parametrize("limit", [Limit(2, 100), Limit(100, 1.5)], ids=["requests", "RCU"])
async def test_a_read_above_the_limit_is_not_sent_but_a_write_is(
    table: Table, limit: Limit
) -> None:
    with opened(limit) as account:
        await table.get(KEY)
        await table.get_many([KEY])
        for read in (table.get, lambda key: table.get_many([key])):
            with pytest.raises(QueryTooCostlyError):
                await read(KEY)
        await table.write([{"Put": {"Item": KEY}}])
    assert (account.requests, account.rcu) == (3, 2.0)


async def test_only_further_reads_of_lists_end_at_the_limit_of_a_mutation(table: Table) -> None:
    with opened(Limit(1, 100, lists_only=True)):
        await table.get(KEY)
        await table.get(KEY)
        with pytest.raises(QueryTooCostlyError):
            check_list()


async def test_retries_do_not_count_towards_the_limit(table: Table) -> None:
    async def failing(real: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        raise unreachable("http://x")

    faulty = Table(FaultyClient(table.service, failing, failing), table.name)
    with opened(Limit(2, 100)) as account:
        await faulty.get(KEY)
        await faulty.get(KEY)
    assert account.requests == 4
