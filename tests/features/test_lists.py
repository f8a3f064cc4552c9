"""The entries of features in the lists of the core's tests."""

import ast
import re

from tests.engines import ROOT
from tests.feature_lists import files

_ASKED = re.compile(r'\b(?:added|merged)\((?:[^()"]|\(\))*"(\w+)"\)')
"""Matches a call of ``tests.feature_lists`` with the name of a list."""


def entries(code: str) -> set[str]:
    """Return the names that a module defines, except private names."""
    names: set[str] = set()
    for node in ast.parse(code).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
    return {name for name in names if not name.startswith("_")}


def test_each_list_of_the_cores_tests_has_entries_and_each_entry_a_list() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    core = [text for text in texts if "from tests.feature_lists import" in text]
    asked = {name for text in core for name in _ASKED.findall(text)}
    assert set().union(*(entries(path.read_text("utf-8")) for path in files("lists.py"))) == asked
