"""The packages that the server and the tools import are listed where they are installed from."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.engines import ROOT

OWN = {"dal", "features", "pages", "resolvers", "schema", "server", "tests", "tools"}
STANDARD = sys.stdlib_module_names | {"compression"}  # a module of Python 3.14


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def distributions(folder: Path) -> set[str]:
    files = [path for path in folder.rglob("*.py") if "node_modules" not in path.parts]
    names = set().union(*map(imported, files)) - OWN - STANDARD
    known = packages_distributions()
    return {re.sub(r"[-_.]+", "-", known[name][0]).lower() for name in names}


@pytest.mark.parametrize("name", ["bench", "conformance", "trials"])
def test_the_requirements_of_a_tool_are_the_packages_that_it_imports(name: str) -> None:
    folder = ROOT / "tools" / name
    assert (folder / "requirements.txt").read_text("utf-8").split() == sorted(distributions(folder))


def test_the_server_imports_only_its_dependencies() -> None:
    """The packages of ``dev`` are missing in the image and in the function."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [one for name, one in project["optional-dependencies"].items() if name != "dev"]
    listed = {
        re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in sum(extras, project["dependencies"])
    }
    listed |= {"aiobotocore", "botocore"}  # parts of aioboto3
    for folder in ("dal", "features", "pages", "resolvers", "schema", "server"):
        assert distributions(ROOT / folder) <= listed
