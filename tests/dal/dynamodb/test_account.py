"""An account counts the requests of only the task that opened it."""

import asyncio
import random
from contextlib import nullcontext
from typing import Any

import pytest

from dal.dynamodb.account import ROW_RCU, Account, check_search, writing
from dal.dynamodb.errors import QueryTooCostlyError
from dal.dynamodb.responses import unreachable
from dal.dynamodb.table import Table
from dal.table.errors import StoreRefusedError
from tests.fakes import FaultyClient, Operation

KEY = {"PK": {"S": "a"}, "SK": {"S": "b"}}


async def test_each_account_has_its_own_requests(table: Table) -> None:
    async def spend(gets: int) -> Account:
        with Account() as account:
            await asyncio.gather(*(table.get(KEY) for _ in range(gets)))
        await table.get(KEY)  # not counted, because the account is closed
        return account

    accounts = await asyncio.gather(spend(1), spend(3))
    assert [*accounts] == [Account(1, 1.0, 0.0), Account(3, 3.0, 0.0)]


async def test_accounts_separate_reads_and_writes(table: Table) -> None:
    with Account() as account:
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
    with Account() as account:
        await faulty.get(KEY)
    assert account == Account(2, 1.0, 0.0)


async def test_a_read_above_the_limit_is_not_sent_but_a_write_is(table: Table) -> None:
    with Account(most_reads=2, most_rcu=100) as account:
        await table.get(KEY)
        await table.get_many([KEY])
        for read in (table.get, lambda key: table.get_many([key])):
            with pytest.raises(QueryTooCostlyError):
                await read(KEY)
        await table.write([{"Put": {"Item": KEY}}])
        await table.update({"Key": KEY, "UpdateExpression": "REMOVE a"})
    assert (account.requests, account.rcu) == (4, 2.0)


async def test_a_response_above_the_limit_ends_the_operation(table: Table) -> None:
    with Account(most_reads=100, most_rcu=1.5) as account:
        await table.get(KEY)
        for _ in range(2):
            with pytest.raises(QueryTooCostlyError):
                await table.get_many([KEY])
    assert (account.requests, account.rcu) == (2, 2.0)


async def test_only_searches_of_a_write_end_at_the_limit(table: Table) -> None:
    async def read(may: asyncio.Event) -> None:
        await may.wait()
        await table.get(KEY)

    written = asyncio.Event()
    with Account(most_reads=1, most_rcu=100):
        with writing():
            await table.get(KEY)
            await table.get(KEY)
            with pytest.raises(QueryTooCostlyError):
                check_search()
            started = asyncio.create_task(read(written))
        written.set()
        await started
        with pytest.raises(QueryTooCostlyError):
            await table.get(KEY)


async def test_no_write_begins_above_the_limit(table: Table) -> None:
    with Account(most_reads=100, most_rcu=1.5):
        await table.get(KEY)
        with writing():
            await table.get(KEY)
        with pytest.raises(QueryTooCostlyError), writing():
            pytest.fail("The write has begun.")


async def test_retries_do_not_count_towards_the_limit(table: Table) -> None:
    async def failing(real: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        raise unreachable("http://x")

    faulty = Table(FaultyClient(table.service, failing, failing), table.name)
    with Account(most_reads=2, most_rcu=100) as account:
        await faulty.get(KEY)
        await faulty.get(KEY)
    assert account.requests == 4


class Measured:
    """A service whose items have random sizes, and whose responses arrive in random order."""

    endpoint_url = ""

    def __init__(self, rng: random.Random, most: int) -> None:
        self._rng = rng
        self._most = most
        self._running = 0
        self.most_running = 0
        self.sent = 0.0

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._running += 1
        self.most_running = max(self.most_running, self._running)
        units = self._rng.randint(1, self._most)
        for _ in range(self._rng.randint(1, 5)):
            await asyncio.sleep(0)
        self._running -= 1
        self.sent += units
        return {"ConsumedCapacity": {"CapacityUnits": units}}


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("seed", range(40))
async def test_parallel_reads_consume_at_most_twice_the_limit(seed: int, writes: bool) -> None:
    """Reads fail only above the limit. Reads of a write only wait."""
    rng = random.Random(seed)
    service, count = Measured(rng, rng.choice((1, 2, ROW_RCU))), rng.randint(1, 60)
    table = Table(service, "any")
    limited = Account(most_reads=1_000, most_rcu=rng.randint(ROW_RCU, 200))
    with limited as account, writing() if writes else nullcontext():
        found = await asyncio.gather(
            *(table.get(KEY) for _ in range(count)), return_exceptions=True
        )
    failed = [one for one in found if isinstance(one, QueryTooCostlyError)]
    assert account.rcu == service.sent
    assert account.reserved == 0
    assert service.most_running <= max(1, 2 * account.most_rcu / ROW_RCU)
    if writes:
        assert account.reads == count
        assert not failed
    else:
        assert account.rcu <= 2 * account.most_rcu
        assert bool(failed) == (account.rcu > account.most_rcu)


async def test_cancelled_and_failed_reads_release_their_reservation(table: Table) -> None:
    async def failing(real: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        raise StoreRefusedError("no such operation")

    async def hanging(real: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    faulty = Table(FaultyClient(table.service, failing, hanging), table.name)
    with Account(most_reads=10, most_rcu=1) as account:
        with pytest.raises(StoreRefusedError):
            await faulty.get(KEY)
        reading, waiting = (asyncio.create_task(faulty.get(KEY)) for _ in range(2))
        await asyncio.sleep(0.01)
        assert (account.requests, account.reserved) == (2, ROW_RCU)
        reading.cancel()
        assert await waiting is None
    assert (account.requests, account.reserved) == (3, 0)
