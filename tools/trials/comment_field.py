"""Adds a field of comments to a copy of the program, and leaves out each step once.

The steps are those of CONTRIBUTING's recipe. Each omission must fail a check or a test that names
the place. Exits with 1 if an omission is silent.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.engines import ROOT
from tests.recipes import COMMENT_FIELD, FIELD_TESTS, Edit, apply, copied, edits_of

CHECKS: Mapping[str, str] = {
    "test": f"pytest -q -p no:cacheprovider {' '.join(FIELD_TESTS)}",
    "ruff": "ruff check -q --output-format=concise dal features resolvers pages",
    "mypy": "mypy dal features resolvers schema pages server",
}


def failure(root: Path) -> str:
    """Return the first check that fails, with what it reports; empty if all pass."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    for name, arguments in CHECKS.items():
        command = [sys.executable, "-m", *arguments.split()]
        result = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        if result.returncode:
            lines = (result.stdout + result.stderr).splitlines()
            told = [
                one for one in lines if "recommended" in one or one.startswith(("E ", "FAILED"))
            ]
            return f"{name}: {(told or lines[-1:])[0].strip()[:150]}"
    return ""


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def without(edits: Sequence[Edit], left_out: int | None) -> str:
    """Return what fails if the copy of the program lacks one edit."""
    with tempfile.TemporaryDirectory() as name:
        root = copied(Path(name))
        for number, edit in enumerate(edits):
            if number != left_out:
                apply(edit, root)
        if (ROOT / ".mypy_cache").exists():
            shutil.copytree(ROOT / ".mypy_cache", root / ".mypy_cache")
        return failure(root)


def main() -> None:
    """Report each omission. Exit with 1 if one is silent, or if the whole recipe fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of edits to leave out")
    only = parser.parse_args().only
    edits = edits_of(COMMENT_FIELD)
    whole = "" if only else without(edits, None)
    say(f"whole recipe: {whole or 'passes'}")
    silent = 0
    for number, edit in enumerate(edits):
        if only and number not in only:
            continue
        found = without(edits, number)
        silent += not found
        say(f"{number} {edit.file} ({edit.after}): {found or 'SILENT'}")
    say(f"{len({edit.file for edit in edits})} files, {silent} silent omissions")
    sys.exit(1 if silent or whole else 0)


if __name__ == "__main__":
    main()
