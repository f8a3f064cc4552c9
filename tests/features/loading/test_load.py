"""``marginalia load`` on the command line, with real engines."""

import contextlib
import gzip
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import tomllib
import uuid
from asyncio import sleep, timeout
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import psutil
import pytest

from dal.dynamodb.table import Table
from dal.repositories.comments import CommentRepository
from features.loading.source import open_source
from server.errors import CommandError
from tests.engines import ROOT
from tests.features.loading.loading import load
from tests.features.loading.reading import jsonl, row
from tests.features.loading.samples import SAMPLES
from tests.server.serving import AWS, MARGINALIA, called, environment, served


def put(directory: Path, name: str, content: bytes | str) -> Path:
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def names_in(directory: Path) -> list[str]:
    return [entry.name for entry in directory.iterdir()]


@contextlib.contextmanager
def fed(store: Sequence[str], rows: Sequence[object]) -> Iterator[subprocess.Popen[str]]:
    """Run a load of standard input. It has received ``rows``, and waits for more."""
    with subprocess.Popen(
        [MARGINALIA, "load", "-", "--format", "jsonl", *store],
        env=environment(**AWS),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        assert process.stdin is not None
        process.stdin.write("".join(f"{json.dumps(one)}\n" for one in rows))
        process.stdin.flush()
        try:
            yield process
        finally:
            process.kill()


async def test_a_csv_with_other_column_names_is_loaded(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    content = (
        "\ufeffId,ProductId,ProfileName,Score,Time,Summary,Text\r\n"
        '1,B1,"Ann ""A."" Lee",5,1303862400,Good,"Two\r\nlines"\r\n'
        "2,B1,bo,1,1303862400,,Bad\r\n"
        "3,B1,bo,1,1303862400,,\r\n"
    )
    path = put(tmp_path, "reviews.csv", content)
    pairs = (
        "id=Id product_id=ProductId username=ProfileName rating=Score created_at=Time "
        "title=Summary text=Text"
    )
    options = [part for pair in pairs.split() for part in ("--map", pair)]
    for tally in ("3 new, 0 changed, 0 unchanged", "0 new, 0 changed, 3 unchanged"):
        output = f"{path}: {tally}, 0 rejected.\n"
        assert load(path, store, *options, "--set", "language=EN") == (0, output, "")
    assert names_in(tmp_path) == [path.name]
    comment = await comments.get("1")
    assert comment is not None
    assert (comment.username, comment.language) == ('Ann "A." Lee', "en")
    assert comment.text == "Two\r\nlines"
    alone = await comments.get("3")
    assert alone is not None
    assert alone.text == ""
    assert comment.created_at.isoformat() == "2011-04-27T00:00:00+00:00"


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("column", ["id", "product_id", "username"])
async def test_a_row_with_a_global_id_is_rejected_until_it_has_the_decoded_id(
    tmp_path: Path, store: list[str], comments: CommentRepository, column: str, suffix: str
) -> None:
    """The API could never return the comment: it refuses global ids in the place of own ids."""
    other = {"id": "Comment:1", "product_id": "Product:1", "username": "User:1"}[column]
    given = {**row("1"), column: b64encode(other.encode()).decode()}
    lines = [",".join(given), ",".join(map(str, given.values()))]
    path = put(tmp_path, f"c.{suffix}", jsonl([given]) if suffix == "jsonl" else "\n".join(lines))
    code, output, _ = load(path, store)
    assert code == 1
    assert output.startswith(f"{path}: 0 new, 0 changed, 0 unchanged, 1 rejected")
    rejects = tmp_path / f"c.{suffix}.rejects.jsonl"
    reason = json.loads(rejects.read_text())["reason"]
    assert reason.startswith(f"{column} {given[column]!r} ")
    assert repr(other) in reason
    rejects.write_text(rejects.read_text().replace(f'"{given[column]}"', '"1"'))
    assert load(rejects, store)[0] == 0
    assert await comments.get("1") is not None


async def test_invalid_rows_are_written_to_a_file_fixed_and_loaded(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    broken = json.dumps(row("5"))[1:]
    rows = [row("1"), row("2", rating=7), row("3", created_at="soon"), row("4")]
    path = put(tmp_path, "c.jsonl", f"{jsonl(rows)}{broken}\n")
    code, output, errors = load(path, store)
    rejects = tmp_path / "c.jsonl.rejects.jsonl"
    assert code == 1
    assert output == f"{path}: 2 new, 0 changed, 0 unchanged, 3 rejected, see {rejects}.\n"
    entries = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert errors.splitlines() == [f"{path}:{one['line']}: {one['reason']}" for one in entries]
    assert [(one["line"], one.get("row"), one.get("raw")) for one in entries] == [
        (2, rows[1], None),
        (3, rows[2], None),
        (5, None, broken),
    ]
    for one, fault in zip(
        entries, ("rating is 7;", "created_at is 'soon';", "column 5: "), strict=True
    ):
        assert fault in one["reason"]
    fixed = rejects.read_text().replace("7", "4").replace('"soon"', "1605873600")
    rejects.write_text(fixed.replace('"raw": "', '"raw": "{').replace('"raw":"', '"raw":"{'))
    output = f"{rejects}: 3 new, 0 changed, 0 unchanged, 0 rejected.\n"
    assert load(rejects, store) == (0, output, "")
    ids = ["1", "2", "3", "4", "5"]
    assert sorted(await comments.get_many(ids)) == ids


def test_only_the_first_of_many_invalid_rows_are_printed(tmp_path: Path, store: list[str]) -> None:
    path, rejects = put(tmp_path, "c.jsonl", "{broken\n" * 1_500), tmp_path / "r"
    code, output, errors = load(path, store, "--rejects", rejects)
    assert code == 1
    assert output == f"{path}: 0 new, 0 changed, 0 unchanged, 1,500 rejected, see {rejects}.\n"
    assert len(rejects.read_text().splitlines()) == 1_500
    assert len(errors.splitlines()) == 21
    assert errors.endswith("… and 1,480 rows more.\n")


async def test_different_rows_with_one_id_are_reported(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    rows = [row(f"r{number}", reviewer="ana", text=f"no. {number}") for number in range(5)]
    path = put(tmp_path, "c.jsonl", jsonl(rows))
    code, output, errors = load(path, store, "--map", "id=reviewer")
    assert (code, errors) == (1, "")
    counts, shared = output.splitlines()
    assert counts == f"{path}: 1 new, 4 changed, 0 unchanged, 0 rejected; columns not used: id."
    assert shared.startswith("5 rows share 1 id but differ (lines 1, 2, 3, 4, 5)")
    comment = await comments.get("ana")
    assert comment is not None
    assert comment.text == "no. 4"
    output = f"{path}: 5 new, 0 changed, 0 unchanged, 0 rejected; columns not used: id.\n"
    assert load(path, store, "--id-from", "reviewer, text") == (0, output, "")


def test_repeated_equal_rows_are_not_reported(tmp_path: Path, store: list[str]) -> None:
    path = put(tmp_path, "c.jsonl", jsonl([row("1"), row("1"), row("2")]))
    output = f"{path}: 2 new, 0 changed, 1 unchanged, 0 rejected.\n"
    assert load(path, store) == (0, output, "")


async def test_invalid_photos_are_dropped_and_reported(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    good, old = "https://p.example/1.jpg", "http://p.example/2.jpg"
    rows = [row("1", photos=[good, old]), row("2", photos=[{"url": good, "alt": "x" * 201}])]
    path = put(tmp_path, "c.jsonl", jsonl(rows))
    code, output, errors = load(path, store)
    assert (code, errors) == (0, "")
    counts, dropped = output.splitlines()
    assert counts == f"{path}: 2 new, 0 changed, 0 unchanged, 0 rejected."
    assert dropped.startswith(f"2 photos dropped, such as '{old}' in line 1: photos.1.url ")
    found = await comments.get_many(["1", "2"])
    assert [[photo.url for photo in found[one].photos] for one in ("1", "2")] == [[good], []]


async def test_standard_input_is_loaded(store: list[str], comments: CommentRepository) -> None:
    with fed(store, [row("1")]) as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert output == "standard input: 1 new, 0 changed, 0 unchanged, 0 rejected.\n"
    assert await comments.get("1") is not None


async def test_options_come_from_the_environment_too(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    path = put(tmp_path, "c", jsonl([row("1", language="de", Body="mapped")]))
    settings = {
        "MARGINALIA_ENDPOINT_URL": store[1],
        "MARGINALIA_TABLE": store[3],
        "MARGINALIA_MAP": "text=Body title=Body",
        "MARGINALIA_SET": "language=en",
        "MARGINALIA_FORMAT": "jsonl",
    }
    ended = called("load", path, **AWS, **settings)
    assert ended.returncode == 0, ended.stderr
    comment = await comments.get("1")
    assert comment is not None
    assert (comment.text, comment.title, comment.language) == ("mapped", "mapped", "en")


@pytest.mark.parametrize("name", ["c.csv", "c.jsonl"])
def test_an_empty_file_has_no_rows(tmp_path: Path, store: list[str], name: str) -> None:
    path = put(tmp_path, name, "")
    assert load(path, store) == (0, f"{path} is empty: 0 rows loaded.\n", "")


REFUSED = tomllib.loads((ROOT / "tests/fixtures/load_refusals.toml").read_text("utf-8"))["refused"]
"""Loads that cannot start. The importer's tests check the other messages about a file's content."""


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["message"][:40])
def test_a_load_that_cannot_start_ends_with_one_sentence(
    tmp_path: Path, case: dict[str, str]
) -> None:
    if "sample" in case:
        name, made = SAMPLES[case["sample"]]
        path = put(tmp_path, name, made())
    else:
        path = put(tmp_path, case["file"], case["content"])
    data, options = tmp_path / "data", shlex.split(case["options"])
    code, output, errors = load(path, ["--data-dir", str(data)], *options)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"marginalia: {case['message'].replace('PATH', str(path))}")
    assert not data.exists()


def test_an_unreadable_file_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.touch(mode=0)
    rank = os.geteuid()
    with contextlib.ExitStack() as stack:
        if rank == 0:  # root may read every file, so the test becomes another user
            os.seteuid(65534)
            stack.callback(os.seteuid, rank)
        caught = stack.enter_context(pytest.raises(CommandError))
        stack.enter_context(open_source(path))
    assert str(caught.value).startswith(f"{path} cannot be read ")


def test_a_full_disk_for_the_rejects_is_reported(tmp_path: Path, store: list[str]) -> None:
    path = put(tmp_path, "c.jsonl", "{broken\n")
    code, output, errors = load(path, store, "--rejects", "/dev/full")
    assert (code, output) == (2, "")
    (last,) = errors.splitlines()[1:]
    assert re.match(r"marginalia: .* /dev/full \(No space left on device\): .* --rejects; ", last)
    assert "at least 0 rows written" in last


def test_an_incomplete_file_reports_what_was_written(tmp_path: Path, store: list[str]) -> None:
    rows = jsonl([row(str(number), n=number**9) for number in range(3_000)])
    path = put(tmp_path, "c.jsonl.gz", gzip.compress(rows.encode(), mtime=0)[:-5_000])
    code, output, errors = load(path, store)
    assert (code, output) == (2, "")
    *_, last = errors.splitlines(
        keepends=True
    )  # on a slow machine, lines of progress precede the message
    first, _, rest = last.partition("; at least ")
    assert first.startswith(f"marginalia: {path} is incomplete: ")
    assert 0 < int(rest.partition(" rows written")[0].replace(",", "")) < 3_000


async def until_idle(
    process: subprocess.Popen[str], comments: CommentRepository, comment_id: str
) -> None:
    """Wait until a comment is stored and a process has used no processor time for a while."""
    watched, quiet, before = psutil.Process(process.pid), 0, -1.0
    stored = False
    async with timeout(60):
        while quiet < 10:  # then the load has also received the store's responses
            await sleep(0.02)
            if not stored:
                stored = await comments.get(comment_id) is not None
                continue
            used = sum(watched.cpu_times()[:2])
            sleeps = watched.status() == psutil.STATUS_SLEEPING
            quiet, before = (quiet + 1 if sleeps and used == before else 0), used


async def test_ctrl_c_ends_a_load_that_waits_for_a_pipe(
    store: list[str], comments: CommentRepository
) -> None:
    with fed(store, [row(str(number)) for number in range(450)]) as process:
        await until_idle(process, comments, "399")
        process.send_signal(signal.SIGINT)  # more rows could still arrive
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(60) == 130
    assert errors.startswith("marginalia: stopped; at least 400 rows written.")
    assert errors.count("\n") == 1


async def test_a_store_that_fails_during_a_load_is_reported(
    store: list[str], table: Table, comments: CommentRepository
) -> None:
    with fed(store, [row(str(number)) for number in range(200)]) as process:
        await until_idle(process, comments, "199")
        await table.call("delete_table")
        _, errors = process.communicate(jsonl([row("200")]), timeout=60)
        assert process.returncode == 2
    assert re.match("marginalia: .* `marginalia table create`; at least 200 rows written", errors)
    assert errors.count("\n") == 1


def test_a_terminal_shows_a_progress_bar(tmp_path: Path, store: list[str]) -> None:
    rows = [row(str(number), rating=number % 6) for number in range(1_000)]
    path = put(tmp_path, "c.jsonl", jsonl(rows))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [MARGINALIA, "load", path, *store],
        env=environment(**AWS, TERM="xterm", COLUMNS="200"),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        # Linux reports the end of a terminal's output as an error
        with contextlib.suppress(OSError):
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert process.returncode == 1
    assert b" rows, 167 rejected" in shown
    assert f"{path}:1: rating is 0;".encode() in shown


def test_a_load_creates_the_data_directory(tmp_path: Path) -> None:
    path = put(tmp_path, "c.jsonl", jsonl([row("1")]))
    output = f"{path}: 1 new, 0 changed, 0 unchanged, 0 rejected.\n"
    assert load(path, ["--data-dir", str(tmp_path / "data")]) == (0, output, "")


def test_a_load_runs_while_a_server_runs(tmp_path: Path) -> None:
    rows = [row(uuid.uuid4().hex, product_id="42") for _ in range(3)]
    path = put(tmp_path, "c.jsonl", jsonl(rows))
    query = '{ product(productId: "42") { comments { nodes { text } } } }'
    with served(tmp_path / "data") as server:
        code, _, errors = load(path, ["--data-dir", str(tmp_path / "data")])
        assert code == 0, errors
        answer = httpx.post(f"{server.url}/graphql", json={"query": query}, timeout=60).json()
    assert len(answer["data"]["product"]["comments"]["nodes"]) == 3
