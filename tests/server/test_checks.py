"""``serve --check``: each line, and the exit code."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from oidc_provider_mock import run_server_in_thread

from dal.counts.mode import KEY, Maintenance, MaintenanceMode, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.maintenance.tables import create_table
from dal.table.definition import table_definition
from server import checks
from server.checks import findings
from server.errors import USAGE
from server.findings import Finding, Level
from server.local_engine.data_directory import DataDirectory
from server.local_engine.storage import open_table
from server.settings import Settings
from tests.server.serving import AWS, called

PUBLIC = {"host": "0.0.0.0", "public_url": "https://shop.example"}
NOWHERE = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("given", "subject", "level", "words"),
    [
        ({}, "TLS", Level.OK, "only on 127.0.0.1"),
        ({"host": "0.0.0.0"}, "TLS", Level.DANGER, "without encryption"),
        ({"public_url": "http://shop.example"}, "TLS", Level.DANGER, "without encryption"),
        ({"public_url": "https://shop.example"}, "TLS", Level.OK, "https://shop.example"),
        (PUBLIC, "TLS", Level.WARNING, "--trusted-proxy"),
        (PUBLIC | {"trusted_proxies": ("10.0.0.0/8",)}, "TLS", Level.OK, "https://shop.example"),
        ({}, "hosts", Level.OK, "loopback"),
        (PUBLIC, "hosts", Level.OK, "https://shop.example, loopback"),
        ({"host": "0.0.0.0"}, "hosts", Level.WARNING, "--public-url"),
        ({"allowed_hosts": ("*",)}, "hosts", Level.WARNING, "all host names"),
        ({"jwt_secret": "e" * 32}, "JWTs", Level.OK, "set and has 32 bytes"),
        ({"jwt_secret": "short"}, "JWTs", Level.DANGER, "has 5 bytes"),
        ({}, "JWTs", Level.WARNING, "no JWT"),
        ({"jwks_url": NOWHERE}, "JWTs", Level.WARNING, "'iss'"),
        ({"jwt_issuer": NOWHERE, "jwt_audience": "us"}, "JWTs", Level.OK, "for us"),
        ({}, "issuer", Level.OK, "no issuer"),
        ({"jwks_url": NOWHERE}, "issuer", Level.DANGER, "cannot be fetched"),
        (
            {"jwt_issuer": NOWHERE, "jwt_audience": "us"},
            "issuer",
            Level.DANGER,
            "cannot be fetched",
        ),
        (
            {"jwt_issuer": "http://id.example", "jwt_audience": "us"},
            "issuer",
            Level.DANGER,
            "--jwt-issuer http://id.example",
        ),
        ({"jwks_url": "http://id.example/keys"}, "issuer", Level.DANGER, "is not encrypted"),
        ({"allowed_hosts": ("shop.example",)}, "TLS", Level.DANGER, "without encryption"),
        ({"allowed_hosts": ("[::1]", "*.localhost")}, "TLS", Level.OK, "only on 127.0.0.1"),
        ({"allowed_hosts": ("shop.example",), "demo": True}, "demo", Level.DANGER, "--no-demo"),
        ({"demo": True}, "demo", Level.OK, "this machine"),
        (PUBLIC | {"demo": True}, "demo", Level.DANGER, "--no-demo"),
        (PUBLIC, "introspection", Level.WARNING, "--no-introspection"),
        (PUBLIC | {"introspection": False}, "introspection", Level.OK, "off"),
        (
            PUBLIC | {"introspection": False, "serve_schema": True},
            "introspection",
            Level.WARNING,
            "/schema.graphql",
        ),
        ({}, "costs", Level.OK, "only staff"),
        (PUBLIC | {"show_cost": True}, "costs", Level.OK, "every client"),
        ({}, "table", Level.OK, "the server"),
        ({}, "backup", Level.OK, "no data yet"),
        ({"aws": True}, "backup", Level.OK, "DynamoDB's backups"),
    ],
)
async def test_settings_and_the_files_and_services_that_they_name_are_checked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    subject: str,
    level: Level,
    words: str,
) -> None:
    if subject != "table":
        monkeypatch.setattr(checks, "store", nothing)
    found = await report(Settings(data_dir=tmp_path / "data", **given))
    assert found[subject].level is level
    assert words in found[subject].sentence
    assert not (tmp_path / "data").exists()


async def nothing(_: Settings) -> AsyncIterator[Finding]:
    """Yield no findings. This replaces the checks of the store, which other tests cover."""
    found: list[Finding] = []
    for one in found:
        yield one


async def report(settings: Settings) -> dict[str, Finding]:
    """Return the findings by their subject."""
    return {one.subject: one async for one in findings(settings)}


@pytest.fixture
def address() -> Iterator[str]:
    with run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


async def test_a_reachable_issuer_is_reported(address: str, tmp_path: Path) -> None:
    found = await checks.issuer(
        Settings(jwt_issuer=address, jwt_audience="us", data_dir=tmp_path / "data")
    )
    assert found.level is Level.OK


def test_files_that_other_users_can_read_are_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    settings = Settings(data_dir=tmp_path)
    data, secret = tmp_path / "marginalia.db", tmp_path / "jwt-secret"
    for path in (data, secret):
        path.touch(0o600)
    assert checks.permissions(settings).level is Level.OK
    data.chmod(0o644)
    assert str(data) in checks.permissions(settings).sentence
    assert checks.permissions(settings).level is Level.WARNING
    secret.chmod(0o640)
    assert f"chmod 600 {secret}" in checks.permissions(settings).sentence
    assert checks.permissions(settings).level is Level.DANGER
    tmp_path.chmod(0o700)
    assert checks.permissions(settings).level is Level.OK


@pytest.fixture
def place(table: Table, dynoxide_url: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    return Settings(endpoint_url=dynoxide_url, table=table.name)


async def test_a_missing_or_unreachable_table_is_reported(place: Settings) -> None:
    (found,) = [one async for one in checks.store(replace(place, table="missing"))]
    assert (found.level, found.subject) == (Level.DANGER, "table")
    assert "`marginalia table create`" in found.sentence


async def test_a_table_without_an_index_is_reported(place: Settings, table: Table) -> None:
    definition = table_definition(f"{table.name}-old", INDEXES)
    index = definition["GlobalSecondaryIndexes"].pop()
    kept = [*definition["GlobalSecondaryIndexes"], *definition["LocalSecondaryIndexes"]]
    used = {key["AttributeName"] for one in kept for key in one["KeySchema"]} | {"PK", "SK"}
    definition["AttributeDefinitions"] = [
        one for one in definition["AttributeDefinitions"] if one["AttributeName"] in used
    ]
    await table.once("create_table", **definition)
    older = replace(place, table=f"{table.name}-old")
    found = {one.subject: one async for one in checks.store(older)}
    assert found["table"].level is Level.DANGER
    assert index["IndexName"] in found["table"].sentence


async def test_an_index_that_is_being_created_is_reported(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engines create an index at once, so a fake description is needed."""
    description = await admin.describe(table)
    assert (await checks.indexes(table)).level is Level.OK
    description["GlobalSecondaryIndexes"][0] |= {"IndexStatus": "CREATING", "Backfilling": True}

    async def describe(_: Table) -> dict[str, Any]:
        return description

    monkeypatch.setattr(admin, "describe", describe)
    assert (await checks.indexes(table)).level is Level.WARNING


