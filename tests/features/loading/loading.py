"""Runs ``marginalia load`` in this process."""

from collections.abc import Sequence
from pathlib import Path

from tests.server.serving import AWS, called


def load(path: Path | str, store: Sequence[str], *options: str | Path) -> tuple[int, str, str]:
    """Load a file into a table. Return the exit code, standard output and standard error."""
    ended = called("load", path, *store, *options, **AWS)
    return ended.returncode, ended.stdout, ended.stderr
