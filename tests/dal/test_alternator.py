"""Comments on an endpoint that has no transactions and reports no consumed capacity.

The imported tests run on this endpoint too.
"""

import uuid
from collections.abc import AsyncIterator
from math import isnan

import pytest

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.errors import NoTransactionsError
from dal.dynamodb.table import Table, TableAddress, connect
from dal.maintenance.rebuild import rebuild
from dal.maintenance.tables import create_table, upgrade
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from schema.build import build_schema
from tests import oracle
from tests.dal.repositories.test_comments import (  # noqa: F401 - run here, too
    store,
    test_an_added_comment_is_found_by_id_and_on_its_page,
    test_an_update_moves_the_comment_in_every_index,
    test_another_client_of_the_table_finds_the_comment_of_a_key,
    test_concurrent_adds_with_one_key_add_one_comment,
    test_get_many_returns_the_existing_comments,
    test_put_many_overwrites_and_stores_the_last_row_of_an_id,
    test_two_concurrent_deletions_delete_once,
)
from tests.dal.repositories.test_product_search import (  # noqa: F401 - run here, too
    test_a_product_is_found_by_the_beginning_of_each_word,
)
from tests.engines.alternator import EXPIRY, LACKING, alternator, lacking
from tests.proxy import Proxy, spoilt
from tests.putting import put_comments
from tests.schema.conftest import runner
from tests.writers import at_once, ignore

ROWS = oracle.make_comments("42", 60, seed=2)


@pytest.fixture
async def endpoint(dynoxide_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Proxy]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "local")
    async with alternator(dynoxide_url) as proxy:
        yield proxy


@pytest.fixture
def address(endpoint: Proxy) -> TableAddress:
    return TableAddress(f"test-{uuid.uuid4().hex}", endpoint.url)


@pytest.fixture
async def each_table(address: TableAddress) -> AsyncIterator[Table]:
    async with connect(address) as table:
        assert await create_table(table)
        yield table


async def test_a_new_table_is_in_stream_mode_and_pages_probe_nothing(
    each_table: Table, endpoint: Proxy
) -> None:
    assert (await MaintenanceStore(each_table).read()).mode is MaintenanceMode.STREAM
    comments = Stores(each_table).comments
    await put_comments(comments, ROWS)
    for selection in list(oracle.selections("42"))[::29]:
        assert await oracle.walk(comments, selection, 7, backward=False) == oracle.selected(
            ROWS, selection
        )
    assert len(endpoint.asked("TransactWriteItems")) == 1, "create_table probes once"
    assert not await create_table(each_table), "a second time changes nothing"


@pytest.mark.parametrize(
    ("mode", "complete"),
    [(MaintenanceMode.STREAM, True), (MaintenanceMode.TRANSACTIONAL, False)],
)
async def test_create_table_makes_a_table_that_was_counted_elsewhere_uncounted(
    each_table: Table, mode: MaintenanceMode, *, complete: bool
) -> None:
    maintenance = MaintenanceStore(each_table)
    await maintenance.announce(await maintenance.read(), mode=mode, complete=complete)
    assert await create_table(each_table)
    state = await maintenance.read()
    assert (state.mode, state.counted) == (MaintenanceMode.STREAM, False)


async def test_unknown_capacity_is_nan(each_table: Table) -> None:
    stores = Stores(each_table)
    await put_comments(stores.comments, ROWS)
    page = await stores.comments.page(Selection("42"), Slice(5))
    assert isnan(page.stats.consumed_capacity)


_COUNTS = """{ product(productId: "42") { statistics { total } comments { totalCount } } }"""


async def test_statistics_are_null(each_table: Table) -> None:
    stores = Stores(each_table)
    await put_comments(stores.comments, ROWS)
    answer = await runner(build_schema(), stores)(_COUNTS)
    assert not answer["errors"]
    product = answer["data"]["product"]
    assert (product["statistics"], product["comments"]["totalCount"]) == (None, None)


async def test_an_operation_that_needs_transactions_is_refused_before_it_changes_anything(
    each_table: Table,
) -> None:
    before = await MaintenanceStore(each_table).read()
    puts = [{"Put": {"Item": {"PK": {"S": "a"}, "SK": {"S": one}}}} for one in "ab"]
    for refused in (
        each_table.write(puts),
        rebuild(each_table, at_once, ignore),
        upgrade(
            each_table,
            index_progress=lambda *_: None,
            scan_progress=ignore,
            wait_for_writers=at_once,
        ),
    ):
        with pytest.raises(
            NoTransactionsError, match=r"lacks transactions .*`marginalia table create`"
        ):
            await refused
    assert await each_table.get({"PK": {"S": "a"}, "SK": {"S": "a"}}) is None
    assert await MaintenanceStore(each_table).read() == before


async def test_an_empty_response_is_complete_from_an_endpoint_that_never_reports_capacity(
    address: TableAddress, each_table: Table, endpoint: Proxy
) -> None:
    """The embedded engine reports the capacity, so its response to GetItem is never ``{}``."""
    await each_table.put_many([{"PK": {"S": "a"}, "SK": {"S": "a"}}])
    embedded = TableAddress(address.table, endpoint.url, embedded=True)
    for asked, found in ((embedded, True), (address, False)):
        lost = [spoilt(b"{}")]
        endpoint.choose = lambda _, __, lost=lost: lost.pop() if lost else None  # type: ignore[misc]
        async with connect(asked) as table:
            item = await table.get({"PK": {"S": "a"}, "SK": {"S": "a"}})
        assert (item is not None) == found


async def test_a_table_is_created_on_an_endpoint_without_time_to_live(
    address: TableAddress, endpoint: Proxy
) -> None:
    endpoint.choose = lacking(LACKING | EXPIRY)
    async with connect(address) as table:
        assert await create_table(table)
        assert not await admin.expires(table)
