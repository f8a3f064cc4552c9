"""``marginalia load`` as a person runs it, on real engines."""

import asyncio
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import httpx
import psutil
import pytest

from dal.client.table import Table
from dal.repositories.comments import CommentRepository
from server.cli import main
from server.errors import CommandError
from server.importer.source import open_source
from tests.server.importer.reading import HEADER, jsonl, row
from tests.server.serving import MARGINALIA, called, environment, served

AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "local",
}


@pytest.fixture
def store(table: Table, dynoxide_url: str) -> list[str]:
    """The options that lead to the fresh table of this test."""
    return ["--endpoint-url", dynoxide_url, "--table", table.name]


def load(path: Path | str, store: Sequence[str], *options: str | Path) -> tuple[int, str, str]:
    ended = called("load", path, *store, *options, **AWS)
    return ended.returncode, ended.stdout, ended.stderr


def refusal(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> str:
    """Return the one sentence with which the command line refuses ``arguments``."""
    monkeypatch.setattr(sys, "argv", ["marginalia", "load", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught, redirect_stderr(StringIO()) as complained:
        main.main()
    assert caught.value.code == 2
    sentence = complained.getvalue().removesuffix("\n")
    assert sentence.startswith("marginalia: ")
    assert "\n" not in sentence
    return sentence.removeprefix("marginalia: ")


def names_in(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


@contextlib.contextmanager
def fed(store: Sequence[str], rows: Sequence[object]) -> Iterator[subprocess.Popen[str]]:
    """Run a load of standard input that has got ``rows`` and waits for more."""
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


async def test_a_csv_with_columns_of_its_own(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text(
        "\ufeffId,ProductId,ProfileName,Score,Time,Summary,Text\r\n"
        '1,B1,"Ann ""A."" Lee",5,1303862400,Good,"Two\r\nlines"\r\n'
        "2,B1,bo,1,1303862400,,Bad\r\n",
        encoding="utf-8",
        newline="",
    )
    pairs = (
        "id=Id product_id=ProductId username=ProfileName rating=Score created_at=Time "
        "title=Summary text=Text"
    )
    options = [part for pair in pairs.split() for part in ("--map", pair)]
    for tally in ("2 new, 0 changed, 0 unchanged", "0 new, 0 changed, 2 unchanged"):
        code, said, errors = load(path, store, *options, "--set", "language=EN")
        assert (code, errors) == (0, "")
        assert said == f"{path}: {tally}, 0 rejected.\n"
    assert names_in(tmp_path) == ["reviews.csv"]
    comment = await comments.get("1")
    assert comment is not None
    assert (comment.username, comment.language) == ('Ann "A." Lee', "en")
    assert comment.text == "Two\r\nlines"
    assert comment.created_at.isoformat() == "2011-04-27T00:00:00+00:00"


async def test_bad_rows_are_set_aside_mended_and_loaded(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(jsonl([row("1"), row("2", rating=7), row("3", created_at="soon"), row("4")]))
    code, said, errors = load(path, store)
    rejects = tmp_path / "c.jsonl.rejects.jsonl"
    assert code == 1
    assert said == f"{path}: 2 new, 0 changed, 0 unchanged, 2 rejected, see {rejects}.\n"
    assert errors.splitlines() == [
        f"{path}:2: rating is 7; it goes from 1 to 5.",
        (
            f"{path}:3: created_at is 'soon'; it must be a date such as 2020-11-20T12:00:00Z, "
            "or unix seconds."
        ),
    ]
    rejects.write_text(rejects.read_text().replace("7", "4").replace('"soon"', "1605873600"))
    said = f"{rejects}: 2 new, 0 changed, 0 unchanged, 0 rejected.\n"
    assert load(rejects, store) == (0, said, "")
    assert sorted(await comments.get_many(["1", "2", "3", "4"])) == ["1", "2", "3", "4"]


def test_a_flood_of_bad_rows_is_counted(tmp_path: Path, store: list[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text("{broken\n" * 1_500)
    code, said, errors = load(path, store, "--rejects", tmp_path / "r")
    assert code == 1
    assert said == (
        f"{path}: 0 new, 0 changed, 0 unchanged, 1,500 rejected, see {tmp_path / 'r'}.\n"
    )
    assert len(errors.splitlines()) == 21
    assert errors.endswith("… and 1,480 rows more.\n")


async def test_standard_input(store: list[str], comments: CommentRepository) -> None:
    with fed(store, [row("1")]) as process:
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert said == "standard input: 1 new, 0 changed, 0 unchanged, 0 rejected.\n"
    assert await comments.get("1") is not None


async def test_options_come_from_the_environment_too(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    path = tmp_path / "c"
    path.write_text(jsonl([row("1", language="de", Body="mapped")]))
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
    path = tmp_path / name
    path.touch()
    assert load(path, store) == (0, f"{path} is empty: 0 rows loaded.\n", "")


@pytest.mark.parametrize(
    ("name", "content", "options", "sentence"),
    [
        ("none.csv", None, [], "PATH is not there: check the path."),
        (
            "c.txt",
            b"id\n",
            [],
            "PATH does not tell its format by its name: add --format jsonl, csv, xml or parquet.",
        ),
        (
            "c.csv",
            "id,text".encode("utf-16-le"),
            [],
            "PATH is not UTF-8 but looks like UTF-16: add `--encoding utf-16-le`.",
        ),
        (
            "c.json",
            b'[{"id": 1}]',
            [],
            "PATH is one JSON array: write one object a line, with `jq -c '.[]'`.",
        ),
        (
            "c.csv",
            b"Id,Text\n",
            [],
            (
                "PATH has no column 'id' for id, only Id, Text: name one with `--map id=COLUMN` "
                "or make it of several with `--id-from COLUMN,COLUMN`."
            ),
        ),
        ("c.csv", b"id\n", ["--map", "Time"], "--map 'Time' is no pair: write it as FIELD=VALUE."),
        (
            "c.csv",
            b"id\n",
            ["--set", "language=klingonese"],
            (
                "--set is refused: language 'klingonese' is not a BCP 47 language tag such as "
                "'en' or 'pt-BR'."
            ),
        ),
        (
            "c.csv",
            HEADER.encode(),
            ["--rejects", "/proc/r"],
            (
                "/proc/r cannot be written (No such file or directory): "
                "name another file with --rejects."
            ),
        ),
    ],
)
def test_a_load_that_cannot_start_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes | None,
    options: list[str],
    sentence: str,
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    said = refusal(monkeypatch, path, *options, "--data-dir", tmp_path / "data")
    assert said == sentence.replace("PATH", str(path))
    assert not (tmp_path / "data").exists()


def test_unknown_choices_are_usage_errors(tmp_path: Path) -> None:
    for options in (["--kind", "gossip"], ["--format", "xls"], ["--date-unit", "h"]):
        ended = called("load", tmp_path / "c.csv", *options)
        assert ended.returncode == 2
        assert options[1] in ended.stderr


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Give up root's rights, which no file permission binds, until the block ends."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_without_permission_to_read_it(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.touch(mode=0)
    with unprivileged(), pytest.raises(CommandError) as caught, open_source(path):
        pass
    assert str(caught.value) == f"{path} may not be read by you: check its permissions."


def test_a_full_disk_for_the_rejects(tmp_path: Path, store: list[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text("{broken\n")
    code, said, errors = load(path, store, "--rejects", "/dev/full")
    assert (code, said) == (2, "")
    assert errors.splitlines()[1:] == [
        (
            "marginalia: /dev/full cannot take the rejected rows (No space left on device): "
            "name another file with --rejects; 0 rows written for certain; running the "
            "same command again is safe."
        )
    ]


async def until_stored(comments: CommentRepository, comment_id: str) -> None:
    for _ in range(3_000):
        if await comments.get(comment_id) is not None:
            return
        await asyncio.sleep(0.02)
    raise TimeoutError(f"{comment_id} was never stored")


async def until_idle(process: subprocess.Popen[str]) -> None:
    """Wait until a process has used no processor for a while: it has heard of what is stored."""
    watched, quiet, before = psutil.Process(process.pid), 0, -1.0
    async with asyncio.timeout(60):
        while quiet < 10:
            await asyncio.sleep(0.02)
            used = sum(watched.cpu_times()[:2])
            sleeps = watched.status() == psutil.STATUS_SLEEPING
            quiet, before = (quiet + 1 if sleeps and used == before else 0), used


async def test_ctrl_c_ends_a_load_that_waits_for_its_pipe(
    store: list[str], comments: CommentRepository
) -> None:
    with fed(store, [row(str(number)) for number in range(450)]) as process:
        await until_stored(comments, "399")
        await until_idle(process)
        process.send_signal(signal.SIGINT)  # the pipe stays open
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(60) == 130
    assert errors == (
        "marginalia: stopped; 400 rows written for certain; running the same command again is "
        "safe.\n"
    )


async def test_a_store_that_fails_midway(
    store: list[str], table: Table, comments: CommentRepository
) -> None:
    with fed(store, [row(str(number)) for number in range(200)]) as process:
        await until_stored(comments, "199")
        await until_idle(process)
        await table.call("delete_table")
        _, errors = process.communicate(jsonl([row("200")]), timeout=60)
        assert process.returncode == 2
    assert errors == (
        "marginalia: The table does not exist: run `marginalia table create`; 200 rows written for "
        "certain; running the same command again is safe.\n"
    )


def test_a_terminal_shows_a_bar(tmp_path: Path, store: list[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(jsonl([row(str(number), rating=number % 6) for number in range(1_000)]))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [MARGINALIA, "load", path, *store],
        env=environment(**AWS, TERM="xterm", COLUMNS="200"),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert process.returncode == 1
    assert b" rows, 167 rejected" in shown
    assert f"{path}:1: rating is 0; it goes from 1 to 5.".encode() in shown


def test_a_data_directory_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(jsonl([row("1")]))
    ended = called("load", path, "--data-dir", tmp_path / "data")
    assert (ended.returncode, ended.stdout) == (
        0,
        f"{path}: 1 new, 0 changed, 0 unchanged, 0 rejected.\n",
    )


def test_beside_a_running_server(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(jsonl([row(uuid.uuid4().hex, product_id="42") for _ in range(3)]))
    query = '{ product(productId: "42") { comments { nodes { text } } } }'
    with served(tmp_path / "data") as server:
        ended = called("load", path, "--data-dir", tmp_path / "data")
        assert ended.returncode == 0, ended.stderr
        answer = httpx.post(f"{server.url}/graphql", json={"query": query}, timeout=60).json()
    assert len(answer["data"]["product"]["comments"]["nodes"]) == 3
