"""What `make` offers, and what it lists fits a terminal."""

import subprocess

from tests.engines import ROOT
from tests.trials.__main__ import trials


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_help_lists_fifteen_targets_at_most_in_eighty_columns() -> None:
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


def test_an_unknown_trial_is_refused_with_the_names_of_all() -> None:
    done = make("trial", "NAME=nothing")
    assert done.returncode != 0
    assert "There is no trial nothing: choose one of audit, " in done.stderr
