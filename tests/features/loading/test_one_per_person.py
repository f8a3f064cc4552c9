"""A load adds no second comment of a person on a product, if the table allows only one."""

import asyncio
import json
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from server.cli.main import build
from tests.features.loading.bulk import load_rows
from tests.strategies import comment


async def test_a_load_adds_no_second_comment_of_a_person(
    table: Table,
    tmp_path: Path,
    store: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)

    async def run(*arguments: str) -> object:
        command = build(list(arguments))
        return await asyncio.to_thread(command, [*arguments, *store], standalone_mode=False)

    await load_rows(Stores(table).comments, [comment("first", username="ann")])
    await run("table", "one-per-person", "on")
    (tmp_path / "more.csv").write_text(
        "id,product_id,username,rating,language,text,created_at\n"
        "third,42,ann,5,en,Good.,2024-01-01T00:00:00Z\n"
    )
    assert await run("load", str(tmp_path / "more.csv")) == 1
    rejects = tmp_path / "more.csv.rejects.jsonl"
    assert capsys.readouterr().out.endswith(
        f"more.csv: 0 new, 0 changed, 0 unchanged, 1 rejected, see {rejects}.\n"
    )
    (reject,) = map(json.loads, rejects.read_text().splitlines())
    assert (reject["line"], reject["row"]["id"]) == (2, "third")
    assert "another comment" in reject["reason"]
