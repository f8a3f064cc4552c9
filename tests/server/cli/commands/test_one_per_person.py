"""``marginalia table one-per-person`` on the command line."""

import asyncio
import json
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from server.cli.main import build
from tests.strategies import comment

COUNTED = (
    "Comments whose author has a newer comment on the same product: 1. They stay. "
    "To list them, run `marginalia table one-per-person on --list`."
)


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
        assert await said("table", "one-per-person", "on") == [
            f"Table {table.name}: a person may have one comment on each product.",
            COUNTED,
        ]
        assert await said("table", "one-per-person", "on", "--list") == ["42\tann\tolder"]
    assert (await said("table", "describe"))[-1] == (
        "A person may have one comment on each product."
    )
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
    assert reject["reason"].startswith("the author has another comment on the product")
    assert await said("table", "one-per-person", "off") == [
        f"Table {table.name}: a person may have any number of comments."
    ]
