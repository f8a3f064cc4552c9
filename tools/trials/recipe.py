"""Applies a recipe of CONTRIBUTING to a copy of the program, and leaves out each step once.

Each omission must fail a check or a test that names the place. Exits with 1 if an omission is
silent.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.engines import ROOT
from tests.recipes import (
    COMMENT_FIELD,
    FEATURE,
    FEATURE_TESTS,
    FIELD_TESTS,
    Edit,
    apply,
    copied,
    edits_of,
)

CODE = "dal features resolvers schema pages server"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe: its edits, the tests that name its places, and the word that it adds."""

    edits: Sequence[Edit]
    tests: Sequence[str]
    word: str


RECIPES = {
    "comment_field": Recipe(edits_of(COMMENT_FIELD), FIELD_TESTS, "recommended"),
    "feature": Recipe(edits_of(FEATURE), FEATURE_TESTS, "pins"),
}


def failure(root: Path, recipe: Recipe) -> str:
    """Return the first check that fails, with what it reports; empty if all pass."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    checks = {
        "test": f"pytest -q -p no:cacheprovider {' '.join(recipe.tests)}",
        "ruff": f"ruff check -q --output-format=concise --ignore=I001 {CODE} tests/features",
        "mypy": f"mypy {CODE}",
    }
    for name, arguments in checks.items():
        command = [sys.executable, "-m", *arguments.split()]
        result = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        if result.returncode:
            lines = (result.stdout + result.stderr).splitlines()
            told = [one for one in lines if recipe.word in one or one.startswith(("E ", "FAILED"))]
            return f"{name}: {(told or lines[-1:])[0].strip()[:150]}"
    return ""


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def without(recipe: Recipe, left_out: int | None) -> str:
    """Return what fails if the copy of the program lacks one edit."""
    with tempfile.TemporaryDirectory() as name:
        root = copied(Path(name))
        for number, edit in enumerate(recipe.edits):
            if number != left_out:
                apply(edit, root)
        if (ROOT / ".mypy_cache").exists():
            shutil.copytree(ROOT / ".mypy_cache", root / ".mypy_cache")
        return failure(root, recipe)


def main() -> None:
    """Report each omission. Exit with 1 if one is silent, or if the whole recipe fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of edits to leave out")
    options = parser.parse_args()
    recipe, only = RECIPES[options.recipe], options.only
    whole = "" if only else without(recipe, None)
    say(f"whole recipe: {whole or 'passes'}")
    silent = 0
    for number, edit in enumerate(recipe.edits):
        if only and number not in only:
            continue
        found = without(recipe, number)
        silent += not found
        say(f"{number} {edit.file} ({edit.after}): {found or 'SILENT'}")
    say(f"{len({edit.file for edit in recipe.edits})} files, {silent} silent omissions")
    sys.exit(1 if silent or whole else 0)


if __name__ == "__main__":
    main()
