"""CONTRIBUTING's recipes work, if they are applied to a copy of the code."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors import CORE, delete, roots, without
from tests.engines import ROOT
from tests.feature_lists import files
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


LINES = 13
"""The lines of the feature in the roots of composition."""

SCHEMA = "from schema.build import build_schema; print(build_schema().as_str())"


def files_in_recipe(heading: str) -> set[str]:
    """Return the files that a recipe names."""
    recipe = GUIDE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`([\w./]+\.\w+)`", recipe))


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
    """The trial ``recipe`` leaves out each step."""
    named = files_in_recipe("A field of comments") - {"tests/fixtures/comment_field.toml"}
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


def project_with_feature(target: Path) -> Path:
    """Return a copy of the project with the feature of the recipe."""
    root = copied(target)
    for edit in edits_of(FEATURE):
        apply(edit, root)
    return root


def test_the_recipe_for_a_feature_works_and_the_feature_can_be_deleted(tmp_path: Path) -> None:
    edited = {edit.file for edit in edits_of(FEATURE)}
    unnamed = {one for one in edited if one.endswith("tests/features/pins/__init__.py")}
    named = files_in_recipe("A feature") - {"tests/fixtures/feature.toml"}
    assert named == edited - unnamed
    root = project_with_feature(tmp_path)
    tests = run(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FEATURE_TESTS)
    assert tests.returncode == 0, tests.stdout
    found = roots(root, "pins")
    assert found.keys() == {one for one in edited if "pins/" not in one}
    assert sum(without(text, "pins")[1] for text in found.values()) == LINES
    delete(root, "pins")
    outcome = run(root, "-c", SCHEMA)
    assert outcome.stdout == (ROOT / "schema.graphql").read_text("utf-8"), outcome.stderr


@pytest.mark.soak
def test_the_recipe_for_a_feature_passes_mypy(tmp_path: Path) -> None:
    root = project_with_feature(tmp_path)
    checked = run(root, "-m", "mypy", *CORE, "features", "tests/features/pins")
    assert checked.returncode == 0, checked.stdout
