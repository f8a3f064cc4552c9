"""Only the doors use private names of other packages, whose versions are bounded."""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import ROOT
from tests.scans import PRODUCT

DOORS = {
    "dal.dynamodb.botocore_door": "aioboto3",
    "dal.model.langcodes_door": "langcodes",
    "pages.jinja_door": "jinja2 markupsafe",
    "resolvers.info_door": "strawberry-graphql",
    "schema.execution.strawberry_door": "strawberry-graphql",
    "server.http.uvicorn_door": "uvicorn",
}


def private(path: Path) -> Iterator[str]:
    """Yield the private names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if re.search(r"\._[a-z]", name, re.IGNORECASE))


def test_only_doors_import_private_names() -> None:
    """ruff's rule SLF001 finds the private attributes that code reads without importing them."""
    files = [path for one in PRODUCT for path in (ROOT / one).rglob("*.py")]
    found = {path for path in files if any(private(path))}
    assert {path.stem[-5:] for path in found} == {"_door"}
    doors = {ROOT / f"{name.replace('.', '/')}.py" for name in DOORS}
    assert {path for path in files if path.stem.endswith("_door")} == doors


@pytest.mark.parametrize("door", DOORS)
def test_the_names_behind_a_door_exist_in_the_versions_that_are_allowed(door: str) -> None:
    importlib.import_module(door)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = {re.split(r"[><=\[]", one)[0]: one for one in project["dependencies"]}
    assert all("<" in bounds[package] for package in DOORS[door].split())