async def test_inexact_counts_are_reported(table: Table) -> None:
    store = MaintenanceStore(table)
    await create_table(table)
    assert (await checks.counts(table)).level is Level.OK
    state = await store.read()
    for change, words in (
        ({"complete": False}, "not all comments"),
        ({"rebuilding": True}, "not finished"),
        ({"mode": MaintenanceMode.STREAM, "complete": False}, "no counts"),
    ):
        await store.announce(await store.read(), **{"rebuilding": False} | change)
        found = await checks.counts(table)
        assert (found.level, words in found.sentence) == (Level.WARNING, True), found
    assert state != Maintenance()
    item = await table.get(KEY)
    assert item is not None
    await table.put_many([{**item, "complete": {"S": "another"}}])
    assert "a copy" in (await checks.counts(table)).sentence


async def test_an_unreadable_directory_is_a_warning(tmp_path: Path) -> None:
    """The directory's name is too long, so that even root cannot read it."""
    found = await report(Settings(data_dir=tmp_path / ("x" * 300)))
    for subject in ("files", "table"):
        assert found[subject].level is Level.WARNING
        assert "File name too long" in found[subject].sentence


async def test_the_time_of_the_last_backup_is_reported(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    async with open_table(settings, share=False):
        found = checks.backup(settings)
        assert (found.level, found.subject) == (Level.WARNING, "backup")
        assert "`marginalia backup FILE`" in found.sentence
        for name in ("monday.db", "tuesday.db"):
            began = datetime.now(UTC)
            outcome = called("backup", tmp_path / name, "--data-dir", settings.data_dir)
            assert outcome.returncode == 0, outcome
            last = DataDirectory(settings.data_dir).last_backup()
            assert last is not None
            assert began <= last.at <= datetime.now(UTC)
            found = checks.backup(settings)
            assert (found.level, found.subject) == (Level.OK, "backup")
            assert f"{last.at:%Y-%m-%d %H:%M} UTC: {tmp_path / name}." in found.sentence
        refused = called("backup", tmp_path / name, "--data-dir", settings.data_dir)
        assert refused.returncode == USAGE
        assert DataDirectory(settings.data_dir).last_backup() == last
    record = settings.data_dir / "marginalia.backup"
    for age, level in ((timedelta(hours=47), Level.OK), (timedelta(days=120), Level.WARNING)):
        old = {"at": (datetime.now(UTC) - age).isoformat(), "file": "old.db"}
        record.write_text(json.dumps(old))
        assert checks.backup(settings).level is level
    record.write_text("{")
    assert checks.backup(settings).level is Level.WARNING


def test_a_danger_has_the_exit_code_1(tmp_path: Path) -> None:
    fine = called("serve", "--check", "--data-dir", tmp_path / "data")
    assert (fine.returncode, fine.stderr) == (0, "")
    assert fine.stdout.startswith("ok       TLS            not needed")
    danger = called("serve", "--check", "--host", "0.0.0.0", "--data-dir", tmp_path / "data")
    assert danger.returncode == 1
    assert danger.stdout.startswith("danger   TLS            ")
    assert list(tmp_path.iterdir()) == []
