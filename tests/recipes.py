"""Applies the code of a recipe to a copy of the program. A place is found by its syntax.

A place in a Python file is a path of names, such as ``Comment.photos``: a class, a function, a
variable, an argument, a field of a call, a key, or an element of a sequence. An element or a call
is named by its first argument, its argument ``name`` or its function. ``if …`` names a statement by
its condition, and ``from …`` an import. The shallowest node with the name counts. A place in
another file is a whole line without its margin.
"""

import ast
import shutil
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engines import ROOT

COMMENT_FIELD = ROOT / "tests" / "fixtures" / "comment_field.toml"
FEATURE = ROOT / "tests" / "fixtures" / "feature.toml"

_WHOLE = ("if ", "from ")
"""The beginnings of names that can contain dots."""

FIELD_TESTS = [
    str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/**/test_comment_fields.py"))
]
"""The tests that name the places of a field of comments."""

FEATURE_TESTS = (
    "tests/features/pins/test_pins.py",
    "tests/integration/test_comment_access.py::test_the_table_of_access_has_a_row_for_every_path_of_the_schema",
    "tests/schema/execution/test_facts.py",
    "tests/schema/test_access.py::test_every_mutation_refuses_a_user_whose_data_is_being_erased",
)
"""The tests of the recipe's feature, and those of the core that name what a feature lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Adds code after a place in a file: as lines, or before the place's comma if ``joined``.

    Without a place, the file is new.
    """

    file: str
    after: str = ""
    code: str
    joined: bool = False
    first: bool = False
    """Whether the code comes before the place."""


def edits_of(path: Path) -> list[Edit]:
    """Return the edits in a TOML file."""
    return [Edit(**one) for one in tomllib.loads(path.read_text("utf-8"))["edit"]]


def copied(target: Path) -> Path:
    """Copy the files that Git knows to a directory, and return it. Packages of npm are links."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
            packages = (ROOT / name).with_name("node_modules")
            if packages.is_dir() and Path(name).name == "package.json":
                (target / name).with_name("node_modules").symlink_to(packages)
    return target


def apply(edit: Edit, root: Path) -> None:
    """Apply an edit to the files below ``root``."""
    path = root / edit.file
    if not edit.after:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(edit.code, "utf-8")
        return
    text = path.read_text("utf-8")
    changed = (_python if path.suffix == ".py" else _lines)(text, edit)
    path.write_text(changed, "utf-8")


def _python(text: str, edit: Edit) -> str:
    node, end = place(ast.parse(text), edit.after)
    lines = text.splitlines(keepends=True)
    last = (node if edit.first else end).end_lineno - 1
    line = lines[last].encode()
    cut = node.col_offset if edit.first else end.end_col_offset
    before, after = line[:cut].decode(), line[cut:].decode()
    if edit.joined:
        lines[last] = before + edit.code + after
    elif isinstance(end, ast.expr | ast.keyword) and after.strip() not in {"", ","}:
        lines[last] = f"{before}, {edit.code.strip().rstrip(',')}{after}"
    else:
        # The last element of a sequence may have no comma.
        comma = "" if isinstance(end, ast.stmt) or after.strip() else ","
        lines[last] = before + comma + after
        start = lines[node.lineno - 1] if isinstance(node, ast.stmt) else before
        margin = start[: len(start) - len(start.lstrip())]
        lines.insert(last + 1, textwrap.indent(edit.code.strip("\n") + "\n", margin))
    return "".join(lines)


def _lines(text: str, edit: Edit) -> str:
    done = []
    for line in text.splitlines(keepends=True):
        margin = line[: len(line) - len(line.lstrip())]
        added = textwrap.indent(edit.code.strip("\n") + "\n", margin)
        there = line.strip() == edit.after
        done += [added, line] if there and edit.first else [line, added] if there else [line]
    assert len(done) > len(text.splitlines()), f"{edit.file} has no line {edit.after}"
    return "".join(done)


def place(node: ast.AST, path: str) -> tuple[Any, Any]:
    """Return the node that a path of names describes, and the node at which its text ends."""
    parts = [path] if path.startswith(_WHOLE) else path.split(".")
    for number, part in enumerate(parts):
        rest = ".".join(parts[number:])
        name = rest if rest.startswith(_WHOLE) else part
        level: list[ast.AST] = [node]
        found: list[tuple[ast.AST, ast.AST]] = []
        while level and not found:
            children = [child for one in level for child in ast.iter_child_nodes(one)]
            found = [pair for one in level for pair in _named(one, name)]
            level = children
        assert len(found) == 1, f"{path}: {len(found)} places are named {name}"
        ((node, end),) = found
        if name.startswith(_WHOLE):
            break
    return node, end


def _named(parent: ast.AST, name: str) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield the children with a name, each with the node at which its text ends."""
    if isinstance(parent, ast.Dict):
        for key, value in zip(parent.keys, parent.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == name:
                yield key, value
        return
    for child in ast.iter_child_nodes(parent):
        if _name_of(child) == name:
            yield child, child


def _name_of(node: ast.AST) -> str | None:
    name: str | None = None
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.alias():
            name = node.name
        case ast.arg() | ast.keyword():
            name = node.arg
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            pass
        case ast.Assign(targets=[ast.Attribute(attr=name)]):
            pass
        case ast.ImportFrom():
            name = f"from {node.module}"
        case ast.Call(keywords=[ast.keyword("name", ast.Constant(str(name))), *_]):
            pass
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) | ast.Constant(value=str(name)):
            pass
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
            pass
        case ast.If():
            name = f"if {ast.unparse(node.test)}"
    return name
