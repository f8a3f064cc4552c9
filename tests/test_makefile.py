"""The targets of `make`, the width of their list, and the output of `make run`."""

import os
import pty
import re
import shutil
import signal
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import orjson
import pytest

from tests.engines import ROOT
from tests.server.serving import environment
from tools.trials.__main__ import trials

COLUMNS = 80


def make(*arguments: str, directory: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)


def test_help_lists_at_most_fifteen_targets_in_eighty_columns() -> None:
    lines = make("help").stdout.splitlines()
    assert 0 < len(lines) <= 15
    assert [line for line in lines if len(line) > 80] == []


def test_trial_without_a_name_lists_every_trial() -> None:
    lines = make("trial").stdout.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line.split()[0] for line in lines if line[2:3].strip()][:-1] == list(trials())
    assert all(trials().values())


def test_each_trial_that_needs_tools_is_a_trial() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    named = {line.split()[0] for line in text.splitlines() if line.startswith("TOOLS_")}
    assert named
    assert named <= {f"TOOLS_{name}" for name in trials()}


def test_an_unknown_trial_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "tools/trials", tmp_path / "tools/trials")
    done = make("trial", "NAME=nothing", directory=tmp_path)
    assert done.returncode != 0
    assert "There is no trial nothing: choose one of audit, " in done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["Makefile", "tools"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the sources without data, with the environments that setup has installed here."""
    copy = tmp_path / "checkout"
    environments = (".venv", "node_modules")
    left = (".git", "build", "data", "docs", "examples", "tests", "tools")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*environments, *left))
    for name in environments:
        (copy / name).symlink_to(ROOT / name)
    installed = [f"{name}/installed" for name in environments]
    # An installation would lead the environment to the copy.
    assert make("--question", *installed, directory=copy).returncode == 0, "run `make setup` first"
    return copy


@contextmanager
def run_in_a_terminal(checkout: Path) -> Iterator[str]:
    """Run `make run` until the block ends. Yield the output of its terminal up to the banner."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, COLUMNS))
    with (
        os.fdopen(ours, "rb") as screen,
        subprocess.Popen(
            ["make", "run", "ARGS=--port 0"],
            cwd=checkout,
            env=environment(PYTHONPATH=str(checkout), TERM="xterm-256color"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            process_group=0,
        ) as process,
    ):
        os.close(theirs)
        shown = ""
        try:
            for line in screen:
                shown += re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", line.decode())
                if "Ctrl-C" in line.decode():
                    break
            yield shown
        finally:
            os.killpg(process.pid, signal.SIGINT)
            with suppress(OSError):  # EIO, once the terminal is closed
                while screen.read1():
                    pass


def test_the_jwt_that_a_first_run_prints_in_80_columns_signs_in(checkout: Path) -> None:
    with run_in_a_terminal(checkout) as shown:
        (url,) = re.findall(r"Pages +(http://[\d.:]+)/", shown)
        (link,) = re.findall(r"Sign in +(http\S+)", shown)
        assert "marginalia_jwt" in httpx.get(link, timeout=60).cookies
        (header,) = [line for line in shown.splitlines() if "Bearer" in line]
        query = {"query": "{ viewer { username } }"}
        answer = httpx.post(f"{url}/graphql", json=query, headers=orjson.loads(header), timeout=60)
        assert answer.json() == {"data": {"viewer": {"username": "demo"}}}
        # Some terminals copy the line with the screen's line breaks.
        rows = [header[at : at + COLUMNS] for at in range(0, len(header), COLUMNS)]
        for copied in (header, "\n".join(rows)):
            signed_in = httpx.post(f"{url}/sign-in", data={"jwt": copied}, timeout=60)
            assert signed_in.status_code == httpx.codes.SEE_OTHER
            assert "marginalia_jwt" in signed_in.cookies
