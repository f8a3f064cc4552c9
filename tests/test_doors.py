"""Each feature can be deleted: its folder, its tests, and its lines in the composition roots."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.doors import CORE, FEATURES, project_without, roots, settings_of, without
from tests.engines import ROOT


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
    # The type of pages of lists names the type of plans, which imports this module.
    texts = ["schema.types", "server.cli.main"]
    return {f"{module.replace('.', '/')}.py" for module in [*modules, *texts]}


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize("feature", FEATURES)
def test_only_composition_roots_name_a_feature(feature: str) -> None:
    found = roots(ROOT, feature)
    assert found.keys() <= named_roots()
    folder = ast.parse((ROOT / "features" / feature / "__init__.py").read_text("utf-8"))
    composition = (ast.get_docstring(folder) or "").partition("Composition:")[2]
    names = re.findall(r"``([a-z_.]+)``", composition)
    assert found.keys() == {path for path in named_roots() if _module(path) in names}
    for text in found.values():
        left, lines = without(text, feature, settings_of(ROOT, feature))
        assert f"features.{feature}" not in left
        assert lines > 0


def test_the_design_lists_each_feature() -> None:
    design = (ROOT / "docs" / "DESIGN.md").read_text("utf-8")
    section = design.partition("## The core and its features")[2].partition("## ")[0]
    assert re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE) == FEATURES


def test_the_core_imports_without_features(tmp_path: Path) -> None:
    root = project_without(FEATURES, tmp_path)
    assert list((root / "features").rglob("*.py")) == [root / "features/__init__.py"]


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("x = b.c\ny = [x, 1]", "y = [1]"),
        ("x = {'k': b(), 'l': 2}", "x = {'l': 2}"),
        ("class D(b.C, int):\n    f: b.G = g(h=b.i)\n    j = 2", "class D(int):\n    j = 2"),
        ("x = f(1, key=b.d)", "x = f(1)"),
        (
            "x = {'k': f(('features.a.b', 'features.c.b')), 'l': 2}",
            "x = {'k': f(('features.c.b',)), 'l': 2}",
        ),
        ("x = {'k': f(('features.a.b', 'features.a.c')), 'l': 2}", "x = {'l': 2}"),
        ("def f(i, j=1, k: b.K = 2, l=3):\n    g(i, k=k)", "def f(i, j=1, l=3):\n    g(i)"),
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
