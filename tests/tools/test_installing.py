"""The output of the steps of ``make setup``."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines import ROOT
from tools import installing

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


def test_a_step_shows_its_progress_and_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert installing.step("Things", "*.one", [sys.executable, "-c", PROGRAM]) == 0
    begun, *lines, done = said(capsys)
    assert begun == "Things: begun"
    assert lines[0] == "Things: 0 installed, 0 s"
    assert done.startswith("Things: done, 1 in ")
    assert all(line.startswith("Things: ") for line in lines)


def test_a_failed_step_shows_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    program = f"{PROGRAM}\nraise SystemExit(3)"
    assert installing.step("Things", "*.one", [sys.executable, "-c", program]) == 3
    *_, before, last = said(capsys)
    assert before == "Two went wrong"
    assert last.startswith("Things: failed after ")


def test_ctrl_c_stops_a_step_with_one_sentence() -> None:
    program = "import time; print('Collecting a', flush=True); time.sleep(60)"
    said = interrupted(
        [
            sys.executable,
            ROOT / "tools/installing.py",
            "Things",
            "*",
            sys.executable,
            "-c",
            program,
        ]
    )
    assert (said[0], [line.partition(".")[0] for line in said[1]]) == (130, ["Things: stopped"])


def test_ctrl_c_while_the_environment_is_created_prints_no_traceback(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools/installing.py", tmp_path / "tools")
    _, lines = interrupted(["make", f"PYTHON={sys.executable}", ".venv/created"])
    assert any(line.startswith("Python environment: stopped.") for line in lines)
    assert [line for line in lines if "Traceback" in line or "KeyboardInterrupt" in line] == []


def interrupted(command: list[str | Path]) -> tuple[int, list[str]]:
    """Press Ctrl-C when a command has begun. Return its exit code and its further output."""
    # With make's variables, make would print the directories that it enters.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    with subprocess.Popen(
        command,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(": begun\n")
        os.killpg(process.pid, signal.SIGINT)
        lines = process.stdout.read().splitlines()
    return process.returncode, lines
