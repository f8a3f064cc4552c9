"""Only the doors use private names of other packages, whose versions are bounded."""

import ast
import importlib
import inspect
import re
import textwrap
import tomllib
from threading import Thread

import pytest

from tests.engines import ROOT
from tools.trials.figures import borrowers, names_in, shipped

DOORS = {
    "dal.dynamodb.botocore_door": "aioboto3",
    "dal.model.langcodes_door": "langcodes",
    "pages.jinja_door": "jinja2 markupsafe",
    "resolvers.info_door": "strawberry-graphql",
    "schema.execution.strawberry_door": "strawberry-graphql",
    "server.http.uvicorn_door": "uvicorn",
}


def test_only_doors_use_private_names() -> None:
    modules = shipped(ROOT)
    assert {name for name in borrowers(modules) if not name.endswith("_door")} == set()
    assert {name for name in modules if name.endswith("_door")} == DOORS.keys()


def private(kind: type) -> set[str]:
    """Return the private names that a class's source defines, in the class or in its objects."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # a class in C
        return set()
    defined, _, _ = names_in(ast.parse(textwrap.dedent(source)))
    return {name for name in defined if re.fullmatch(r"_[a-zA-Z]\w*(?<!_)", name)}


def overridden(kind: type, packages: set[str]) -> set[str]:
    """Return the private names of other packages' classes that a class defines again."""
    bases = [
        one for one in inspect.getmro(kind) if one.__module__.partition(".")[0] not in packages
    ]
    return private(kind).intersection(set[str]().union(*map(private, bases), *map(vars, bases)))


class Overriding(Thread):
    """Overrides a method and an attribute of its base, and adds an attribute."""

    def _bootstrap(self) -> None:
        self._target = self._own = None


def test_definitions_that_override_a_private_name_of_a_package_are_found() -> None:
    assert overridden(Overriding, {"tests"}) == {"_bootstrap", "_target"}


def test_only_doors_override_private_names() -> None:
    modules = shipped(ROOT)
    packages = {name.partition(".")[0] for name in modules}
    found = {
        name
        for name in modules
        for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass)
        if kind.__module__ == name and overridden(kind, packages)
    }
    assert {name for name in found if not name.endswith("_door")} == set()
    assert found != set()


@pytest.mark.parametrize("door", DOORS)
def test_the_names_behind_a_door_exist_in_the_versions_that_are_allowed(door: str) -> None:
    importlib.import_module(door)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = {re.split(r"[><=\[]", one)[0]: one for one in project["dependencies"]}
    assert all("<" in bounds[package] for package in DOORS[door].split())
