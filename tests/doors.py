"""Deletes a feature from a copy of the code: its folders, and its lines in the composition roots.

Code of a root belongs to the feature if it uses a name that is imported from the feature's folder,
names one of its modules in a text, reads one of its settings, or uses a variable or an attribute
that is deleted. An attribute is found at ``self``, and at variables with the name of the class, for
example ``services.analytics``.

The smallest part of a statement that can be missing is deleted: an element of a sequence, an entry
of a dictionary, a parameter with a default, an argument by name, a base class or a resource of
``with``. Otherwise the whole statement is deleted. A function is deleted with its ``return``.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from tests.engines import ROOT
from tests.recipes import copied
from tests.scans import PRODUCT
from tests.server.serving import environment

CORE = [package for package in PRODUCT if package != "features"]

FEATURES = sorted(path.parent.name for path in (ROOT / "features").glob("*/__init__.py"))

IMPORTED = """
import importlib, pathlib, sys
for package in sys.argv[1:]:
    for path in sorted(pathlib.Path(package).rglob("*.py")):
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
from schema.build import build_schema
print(build_schema().as_str())
"""
"""A program that imports all modules of packages, and prints the schema."""


def project_without(features: Sequence[str], target: Path) -> Path:
    """Return a copy of the project without features, and with its own ``schema.graphql``.

    All modules of the copy can be imported, and its schema only loses lines.
    """
    root = copied(target)
    for feature in features:
        delete(root, feature)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *CORE, "features"],
        cwd=root,
        env=environment(PYTHONPATH=str(root)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    whole = (ROOT / "schema.graphql").read_text("utf-8").splitlines()
    assert [line for line in done.stdout.splitlines() if line not in whole] == []
    (root / "schema.graphql").write_text(done.stdout, "utf-8")
    return root


def delete(root: Path, feature: str) -> None:
    """Delete a feature below ``root``, and the features that import it."""
    if not (root / "features" / feature).exists():
        return  # it was deleted with a feature that it imports
    for other in importers(root, feature):
        delete(root, other)
    settings = settings_of(root, feature)
    for path, text in roots(root, feature).items():
        (root / path).write_text(without(text, feature, settings)[0], "utf-8")
    for folder in ("features", "tests/features"):
        shutil.rmtree(root / folder / feature)


def importers(root: Path, feature: str) -> set[str]:
    """Return the other features that import a feature."""
    name, folder = re.compile(rf"\bfeatures\.{feature}\b"), root / "features"
    found = [path for path in folder.rglob("*.py") if name.search(path.read_text("utf-8"))]
    return {path.relative_to(folder).parts[0] for path in found} - {feature}


def roots(root: Path, feature: str) -> dict[str, str]:
    """Return the texts of the modules of the core that name a feature, by their paths."""
    paths = [path for package in CORE for path in sorted((root / package).rglob("*.py"))]
    texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}
    named = [rf"features\.{feature}", *(rf"settings\.{one}" for one in settings_of(root, feature))]
    names = re.compile(rf"\b({'|'.join(named)})\b")
    return {path: text for path, text in texts.items() if names.search(text)}


def settings_of(root: Path, feature: str) -> set[str]:
    """Return the names of the settings that a feature declares."""
    path = root / "features" / feature / "settings.py"
    tree = ast.parse(path.read_text("utf-8") if path.exists() else "")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    fields = [field for node in classes for field in node.body if isinstance(field, ast.AnnAssign)]
    return {ast.unparse(field.target) for field in fields}


def without(text: str, feature: str, settings: Collection[str] = ()) -> tuple[str, int]:
    """Return the text of a root without a feature, and the number of deleted lines.

    ``settings`` are the names of the feature's settings.
    """
    deletion = _Deletion(ast.parse(text), f"features.{feature}", settings)
    return ast.unparse(deletion.tree), len(deletion.lines)


class _Deletion:
    """Deletes what belongs to a package from the syntax tree of a module."""

    def __init__(self, tree: ast.Module, package: str, settings: Collection[str]) -> None:
        self.tree = tree
        self.lines = set[int]()
        self._package = package
        self._settings = settings
        imported = any(
            isinstance(node, ast.ImportFrom) and node.module == f"{package}.settings"
            for node in ast.walk(tree)
        )
        self._declared = set(settings) if imported else set[str]()
        """The settings that the class of settings in this module inherits, and lists by name."""
        self._names, self._attributes = set[str](), set(self._declared)
        classes = [node.name.lower() for node in tree.body if isinstance(node, ast.ClassDef)]
        self._objects = {"self", *classes}
        self._places: dict[ast.AST, tuple[Any, list[Any]]] = {}
        """Maps a node to its parent, and to the list of the parent that contains the node."""
        for parent in ast.walk(tree):
            for _, value in ast.iter_fields(parent):
                siblings = value if isinstance(value, list) else []
                for node in siblings or [value]:
                    if isinstance(node, ast.AST):
                        self._places[node] = (parent, siblings)
        while used := next(filter(self._belongs, ast.walk(tree)), None):
            self._delete(self._part(used))
            for node in ast.walk(tree):  # such a variable has another value
                match node:
                    case ast.Name(id=name, ctx=ast.Store()):
                        self._names.discard(name)
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        self._attributes.discard(name)

    def _belongs(self, node: ast.AST) -> bool:
        match node:
            case ast.ImportFrom(module=str(module)):
                return self._is_of(module)
            case ast.Name(id=name, ctx=ast.Load()):
                return name in self._names
            case ast.Attribute(value=ast.Name(id=of), attr=name) if of in self._objects:
                return name in self._attributes
            case ast.Attribute(value=ast.Name(id="settings"), attr=name):
                return name in self._settings
            case ast.Constant(value=str(text)):
                listed = isinstance(self._places[node][0], ast.Tuple)
                return self._is_of(text) or (listed and text in self._declared)
        return False

    def _is_of(self, module: str) -> bool:
        return f"{module}.".startswith(f"{self._package}.")

    def _part(self, node: ast.AST) -> ast.AST:
        """Return the smallest part of the module that contains ``node`` and can be missing."""
        while not (isinstance(node, ast.stmt) or self._can_be_missing(node)):
            node = self._places[node][0]
        return node

    def _can_be_missing(self, node: ast.AST) -> bool:
        parent, siblings = self._places[node]
        missing = False
        match parent:
            case ast.List() | ast.Set() | ast.Dict():
                missing = True
            case ast.Tuple():
                missing = not isinstance(self._places[parent][0], ast.Subscript)
            case ast.ClassDef(bases=bases):
                missing = siblings is bases
            case ast.arguments(args=args, defaults=defaults):
                missing = node in args[len(args) - len(defaults) :]
            case ast.With(items=items) | ast.AsyncWith(items=items):
                missing = siblings is items and len(items) > 1
            case ast.Call():
                missing = isinstance(node, ast.keyword) and not self._is_field(parent)
        return missing

    def _is_field(self, node: ast.AST) -> bool:
        """Return whether a node is in the declaration of a class's field."""
        while not isinstance(node, ast.stmt):
            node = self._places[node][0]
        return isinstance(self._places[node][0], ast.ClassDef)

    def _delete(self, node: ast.AST) -> None:
        first: Any = node.context_expr if isinstance(node, ast.withitem) else node
        self.lines.update(range(first.lineno, first.end_lineno + 1))
        parent, siblings = self._places[node]
        index = siblings.index(node)
        _remove(index, parent, siblings)
        self._note_names(node, parent)
        if isinstance(parent, ast.Tuple) and not siblings:
            holder = self._places[parent][0]
            if isinstance(holder, ast.Call):  # a group of commands without commands
                self._delete(self._part(parent))
        if isinstance(node, ast.Return):
            while not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                parent = self._places[parent][0]
            self._delete(parent)
        elif isinstance(node, ast.stmt):
            if isinstance(node, ast.AnnAssign) and siblings[index:] and _is_text(siblings[index]):
                self._delete(siblings[index])
            if all(map(_is_text, siblings)) and not isinstance(parent, ast.Module | ast.ClassDef):
                if getattr(parent, "orelse", None):
                    siblings.append(ast.Pass())
                else:
                    self._delete(parent)

    def _note_names(self, node: ast.AST, parent: ast.AST) -> None:
        """Note the names that a deleted node defines."""
        match node:
            case ast.ImportFrom(names=names):
                self._names |= {one.asname or one.name for one in names}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                self._names.add(name)
            case ast.withitem(optional_vars=ast.Name(id=name)):
                self._names.add(name)
            case (
                ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)])
                | ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name))
            ):
                self._attributes.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                (self._attributes if isinstance(parent, ast.ClassDef) else self._names).add(name)


def _remove(index: int, parent: Any, siblings: list[Any]) -> None:
    """Remove an element from a node, with the other half of an entry or a parameter's default."""
    if isinstance(parent, ast.Dict):
        del parent.keys[index], parent.values[index]
        return
    if isinstance(parent, ast.arguments):
        del parent.defaults[index - len(siblings)]
    del siblings[index]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
