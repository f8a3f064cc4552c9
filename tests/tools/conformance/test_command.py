"""``python -m tools.conformance`` on small servers with and without faults."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.serving import called_as
from tests.tools.conformance.faults import IgnoresABadCursor, SkipsARow
from tests.tools.conformance.notes import CONNECTION, DELETE, INSERT, Notes, listening
from tools.conformance.__main__ import main
from tools.conformance.checks import CHECKS

KEY = ("--header", "Key: of notes")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with listening(Notes()) as url:
        yield url


def run(url: str, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return called_as("conformance", main, url, *options, **settings)


def test_a_conforming_server_passes_all_checks(url: str, tmp_path: Path) -> None:
    (tmp_path / "insert.graphql").write_text(INSERT)
    insert = f"@{tmp_path / 'insert.graphql'}"
    said = run(url, *KEY, "--connection", CONNECTION, "--insert", insert, "--delete", DELETE)
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("✓") == len(CHECKS)
    summary = f"{len(CHECKS)} pass, 0 'must' and 0 'should' fail, 0 are skipped."
    assert summary in " ".join(said.stdout.split())


def test_a_fault_is_printed_with_its_request_and_the_paragraph() -> None:
    with listening(SkipsARow()) as url:
        said = run(url, *KEY, "--connection", CONNECTION, COLUMNS="200")
    assert said.returncode == 1
    assert "✗ after-cursor" in said.stdout
    for part in (
        "The page should have rows 2 to 4 of the list's 13 rows.",
        'expected: ["note-12", "note-11", "note-10"]',
        "notes(first: $first, after: $after) {",
        'variables: {"first": 3, "after": "13"}',
        "https://relay.dev/graphql/connections.htm#sec-Edge-order",
    ):
        assert part in said.stdout


def test_a_failed_should_changes_the_exit_code_only_with_strict() -> None:
    with listening(IgnoresABadCursor()) as url:
        arguments = (url, *KEY, "--connection", CONNECTION)
        said = run(*arguments)
        assert said.returncode == 0
        assert "! bad-cursor-refused" in said.stdout
        assert run(*arguments, "--strict").returncode == 1


def test_without_an_option_the_connections_are_listed(url: str) -> None:
    said = run(url, *KEY)
    assert said.returncode == 1
    assert said.stderr == (
        f"conformance: Choose a connection with --connection. {url} has: {CONNECTION}.\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--connection", "nots"), "--connection: Query has no field nots. The connections are"),
        (("--connection", "notes(size: 3)"), "--connection: Unknown argument 'size' on field"),
        (("--connection", "notes", "--delete", DELETE), "--delete deletes the rows that --insert"),
        (("--connection", "notes", "--insert", "{ a }"), "--insert is not a mutation"),
        (("--connection", "notes", "--insert", "@nowhere"), "nowhere cannot be read: No such file"),
        (("--connection", "notes", "--most", "5"), "The list has more than 5 rows"),
        (
            ("--connection", "notes", "--header", "Key"),
            "--header 'Key' is not a header: write it as",
        ),
        (
            ("--connection", "notes", "--insert", INSERT, "--delete", DELETE.replace("id", "no")),
            "--delete takes $no, but the response of --insert has no no",
        ),
    ],
)
def test_a_bad_option_is_one_sentence(url: str, options: tuple[str, ...], sentence: str) -> None:
    said = run(url, *KEY, *options)
    assert said.returncode == 1
    assert said.stderr.startswith(f"conformance: {sentence}")
    assert said.stderr.count("\n") == 1


def test_a_wrong_url_is_reported(url: str) -> None:
    said = run(url.replace("/graphql", "/other"), *KEY, "--connection", CONNECTION)
    assert "does not return its schema (status 404: Not a GraphQL response" in said.stderr
    said = run("http://127.0.0.1:9/graphql", "--connection", CONNECTION)
    assert "http://127.0.0.1:9/graphql does not answer" in said.stderr


def test_a_list_of_two_rows_is_refused() -> None:
    notes = Notes()
    del notes.rows[2:]
    with listening(notes) as url:
        said = run(url, *KEY, "--connection", CONNECTION)
    assert said.stderr.startswith(
        "conformance: The list has 2 rows, and most checks need at least 3"
    )
