"""Runs ``marginalia load`` in this process, into a test's table."""

from collections.abc import Sequence
from pathlib import Path

from tests.server.serving import AWS, called


def load(path: Path | str, store: Sequence[str], *options: str | Path) -> tuple[int, str, str]:
    """Load a file. Return the exit code, the output and the errors."""
    ended = called("load", path, *store, *options, **AWS)
    return ended.returncode, ended.stdout, ended.stderr
