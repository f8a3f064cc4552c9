"""``python -m tools.bench speed`` from start to end, with one server and a few rows."""

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from dal.model import Comment
from tests.server.serving import called_as
from tools.bench.__main__ import main
from tools.bench.speed.generator import Answer
from tools.bench.speed.loads import comments_of
from tools.bench.speed.measurement import Script

OPTIONS = ("--loads", "three,one,add,html", "--clients", "2", "--rounds", "1", "--crowd", "3")
SHORT = ("--seconds", "0.1", "--requests", "3")


def few() -> list[Comment]:
    return [one for product in ("p1", "p2") for one in comments_of(product, 100)]


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with (
        mock.patch("tools.bench.speed.command.all_comments", few),
        mock.patch("tools.bench.report._WIDTH", 200),  # so that no cell needs two lines
    ):
        yield


def test_the_command_measures_every_load_and_counts_wrong_answers(tmp_path: Path) -> None:
    right = Script.right

    def strict(script: Script, number: int, answer: Answer) -> bool:
        # Replace the recorded responses of one load by other responses.
        return script.load.name != "one" and right(script, number, answer)

    with mock.patch.object(Script, "right", strict):
        done = called_as("bench", main, "speed", "--servers", "marginalia", *OPTIONS, *SHORT)
    assert done.returncode == 1, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    titles = {" ".join(row[1:3]): row for row in rows if len(row) > 3}
    for title in (
        "Ratings 1,",
        "Comment by",
        "addComment \N{BOX DRAWINGS LIGHT VERTICAL}",
        "HTML page",
    ):
        assert ("wrong" in titles[title]) == (title == "Comment by")
    assert "MB at rest" in done.stdout
    assert "3 clients request the first page" not in done.stdout


def test_a_missing_program_or_bad_option_ends_with_one_sentence(tmp_path: Path) -> None:
    with mock.patch("shutil.which", return_value=None):
        done = called_as("bench", main, "speed", "--servers", "yoga", "--rows-dir", tmp_path)
    assert done.returncode == 1
    assert "Node.js is not installed: install 22 or newer, or run `make bench`." in done.stderr
    unknown = called_as("bench", main, "speed", "--servers", "apollo")
    assert "apollo is unknown: choose among marginalia, other, yoga" in unknown.stderr
    bad = called_as("bench", main, "speed", "--clients", "many")
    assert "--clients many is not a list of numbers such as 1,16,64." in bad.stderr
