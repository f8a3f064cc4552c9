"""Comments on an endpoint without transactions that does not tell what it consumes.

What is said of comments on any engine is tried here as well: the imported tests run on this table.
"""

import uuid
from collections.abc import AsyncIterator
from math import isnan
from pathlib import Path

import pytest

from dal import errors
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.statistics.maintenance_mode import MaintenanceMode, MaintenanceStore, create_table
from dal.statistics.rebuild.announce import rebuild as rebuild_transactional
from dal.statistics.verify import verify
from dal.stores import Stores
from dal.table import admin
from dal.table.client import Table, TableAddress, connect, connect_streams
from schema.build import build_schema
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.engine.storage import open_store
from server.pages.addresses import comment_path
from server.settings import Settings
from stream.rebuild import rebuild
from tests import oracle, recount
from tests.conftest import Clients, fresh_table
from tests.dal.repositories.test_comments import (  # noqa: F401 - run here, too
    store,
    test_a_check_that_refuses_leaves_everything,
    test_a_key_for_another_comment_is_refused,
    test_a_key_is_remembered_by_another_client,
    test_a_retry_after_an_edit_is_the_same_add,
    test_adding_again_what_is_stored_already_is_the_same_add,
    test_an_added_comment_is_found_by_id_and_on_its_page,
    test_an_id_is_taken_once,
    test_an_update_moves_the_comment_in_every_index,
    test_concurrent_updates_of_different_fields_all_last,
    test_get_many_finds_what_exists,
    test_one_key_one_comment_however_many_try_at_once,
    test_put_many_writes_over_and_the_last_of_an_id_counts,
    test_two_who_delete_at_once_delete_once,
    test_what_is_not_there_cannot_be_changed,
)
from tests.engines.alternator import EXPIRY, LACKING, alternator, lacking
from tests.proxy import Proxy, spoilt
from tests.schema.conftest import runner
from tests.server.pages.conftest import SECRET, client_of
from tests.stream.histories import catch_up
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


async def test_a_table_made_there_is_in_stream_mode(each_table: Table, endpoint: Proxy) -> None:
    assert (await MaintenanceStore(each_table).read()).mode is MaintenanceMode.STREAM
    assert not await create_table(each_table), "a second time changes nothing"
    assert len(endpoint.asked("TransactWriteItems")) == 1, "it is asked once"


async def test_pages_walk_as_the_oracle_says_and_loads_are_stored(
    each_table: Table, endpoint: Proxy
) -> None:
    comments = CommentRepository(each_table)
    await comments.put_many(ROWS)
    for selection in list(oracle.selections("42"))[::29]:
        assert await oracle.walk(comments, selection, 7, backward=False) == oracle.selected(
            ROWS, selection
        )
    assert len(endpoint.asked("TransactWriteItems")) == 1, "the asking"


async def test_what_a_page_consumed_is_not_known_instead_of_nothing(each_table: Table) -> None:
    page = await CommentRepository(each_table).page(Selection("42"), Slice(5))
    assert isnan(page.stats.consumed_capacity)
    assert page.stats.requests >= 1


async def test_it_is_null_in_the_plan_and_said_so_on_the_page(each_table: Table) -> None:
    stores = Stores(each_table)
    await stores.comments.put_many(ROWS)
    answer = await runner(build_schema(), stores)(_PLAN, explain=True)
    assert not answer["errors"]
    plan = answer["data"]["product"]["comments"]["plan"]
    assert (plan["consumedCapacity"], plan["planningCapacity"]) == (None, None)
    assert plan["requests"] > 0
    assert plan["fullPages"]["capacity"] > 0, "as it is estimated"
    app = create_app(
        Settings(explain=True), table=each_table, authenticator=Authenticator(secret=lambda: SECRET)
    )
    async with client_of(app) as client:
        page = await client.get("/products/42")
    assert "unknown RCU" in page.text


_PLAN = """{ product(productId: "42") { comments(rating: [1, 2], first: 5) { plan {
  requests consumedCapacity planningCapacity fullPages { capacity } ideal { capacity } } } } }"""


_COUNTS = """{ product(productId: "42") { statistics { total } comments { totalCount } } }"""


async def test_counts_are_unknown_until_they_are_counted_and_follow_from_then_on(
    each_table: Table, address: TableAddress, endpoint: Proxy
) -> None:
    stores = Stores(each_table)
    await stores.comments.put_many(ROWS[:30])
    assert await counts(stores) is None
    async with connect_streams(address) as streams:
        await rebuild(each_table, streams, at_once, ignore)
        stores = Stores(each_table)
        assert await counts(stores) == {"total": 30}
        await stores.comments.put_many(ROWS[20:])
        await stores.comments.delete(ROWS[0].comment_id, lambda _: None)
        await catch_up(each_table, streams)
    assert await counts(stores) == {"total": 59}
    assert await verify(each_table, ignore) == []
    assert len(await recount.check(each_table, "42")) == 59
    assert len(endpoint.asked("TransactWriteItems")) == 1, "the asking"


