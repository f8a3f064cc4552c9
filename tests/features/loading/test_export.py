"""``marginalia export`` on the command line."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.table.items import primary_key
from tests import oracle
from tests.features.loading.bulk import load_rows
from tests.moderating import held_for
from tests.organizations import TICKETS, fill
from tests.server.local_engine.test_private_files import open_to_others
from tests.server.serving import AWS, MARGINALIA, called, environment, marginalia

ROWS = oracle.make_comments("42", 30, seed=5)


@pytest.fixture
async def store(table: Table, dynoxide_url: str) -> list[str]:
    """The options that select a table with comments, organisations and tickets."""
    stores = Stores(table)
    await load_rows(stores.comments, ROWS)
    await fill(stores)
    return ["--endpoint-url", dynoxide_url, "--table", table.name]


def export(*arguments: str | Path) -> tuple[int, str, str]:
    ended = called("export", *arguments, **AWS)
    return ended.returncode, ended.stdout, ended.stderr


def names_in(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_a_directory_gets_a_file_of_each_kind(tmp_path: Path, store: list[str]) -> None:
    out = tmp_path / "new" / "out"
    code, output, errors = export("--output", out, *store)
    assert (code, errors) == (0, "")
    assert output.startswith(
        f"{out}: 30 comments, 0 orders, 2 organizations, {len(TICKETS)} tickets, 0 profiles, "
        "0 products, 0 reports, 0 cases, 0 votes, as they were"
    )
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["begun"] < manifest["ended"]
    assert {(out / f"{kind}.jsonl").stat().st_mode & 0o777 for kind in manifest["files"]} == {0o600}
    assert manifest["files"]["comments"] == {
        "file": "comments.jsonl",
        "rows": 30,
        "unreadable": 0,
        "left_out": 0,
    }
    code, _, errors = export("--output", out, *store)
    assert code == 2
    assert errors.startswith(f"marginalia: {out}/comments.jsonl exists: ")
    assert "--force" in errors
    assert export("--output", out, "--force", *store)[0] == 0


def test_the_name_of_a_file_for_one_kind_sets_the_format(tmp_path: Path, store: list[str]) -> None:
    file = tmp_path / "tickets.csv"
    assert export("-o", file, "--kind", "tickets", *store)[0] == 0
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {row["id"] for row in rows} == {one.ticket_id for one in TICKETS}
    assert names_in(tmp_path) == ["tickets.csv", "tickets.csv.manifest.json"]
    assert export("-o", tmp_path, "--kind", "comments", *store)[0] == 0
    assert len((tmp_path / "comments.jsonl").read_text().splitlines()) == 30


HELD = ROWS[0]._replace(comment_id="held")


async def test_standard_output_has_only_the_rows(table: Table, store: list[str]) -> None:
    await Stores(table).comments.add(HELD, hold=held_for(ReviewCause.WORDS))
    ended = marginalia("export", "-o", "-", "--kind", "comments", *store, **AWS)
    assert ended.returncode == 0
    assert ended.stderr.startswith("standard output: 30 comments, as they were")
    assert "--all-states" in ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {row["id"] for row in rows} == {one.comment_id for one in ROWS}


def streamed(output: int, store: list[str]) -> tuple[int, bytes]:
    command = [str(MARGINALIA), "export", "-o", "-", "--kind", "comments", *store]
    outcome = subprocess.run(
        command, env=environment(**AWS), stdout=output, stderr=subprocess.PIPE, check=False
    )
    os.close(output)
    return outcome.returncode, outcome.stderr


def test_a_closed_pipe_ends_the_export_without_a_message(store: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert streamed(writing, store) == (1, b"")


def test_a_full_disk_is_reported_once(store: list[str]) -> None:
    code, errors = streamed(os.open("/dev/full", os.O_WRONLY), store)
    assert (code, errors.count(b"\n")) == (2, 1)
    assert errors.startswith(b"marginalia: Standard output accepts no more data (No space left")


async def test_comments_in_all_states_are_exported_on_request(
    table: Table, tmp_path: Path, store: list[str]
) -> None:
    await Stores(table).comments.add(HELD, hold=held_for(ReviewCause.WORDS))
    out, all_of_them = tmp_path / "c.csv", tmp_path / "all.csv"
    code, output, errors = export("-o", out, "--kind", "comments", *store)
    assert (code, errors) == (0, "")
    assert "1 comment. Add --all-states" in output
    code, output, errors = export("-o", all_of_them, "--all-states", "--kind", "comments", *store)
    assert (code, errors) == (0, "")
    assert "left out" not in output
    with all_of_them.open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert len(rows) == 31
    assert (rows["held"]["state"], rows["held"]["cause"]) == ("PENDING", "WORDS")
    code, _, errors = export("-o", tmp_path / "o", "--all-states", "--kind", "orders", *store)
    assert code == 2
    assert errors.startswith("marginalia: --all-states ")
    assert " orders" in errors


def test_the_help_shows_what_parquet_requires() -> None:
    ended = called("export", "--help")
    assert ended.returncode == 0
    assert "[analytics]'" in " ".join(ended.stdout.split())


async def test_contradicting_options_of_an_export_are_refused_in_one_line(
    tmp_path: Path, store: list[str], table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, message in (
        (
            ("-o", tmp_path / "reviews.csv"),
            f"{tmp_path / 'reviews.csv'} is ",
        ),
        (("-o", "-"), "Standard output "),
        (("-o", "-", "--kind", "orders", "--format", "parquet"), "Parquet cannot be "),
        (("-o", tmp_path / "no", "--table", "none"), "The table "),
    ):
        code, _, errors = export(
            *arguments, *store[:2], *(() if "--table" in arguments else store[2:])
        )
        assert (code, errors.startswith(f"marginalia: {message}")) == (2, True), errors
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "duckdb", None)
        code, _, errors = export("-o", tmp_path / "p", "--format", "parquet", *store)
    assert code == 2
    assert re.fullmatch(r"marginalia: .* DuckDB, .*`.*'\.\[analytics\]'`\.\n", errors)
    assert names_in(tmp_path) == []
    await table.put_many([primary_key("COMMENT#x")])
    code, output, errors = export("-o", tmp_path / "out", *store)
    assert (code, output.startswith(f"{tmp_path}/out: 30 comments")) == (1, True)
    assert errors.startswith("marginalia: The export lacks 1 item ")


def test_exported_files_are_private(tmp_path: Path, store: list[str]) -> None:
    assert export("--output", tmp_path / "out", *store)[0] == 0
    assert export("--output", tmp_path / "one.csv", "--kind", "orders", *store)[0] == 0
    made = [tmp_path / "out", *tmp_path.glob("one.csv*")]
    assert len(made) == 3
    assert open_to_others(*made) == []
