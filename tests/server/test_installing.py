"""What a step of ``make setup`` says of itself."""

import sys
from pathlib import Path

import pytest

from server import installing

PROGRAM = """
from pathlib import Path
print("Collecting a", "Collecting b", sep="\\n", flush=True)
Path("a.one").touch()
print("Two went wrong")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installing, "_SECONDS_BETWEEN", 0.001)


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_step_says_how_far_it_is_and_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert installing.step("Things", "*.one", [sys.executable, "-c", PROGRAM]) == 0
    begun, *lines, done = said(capsys)
    assert begun == "Things: begun"
    assert lines[0] == "Things: 0 installed, 0 s"
    assert done.startswith("Things: done, 1 in ")
    assert all(line.startswith("Things: ") for line in lines)


def test_a_step_that_fails_shows_what_it_said(capsys: pytest.CaptureFixture[str]) -> None:
    program = f"{PROGRAM}\nraise SystemExit(3)"
    assert installing.step("Things", "*.one", [sys.executable, "-c", program]) == 3
    *_, before, last = said(capsys)
    assert before == "Two went wrong"
    assert last.startswith("Things: failed after ")