async def counts(stores: Stores) -> dict[str, int] | None:
    answer = await runner(build_schema(), stores)(_COUNTS)
    assert not answer["errors"]
    assert answer["data"]["product"]["comments"]["totalCount"] is None, "it lags"
    counted: dict[str, int] | None = answer["data"]["product"]["statistics"]
    return counted


async def test_no_rebuild_makes_an_empty_table_there_transactional(each_table: Table) -> None:
    """It would be refused by every command from then on."""
    before = await MaintenanceStore(each_table).read()
    with pytest.raises(errors.StoreRefusedError, match="no transactions"):
        await rebuild_transactional(each_table, at_once, ignore)
    assert await MaintenanceStore(each_table).read() == before


async def test_pages_leave_out_what_is_not_counted(each_table: Table) -> None:
    await CommentRepository(each_table).put_many(ROWS)
    app = create_app(
        Settings(), table=each_table, authenticator=Authenticator(secret=lambda: SECRET)
    )
    async with client_of(app) as client:
        product = (await client.get("/products/42?language=xx")).text
        comment = (await client.get(comment_path(ROWS[0].comment_id))).text
    assert "not counted yet" in product
    assert 'class="count"' not in product
    assert "<small>0" not in product
    assert "noindex" not in product
    assert ">All comments of this product<" in comment


async def test_what_needs_transactions_is_refused_in_a_sentence(each_table: Table) -> None:
    puts = [{"Put": {"Item": {"PK": {"S": "a"}, "SK": {"S": one}}}} for one in "ab"]
    with pytest.raises(
        errors.StoreRefusedError, match=r"no transactions .*`marginalia table create`"
    ):
        await each_table.write(puts)
    assert await each_table.get({"PK": {"S": "a"}, "SK": {"S": "a"}}) is None


async def test_a_spoilt_answer_is_not_taken_for_one_without_capacity(
    each_table: Table, address: TableAddress, endpoint: Proxy
) -> None:
    """Where the capacity is told, ``{}`` is not the answer to a GetItem of nothing there."""
    lost = [spoilt(b"{}"), spoilt(b"{}")]
    endpoint.choose = lambda operation, _: lost.pop() if operation == "GetItem" and lost else None
    await each_table.put_many([{"PK": {"S": "a"}, "SK": {"S": "a"}}])
    async with connect(address) as fresh:
        assert await fresh.get({"PK": {"S": "a"}, "SK": {"S": "a"}}) is not None
    assert not lost


async def test_a_table_that_expires_nothing_is_made_all_the_same(
    address: TableAddress, endpoint: Proxy
) -> None:
    endpoint.choose = lacking(LACKING | EXPIRY)
    async with connect(address) as table:
        assert await create_table(table)
        assert not await admin.expires(table)


async def test_a_transactional_table_is_refused_there(
    address: TableAddress, endpoint: Proxy, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, endpoint_url=address.endpoint_url, table=address.table)
    async with connect(TableAddress(address.table, endpoint.engine, embedded=True)) as table:
        await create_table(table)
    with pytest.raises(errors.StoreRefusedError, match="run `marginalia table create`"):
        async with open_store(settings, share=False):
            pytest.fail("its counters could not be kept")
    async with open_store(settings, share=False, usable=False) as opened:
        await create_table(opened.table)
    async with open_store(settings, share=False) as opened:
        assert (await Stores(opened.table).comments.add(ROWS[0], "key")).node.text == ROWS[0].text


@pytest.fixture(params=["dynoxide_url", "ministack_url"])
async def each_engine(clients: Clients, request: pytest.FixtureRequest) -> Table:
    return await fresh_table(clients, request.getfixturevalue(request.param))


async def test_an_endpoint_with_transactions_is_asked_once_and_pays_nothing(
    each_engine: Table, endpoint: Proxy
) -> None:
    endpoint.engine = each_engine._client.endpoint_url
    endpoint.pass_all()
    async with connect(TableAddress(each_engine.name, endpoint.url)) as table:
        assert await table.has_transactions()
        assert await table.has_transactions()
        await table.get({"PK": {"S": "a"}, "SK": {"S": "a"}})
    assert [operation for operation, _ in endpoint.seen] == ["TransactWriteItems", "GetItem"]


async def test_the_embedded_engine_is_asked_nothing(table: Table, endpoint: Proxy) -> None:
    endpoint.pass_all()
    endpoint.engine = table._client.endpoint_url
    async with connect(TableAddress(table.name, endpoint.url, embedded=True)) as beyond:
        assert await beyond.has_transactions()
        await beyond.get({"PK": {"S": "a"}, "SK": {"S": "a"}})
    assert [operation for operation, _ in endpoint.seen] == ["GetItem"]
