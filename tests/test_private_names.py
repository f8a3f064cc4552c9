"""Only the doors use private names of other packages, whose versions are bounded."""

import importlib
import re
import tomllib

import pytest

from tests.engines import ROOT
from tools.trials.figures import borrowers, shipped

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


@pytest.mark.parametrize("door", DOORS)
def test_the_names_behind_a_door_exist_in_the_versions_that_are_allowed(door: str) -> None:
    importlib.import_module(door)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = {re.split(r"[><=\[]", one)[0]: one for one in project["dependencies"]}
    assert all("<" in bounds[package] for package in DOORS[door].split())
