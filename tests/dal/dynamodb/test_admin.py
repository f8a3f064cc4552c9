"""Operations on the whole table, also after an interruption."""

import uuid

import pytest

from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.maintenance.tables import create_table
from dal.table.errors import StoreRefusedError
from tests.fakes import Answer, FaultyClient, Operation, client_error, refuse

KEY = {"PK": {"S": "a"}, "SK": {"S": "a"}}

DENIED = client_error("AccessDeniedException")


async def reach(real: Operation, arguments: Answer) -> Answer:
    return await real(**arguments)


@pytest.fixture
def absent(each_table: Table) -> Table:
    """A table that does not exist yet."""
    return Table(each_table.service, f"test-{uuid.uuid4().hex}")


async def test_a_second_create_completes_a_create_that_lacked_a_permission(absent: Table) -> None:
    client = FaultyClient(absent.service, *[reach] * 2, refuse(DENIED))
    with pytest.raises(StoreRefusedError, match="AccessDeniedException"):
        await create_table(Table(client, absent.name))
    assert client.calls[-1][0] == "update_time_to_live"
    assert not await admin.expires(absent)
    assert await create_table(absent)
    assert await admin.expires(absent)
    assert (await MaintenanceStore(absent).read()).complete
    assert not await create_table(absent)


async def test_a_table_with_items_of_other_programs_is_not_called_complete(absent: Table) -> None:
    await admin.create(absent, INDEXES)
    await admin.let_expire(absent)
    await absent.put_many([KEY])
    assert not await create_table(absent)
    assert await MaintenanceStore(absent).read() == Maintenance()


async def test_a_missing_permission_to_describe_fails_at_once(absent: Table) -> None:
    client = Blind(absent.service)
    with pytest.raises(StoreRefusedError, match="AccessDeniedException"):
        await create_table(Table(client, absent.name))
    assert [operation for operation, _ in client.calls] == ["create_table"]


class Blind(FaultyClient):
    """A service that fails every DescribeTable request."""

    async def call(self, operation: str, arguments: Answer) -> Answer:
        if operation == "describe_table":
            raise DENIED
        return await super().call(operation, arguments)


@pytest.mark.parametrize("code", ["ExpiredTokenException", "ReplicatedWriteConflictException"])
async def test_expired_credentials_and_replicated_write_conflicts_are_retried(
    table: Table, code: str
) -> None:
    client = FaultyClient(table.service, refuse(client_error(code)))
    await Table(client, table.name).write([{"Put": {"Item": KEY}}])
    assert await table.get(KEY) == KEY
