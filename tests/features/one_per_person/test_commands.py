"""``marginalia table one-per-person`` on the command line."""

import asyncio
import re

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from server.cli.main import build
from tests.putting import put_comments
from tests.strategies import comment


def run(*arguments: str) -> object:
    """Run a command in this process."""
    return build(list(arguments))(arguments, standalone_mode=False)


async def test_the_command_lists_the_older_comments(
    table: Table,
    dynoxide_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    store = ("--endpoint-url", dynoxide_url, "--table", table.name)

    async def said(*arguments: str) -> list[str]:
        await asyncio.to_thread(run, *arguments, *store)
        return capsys.readouterr().out.splitlines()

    rows = [comment("older", username="ann"), comment("z-newer", username="ann")]
    await put_comments(Stores(table).comments, rows)
    for _ in range(2):
        changed, counted = await said("table", "one-per-person", "on")
        assert changed.startswith(f"Table {table.name}: ")
        assert re.search(": 1. .*one-per-person on --list`", counted)
        assert await said("table", "one-per-person", "on", "--list") == ["42\tann\tolder"]
    described = (await said("table", "describe"))[-1]
    assert changed.lower().endswith(described.lower())
    (off,) = await said("table", "one-per-person", "off")
    assert off.startswith(f"Table {table.name}: ")
    assert off != changed
