"""CONTRIBUTING's recipe for a new access pattern works, if it is applied to a copy of the code."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tests.engines import ROOT

_BLOCK = re.compile(
    r"^ +`(?P<path>[\w/]+\.py)`\n(?P<diff> +```diff\n.*?\n) +```$", re.MULTILINE | re.DOTALL
)


def blocks() -> Iterator[tuple[str, str]]:
    """Yield each file that the recipe changes, with the diff."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for block in _BLOCK.finditer(recipe):
        yield block["path"], textwrap.dedent(block["diff"]).removeprefix("```diff\n")


def carry_out(text: str, diff: str) -> str:
    """Return a text after a diff. Each part of the diff must match exactly one place."""
    for part in diff.split("@@\n"):
        lines = part.splitlines(keepends=True)
        before = "".join(line[1:] or "\n" for line in lines if line[0] != "+")
        after = "".join(line[1:] or "\n" for line in lines if line[0] != "-")
        assert text.count(before) == 1, f"Not one place for:\n{before}"
        text = text.replace(before, after)
    return text


def test_the_recipe_in_contributing_works(tmp_path: Path, dynoxide_url: str) -> None:
    for package in ("dal", "resolvers", "schema"):
        shutil.copytree(ROOT / package, tmp_path / package)
    changed = [path for path, _ in blocks()]
    assert len(changed) == 4
    for path, diff in blocks():
        file = tmp_path / path
        file.write_text(carry_out(file.read_text("utf-8"), diff), "utf-8")
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.integration.edited_comments", dynoxide_url],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == f"18 lists of {tmp_path / 'dal'} are exact\n"
