"""Each feature can be deleted: its folder, its tests, and its lines in the composition roots."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.doors import CORE, delete, roots, settings_of, without
from tests.engines import ROOT
from tests.recipes import copied
from tests.server.serving import add_comment, all_comments, bearer, environment, served

FEATURES = sorted(path.parent.name for path in (ROOT / "features").glob("*/__init__.py"))

IMPORTED = """
import importlib, pathlib, sys
for package in sys.argv[1:]:
    for path in sorted(pathlib.Path(package).rglob("*.py")):
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
from schema.build import build_schema
print(build_schema().as_str())
"""


def run(root: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env=environment(PYTHONPATH=str(root)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def project_without(features: Sequence[str], target: Path) -> Path:
    """Return a copy of the project without features, after an import of all its modules.

    The schema only loses lines.
    """
    root = copied(target)
    for feature in features:
        delete(root, feature)
    schema = run(root, "-c", IMPORTED, *CORE, "features").splitlines()
    whole = (ROOT / "schema.graphql").read_text("utf-8").splitlines()
    assert [line for line in schema if line not in whole] == []
    return root


def named_roots() -> set[str]:
    """Return the modules that the contract of the core names as composition roots."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = (
        one
        for one in project["tool"]["importlinter"]["contracts"]
        if one["name"].startswith("the core imports neither features nor pages")
    )
    assert contract["source_modules"] == CORE
    modules = [line.partition(" ")[0] for line in contract["ignore_imports"]]
    # The list of commands names modules in texts, because it imports only the command that runs.
    return {f"{module.replace('.', '/')}.py" for module in [*modules, "server.cli.main"]}


@pytest.mark.parametrize("feature", FEATURES)
def test_only_composition_roots_name_a_feature(feature: str) -> None:
    found = roots(ROOT, feature)
    assert found.keys() <= named_roots()
    for text in found.values():
        left, lines = without(text, feature, settings_of(ROOT, feature))
        assert f"features.{feature}" not in left
        assert lines > 0


def test_the_core_imports_without_features(tmp_path: Path) -> None:
    root = project_without(FEATURES, tmp_path)
    assert list((root / "features").rglob("*.py")) == [root / "features/__init__.py"]


@pytest.mark.soak
@pytest.mark.parametrize("features", [*([one] for one in FEATURES), FEATURES], ids="-".join)
async def test_the_core_serves_comments_without_features(
    features: Sequence[str], tmp_path: Path
) -> None:
    root = project_without(features, tmp_path / "project")
    run(root, "-m", "mypy", *CORE, "features")
    with served(tmp_path / "data", PYTHONPATH=str(root)) as server:
        async with httpx.AsyncClient(base_url=server.url, headers=bearer("ann")) as client:
            comment_id = await add_comment(client, "Good paper")
            assert await all_comments(client) == [(comment_id, "Good paper")]


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("x = b.c\ny = [x, 1]", "y = [1]"),
        ("x = {'k': b(), 'l': 2}", "x = {'l': 2}"),
        ("class D(b.C, int):\n    f: b.G = g(h=b.i)\n    j = 2", "class D(int):\n    j = 2"),
        ("x = f(1, key=b.d)", "x = f(1)"),
        ("x: T = g('features.a.b')\n'Its text.'\ny = 1", "y = 1"),
        ("def f():\n    return b\nx = (1, f)", "x = (1,)"),
        ("if x:\n    b()\nelse:\n    y()", "if x:\n    pass\nelse:\n    y()"),
        ("if x:\n    b()\ny()", "y()"),
        ("with b() as d, e() as f:\n    g(f, x=d)", "with e() as f:\n    g(f)"),
        ("self.x = b()\ny = (self.x, self.z)", "y = (self.z,)"),
        ("x = 1\nif y:\n    x = b(x)\nz(x)", "x = 1\nz(x)"),
        ("x = ('host', 'option')\ny = 'option'", "x = ('host',)\ny = 'option'"),
        ("f(x=settings.option, y=settings.host)", "f(y=settings.host)"),
        ("class D:\n    x: b.X\n    y: int\nd.x.start()\ne.x()", "class D:\n    y: int\ne.x()"),
        ("x = 'features.ab'", "x = 'features.ab'"),
    ],
)
def test_the_smallest_part_of_a_statement_is_deleted(code: str, left: str) -> None:
    text, lines = without(f"from features.a.settings import b\n{code}", "a", {"option"})
    assert text == ast.unparse(ast.parse(left))
    assert lines >= 1
