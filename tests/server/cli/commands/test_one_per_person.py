"""``marginalia table one-per-person`` on the command line."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from server.cli.main import build
from tests.strategies import comment


def run(*arguments: str) -> object:
    """Run a command in this process."""
    return build(list(arguments))(arguments, standalone_mode=False)


async def test_the_command_lists_the_older_comments_and_a_load_adds_no_second_comment(
    table: Table,
    dynoxide_url: str,
    tmp_path: Path,
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
    await Stores(table).comments.put_many(rows)
    for _ in range(2):
        changed, counted = await said("table", "one-per-person", "on")
        assert changed.startswith(f"Table {table.name}: ")
        assert re.search(": 1. .*one-per-person on --list`", counted)
        assert await said("table", "one-per-person", "on", "--list") == ["42\tann\tolder"]
    described = (await said("table", "describe"))[-1]
    assert changed.lower().endswith(described.lower())
    (tmp_path / "more.csv").write_text(
        "id,product_id,username,rating,language,text,created_at\n"
        "third,42,ann,5,en,Good.,2024-01-01T00:00:00Z\n"
    )
    assert await asyncio.to_thread(run, "load", str(tmp_path / "more.csv"), *store) == 1
    rejects = tmp_path / "more.csv.rejects.jsonl"
    assert capsys.readouterr().out.endswith(
        f"more.csv: 0 new, 0 changed, 0 unchanged, 1 rejected, see {rejects}.\n"
    )
    (reject,) = map(json.loads, rejects.read_text().splitlines())
    assert (reject["line"], reject["row"]["id"]) == (2, "third")
    assert "another comment" in reject["reason"]
    (off,) = await said("table", "one-per-person", "off")
    assert off.startswith(f"Table {table.name}: ")
    assert off != changed
