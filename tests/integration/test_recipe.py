"""CONTRIBUTING's recipes work, if they are applied to a copy of the code."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tests.engines import ROOT
from tests.feature_lists import files
from tests.recipes import COMMENT_FIELD, FIELD_TESTS, Edit, apply, copied, edits_of

GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")

_BLOCK = re.compile(
    r"^ +`(?P<path>[\w/]+\.py)`\n(?P<diff> +```diff\n.*?\n) +```$", re.MULTILINE | re.DOTALL
)


def edits() -> Iterator[Edit]:
    """Yield the edits of the recipe for an access pattern."""
    for block in _BLOCK.finditer(GUIDE):
        lines = textwrap.dedent(block["diff"]).removeprefix("```diff\n")
        for part in lines.split("@@ ")[1:]:
            place, _, code = part.partition("\n")
            yield Edit(file=block["path"], after=place, code=re.sub("(?m)^\\+", "", code))


def run(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_recipe_for_an_access_pattern_works(tmp_path: Path, dynoxide_url: str) -> None:
    root = copied(tmp_path)
    assert len({edit.file for edit in edits()}) == 5
    for edit in edits():
        apply(edit, root)
    outcome = run(root, "-m", "tests.integration.edited_comments", dynoxide_url)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == f"18 lists of {tmp_path / 'dal'} are exact\n"


def test_the_recipe_for_a_field_of_comments_is_complete(tmp_path: Path, dynoxide_url: str) -> None:
    """The trial ``comment_field`` leaves out each step."""
    recipe = GUIDE.partition("## A field of comments")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([\w./]+\.\w+)`", recipe)) - {"tests/fixtures/comment_field.toml"}
    edited = {edit.file for edit in edits_of(COMMENT_FIELD)}
    templates = "pages/templates/"
    assert {one if "/" in one else templates + one for one in named} == edited
    assert len([one for one in edited if not one.startswith("docs/")]) <= 20
    root = copied(tmp_path)
    for edit in edits_of(COMMENT_FIELD):
        apply(edit, root)
    tests = run(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FIELD_TESTS)
    assert tests.returncode == 0, tests.stdout
    outcome = run(root, "-m", "tests.integration.recommended_comments", dynoxide_url)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == f"The lists of {tmp_path / 'dal'} are exact\n"
    for path in files("recommended_files.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        assert run(root, "-m", module).stderr == ""
