"""Measures the code's size, its import rules, calls per request, decoding and the schema's build.

With ``--other``, the trial also measures another checkout, such as one of the parent commit, in
that checkout's own environment. Each round is a new process, and the rounds alternate between the
checkouts. The trial prints the medians of the rounds.
"""

import argparse
import ast
import importlib
import io
import json
import re
import statistics
import subprocess
import tokenize
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from timeit import repeat
from typing import Any

from dal.entities.comment import COMMENT, comment_position
from dal.model import Comment, Photo, Reply
from tests.engines import ROOT
from tools.trials.page_path import MOST, walk
from tools.trials.reporting import show

LAYERS = ("schema", "resolvers", "dal", "server")

TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
"""The public names of named tuples that begin with ``_``."""

CONTRACTS = re.compile(r"(?ms)^\[tool\.importlinter\].*?(?=^\[(?!\[?tool\.importlinter)|\Z)")

ROUND = """
import tools
tools.__path__.insert(0, {folder!r})  # older checkouts do not have this trial
from tools.trials import figures
print(figures.json.dumps(figures.measured()))
"""


def shipped(root: Path) -> dict[str, str]:
    """Return the texts of the modules that a checkout's wheel contains, by name."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    paths = [path for package in packages for path in (root / package).rglob("*.py")]
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): (
            path.read_text("utf-8")
        )
        for path in paths
    }


def code_lines(text: str) -> int:
    """Return the number of lines without blank lines, comments and docstrings."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string.strip() and token.type != tokenize.COMMENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines.difference_update(range(first, last + 1))
    return len(lines)


def borrowers(modules: Mapping[str, str]) -> set[str]:
    """Return the modules that use private names of other packages.

    Such a name is imported, or is an attribute that neither the module nor a module that it imports
    defines.
    """
    uses = {name: names_in(ast.parse(text)) for name, text in modules.items()}
    found = set()
    for module, (defined, imported, read) in uses.items():
        known = defined.union(TUPLES, *(uses[one][0] for one in imported & uses.keys()))
        if any(re.search(r"\b_[a-zA-Z]", name) for name in imported | (read - known)):
            found.add(module)
    return found


def names_in(tree: ast.AST) -> tuple[set[str], set[str], set[str]]:
    """Return the names that a module defines, those that it imports, and its attributes."""
    defined, imported, read = set[str](), set[str](), set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                defined.add(name)
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                defined.add(name)
            case ast.Attribute(attr=name, ctx=context):
                (defined if isinstance(context, ast.Store) else read).add(name)
            case ast.Import(names=names):
                imported.update(one.name for one in names)
            case ast.ImportFrom(module=str(module), names=names):
                imported.update([module, *(f"{module}.{one.name}" for one in names)])
    return defined, imported, read


def sizes(root: Path) -> dict[str, float]:
    """Return the figures of a checkout's files."""
    modules = shipped(root)
    lines = {name: code_lines(text) for name, text in modules.items()}
    layers = [count for name, count in lines.items() if name.partition(".")[0] in LAYERS]
    contracts = CONTRACTS.findall((root / "pyproject.toml").read_text("utf-8"))
    private = [name for name in borrowers(modules) if not name.endswith("_door")]
    return {
        "shipped code lines": sum(lines.values()),
        "shipped modules": len(lines),
        f"code lines of {', '.join(LAYERS)}": sum(layers),
        f"modules of {', '.join(LAYERS)}": len(layers),
        "lines of import contracts": sum(len(one.splitlines()) for one in contracts),
        "modules with private names of other packages, except doors": len(private),
    }


def comments() -> list[Comment]:
    """Return a page of comments. Some have a reply, photos or votes."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    photos = (Photo("https://shop.example/1.jpg", "Front"),)
    plain = Comment(
        "1", "product", "ann", 5, "en", "As described", "A text of a comment. " * 5, now
    )
    return [
        plain._replace(
            comment_id=f"comment-{number}",
            created_at=now + timedelta(hours=number),
            verified_purchase=number % 2 == 0,
            name=f"Ann {number}",
            votes=number % 3,
            reply=None if number % 10 else Reply("Thank you.", now + timedelta(days=1)),
            photos=() if number % 5 else photos,
        )
        for number in range(20)
    ]


def measured() -> dict[str, float]:
    """Return one round: the fastest repetitions, entries of tables, and calls of warm requests."""
    page = comments()
    rows: list[Any] = [
        (comment_position(one), COMMENT.encode(one), {"product": one.product_id}) for one in page
    ]
    decoding = repeat(lambda: [COMMENT.decode_row(row) for row in rows], number=100, repeat=50)
    encoding = repeat(lambda: [COMMENT.encode(one) for one in page], number=10, repeat=50)
    build: Any = importlib.import_module("schema.build")

    def build_again() -> None:
        build._with_types.cache_clear()
        build.build_schema()

    building = repeat(
        build_again, number=1, repeat=50
    )  # the first conversion of types takes longer
    schema = build.build_schema(explain=True)
    if hasattr(schema, "facts"):
        reads, public = schema.facts.reads, schema.facts.public
    else:  # in older checkouts these are tables
        reads = build.READS
        public = importlib.import_module("schema.execution.visibility")._PUBLIC
    found: dict[str, float] = {
        "decoding 20 rows, µs": min(decoding) / 100 * 1e6,
        "encoding a comment, µs": min(encoding) / 10 / len(page) * 1e6,
        "building the schema again, ms": min(building) * 1e3,
        "fields with a cost": len(reads),
        "public fields": len(public),
    }
    for kind in MOST:
        names = (f"{kind}: modules", f"{kind}: functions", f"{kind}: changes of module")
        found.update(zip(names, walk(kind), strict=True))
    return found


def in_process(root: Path) -> Any:
    """Return one round of a checkout."""
    code = ROUND.format(folder=str(Path(__file__).parents[1]))
    command = [str(root / ".venv/bin/python"), "-c", code]
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure, and print a row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, help="another checkout, for comparison")
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds (default: 7)")
    options = parser.parse_args()
    roots = [*([options.other.resolve()] if options.other else []), ROOT]
    rounds = [[in_process(root) for root in roots] for _ in range(options.rounds)]
    columns = [sizes(root) for root in roots]
    for column, results in zip(columns, zip(*rounds, strict=True), strict=True):
        column |= {name: statistics.median(one[name] for one in results) for name in results[0]}
    rows = [
        [name, *(f"{one[name]:,.1f}".removesuffix(".0") for one in columns)] for name in columns[0]
    ]
    show("Figures", ("figure", *(root.name for root in roots)), rows)


if __name__ == "__main__":
    main()
