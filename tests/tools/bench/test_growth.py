"""``python -m tools.bench growth`` on a directory with the rows of a few measurements."""

from pathlib import Path

from tests.server.serving import called, called_as
from tools.bench.__main__ import main


def test_the_rows_are_counted_and_stored_for_the_next_run(tmp_path: Path) -> None:
    short = ("--rounds", "1", "--seconds", "0.05", "--clients", "1", "--rows-dir", tmp_path)
    done = called_as("bench", main, "growth", "--sizes", "30,60", *short)
    assert done.returncode == 0, done.stderr
    assert "exponent" in done.stdout
    verified = called("stats", "verify", "--data-dir", tmp_path)
    assert verified.returncode == 0, verified.stdout
    made = (tmp_path / "marginalia.db").stat().st_ino
    other = called_as("bench", main, "growth", "--sizes", "90", *short)
    assert other.returncode == 1
    assert f"{tmp_path} has other rows: name another directory with --rows-dir." in " ".join(
        other.stderr.split()
    )
    assert (tmp_path / "marginalia.db").stat().st_ino == made
