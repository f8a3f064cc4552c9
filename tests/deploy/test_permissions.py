"""The requests that each command sends to DynamoDB, compared with the permissions of its role."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from strawberry.relay import to_base64

from dal.counts.mode import KEY, MaintenanceMode, MaintenanceStore
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from features.lambda_serving.handler import Function
from features.stream_counting import lambda_handler
from features.stream_counting.follower import caught_up, open_follower
from features.stream_counting.streams import connect_streams
from schema.build import build_schema
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.cli.main import build
from server.local_engine.storage import open_store, open_table
from server.services import services_of
from server.settings import Settings
from tests import oracle
from tests.conftest import Clients, fresh_table
from tests.dal.maintenance import first_release
from tests.deploy.template import policies
from tests.features.lambda_serving.requests import operation
from tests.features.loading.bulk import load_rows
from tests.features.one_per_person.switching import switched
from tests.features.privacy import person
from tests.features.stream_counting.records import all_records
from tests.features.stream_counting.test_lambda_handler import delivered
from tests.histories import check_all, history, write_raw
from tests.integration.patterns import EXAMPLES, fill
from tests.schema.conftest import ANN, STAFF, runner
from tests.server.serving import SECRET, bearer

Asked = set[tuple[str, str]]
"""Requests: each is an IAM action, and the kind of its resource."""

ADD = """mutation { addComment(input: {productId: "42", rating: 4, language: "en", title: "Tea",
text: "Good", idempotencyKey: "k"}) { userErrors { code } } }"""

TWO = [to_base64("Comment", one) for one in ("c8", "c9")]

OPERATIONS = [(one.pattern.operation, one.pattern.viewer) for one in EXAMPLES.values()] + [
    (
        """mutation { createOrganization(input: {name: "New", subscriptionPlan: "Pro", users: []})
        { userErrors { code } } }""",
        STAFF,
    ),
    (
        """mutation { addOrganizationUser(input: {organizationName: "New", username: "zoe",
        type: MEMBER}) { userErrors { code } } }""",
        STAFF,
    ),
    (ADD, ANN),
    (f"{{ nodes(ids: {json.dumps(TWO)}) {{ id }} }}", ANN),
]
"""The examples of all access patterns, and a write of every other kind."""

_TRANSACTED = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}
_OF_STREAMS = {"DescribeStream", "GetRecords", "GetShardIterator"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The requests that any client sends to DynamoDB during the test."""
    found: Asked = set()
    send = Table._send

    async def noting(self: Table, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        found.update(actions_of(operation, arguments))
        return await send(self, operation, arguments)

    monkeypatch.setattr(Table, "_send", noting)
    return found


def actions_of(operation: str, arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the IAM actions that a request needs, with the kinds of their resources."""
    if operation == "transact_write_items":
        for entry in arguments["TransactItems"]:
            (kind,) = entry
            yield _TRANSACTED.get(kind, "ConditionCheckItem"), "table"
        return
    action = "".join(word.capitalize() for word in operation.split("_"))
    if action in _OF_STREAMS:
        yield action, "stream"
    else:
        yield action, "indexes" if "IndexName" in arguments else "table"


def allowed(role: str) -> Asked:
    """Return the actions that the template's policy allows to a role."""
    kinds = {"": "table", "/index/*": "indexes", "/stream/*": "stream"}
    return {(one, kinds[end]) for end, actions in policies()[role].items() for one in actions}


@pytest.fixture
def settings(table: Table, dynoxide_url: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a server on AWS, with a table on dynoxide."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    monkeypatch.setattr("dal.maintenance.verify.PAUSE_SECONDS", 0)
    return Settings(endpoint_url=dynoxide_url, table=table.name)


async def run(settings: Settings, *arguments: str) -> None:
    """Run a command of the command line."""
    store = ("--endpoint-url", str(settings.endpoint_url), "--table", settings.table)
    line = [*arguments, *store]
    await asyncio.to_thread(build(line), line, standalone_mode=False)


def check(asked: Asked, role: str) -> None:
    assert asked == allowed(role), f"{role}Policy of deploy/cloudformation.yaml says something else"


async def test_a_server_works_with_the_serve_policy_alone(
    settings: Settings, asked: Asked, table: Table
) -> None:
    await fill(Stores(table))
    await Stores(table).votes.mark("c9", "bob")  # AP5 deletes the comment with its votes
    asked.clear()
    async with open_table(settings, share=False) as opened:
        stores = Stores(opened)
        app = create_app(
            settings, services_of(settings, opened, Authenticator(secret=lambda: None))
        )
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/health/ready")).status_code == 200
        await stores.documents.all()
        await stores.comments.get_many(["1", "2"])  # a request for several ids sends BatchGetItem
        await stores.documents.put({"1": "{ __typename }"})  # and with --apq
        ask = runner(build_schema(), stores)
        for operation, viewer in OPERATIONS:
            assert (await ask(operation, viewer))["errors"] == []
        counting = MaintenanceStore(table)
        await counting.announce(await counting.read(), mode=MaintenanceMode.STREAM)
        ask = runner(build_schema(), Stores(opened))
        for operation in (ADD, EXAMPLES["AP5"].pattern.operation):
            assert (await ask(operation, ANN))["errors"] == []
    check(asked, "Serve")


async def test_the_function_for_graphql_works_with_the_serve_policy(
    settings: Settings, asked: Asked
) -> None:
    def add() -> dict[str, Any]:
        function = Function(replace(settings, jwt_secret=SECRET, allowed_hosts=("*",)))
        answer = function.answer(operation("url", ADD, **bearer("ann")), None)
        function.close()
        return answer

    added = json.loads((await asyncio.to_thread(add))["body"])
    assert added == {"data": {"addComment": {"userErrors": []}}}
    assert ("DescribeTable", "table") in asked
    assert asked <= allowed("Serve")


async def test_a_restored_table_is_served_by_the_same_role(
    settings: Settings, asked: Asked, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    store = MaintenanceStore(table)
    await store.announce(await store.read(), complete=True)
    item = await table.get(KEY)
    assert item is not None
    await table.put_many([{**item, "complete": {"S": "another"}}])
    asked.clear()
    async with open_table(settings, share=False):
        assert "is a copy" in caplog.text
    assert asked <= allowed("Serve")


async def test_an_export_is_loaded_with_the_load_policy_alone(
    settings: Settings, asked: Asked, table: Table, clients: Clients, tmp_path: Path
) -> None:
    await fill(Stores(table))
    await Stores(table).products.update("42", {"url": "/kettle"})
    asked.clear()
    await run(settings, "export", "--output", str(tmp_path))
    shop = ("--shop-name", "Kettles", "--public-url", "https://shop.example")
    await run(settings, "export", "--format", "meta-reviews", "-o", str(tmp_path), *shop)
    await run(settings, "analytics", "refresh", "--data-dir", str(tmp_path / "data"))
    check(asked, "Export")
    other = await fresh_table(clients, str(settings.endpoint_url))
    asked.clear()
    for kind in ("comments", "orders", "organizations", "tickets", "profiles", "products"):
        file = str(tmp_path / f"{kind}.jsonl")
        for _ in range(2):
            await run(replace(settings, table=other.name), "load", file, "--kind", kind)
    one, unnamed = oracle.make_comments("42", 2, seed=1)
    await load_rows(Stores(other).comments, [unnamed])
    loading = (await switched(other)).comments
    await load_rows(loading, [one])
    await load_rows(loading, [one._replace(username="ann"), unnamed._replace(username="bob")])
    check(asked, "Load")


async def test_commands_without_their_own_policy_work_with_the_documented_policy(
    settings: Settings, asked: Asked, tmp_path: Path
) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"1": "query One { __typename }"}')
    asked.clear()
    await run(settings, "documents", "add", str(manifest))
    assert asked <= allowed("Serve")
    asked.clear()
    await run(settings, "analytics", "refresh", "--data-dir", str(tmp_path))
    assert asked <= allowed("Export")


async def test_a_user_is_exported_and_erased_with_the_documented_policies(
    settings: Settings, asked: Asked, table: Table, tmp_path: Path
) -> None:
    for name in ("zoe", "zoey"):
        await person.fill(Stores(table), table, name, of=name)
    await run(settings, "table", "one-per-person", "on")
    asked.clear()
    await run(settings, "user", "export", "zoe", "--output", str(tmp_path / "user.json"))
    await run(settings, "user", "erase", "zoe", "--yes", "--comments", "anonymize")
    await run(settings, "user", "erase", "zoey", "--yes", "--orders", "rename")
    assert asked <= allowed("Serve") | allowed("Export")


async def test_the_read_policy_changes_nothing(
    settings: Settings, asked: Asked, table: Table
) -> None:
    await fill(Stores(table))
    asked.clear()
    for command in ("explain 42 --rating 1 --rating 2", "table describe"):
        await run(settings, *command.split())
    check(asked, "Read")


async def test_a_rebuild_the_follower_and_the_function_work_with_their_policies(
    settings: Settings, asked: Asked, table: Table
) -> None:
    await write_raw(table, history(1, 30))
    asked.clear()
    for mode in ("transactional", "stream"):
        await run(settings, "stats", "rebuild", "--mode", mode)
    await run(settings, "stats", "verify")
    begun = set(asked)
    await write_raw(table, history(2, 30))

    asked.clear()
    async with (
        open_store(settings, share=True) as store,
        connect_streams(store.connection) as streams,
    ):
        await caught_up(store.table)
        follower = await open_follower(store.table, streams)
        while await follower.round():
            pass
        await store.table.drain()
        followed = set(asked)
        await check_all(table)
        await write_raw(table, history(3, 30))
        found = delivered((await all_records(table, streams))[1])

    asked.clear()
    await lambda_handler.apply(Table(table.service, table.name), found[-20:])
    counted = set(asked)
    check(
        followed | counted, "Follow"
    )  # some seconds after the load, its products also move on leaderboards

    asked.clear()
    asked |= begun
    await run(settings, "stats", "rebuild", "--mode", "transactional")
    check(asked, "Rebuild")
    asked.clear()
    asked |= counted
    with pytest.raises(StoreRefusedError, match="--mode stream"):
        await lambda_handler.apply(Table(table.service, table.name), found[-20:])
    check(asked, "Count")


async def test_a_table_is_created_and_upgraded_with_its_policy_alone(
    settings: Settings, asked: Asked, table: Table, dynoxide_url: str
) -> None:
    older = Table(table.service, f"{table.name}-older")
    await first_release.create(older, oracle.make_comments("42", 5, seed=1), "all")
    mended = COMMENT.encode(oracle.make_comments("43", 1, seed=1)[0])
    await table.put_many([{name: mended[name] for name in mended if name != "GSI4PK"}])
    asked.clear()
    await run(replace(settings, table=older.name), "table", "upgrade")
    await run(replace(settings, table=f"{table.name}-new"), "table", "create")
    await run(replace(settings, table=older.name), "table", "one-per-person", "on")
    asked.add(("BatchGetItem", "table"))  # sent if other clients change items meanwhile
    check(asked, "Upgrade")
