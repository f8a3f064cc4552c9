"""Clients receive no instructions for operators, such as commands, options or settings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import schema
from schema.build import build_schema
from server.cli.main import COMMANDS

ROOT = Path(schema.__file__).parents[1]

SEEN_BY_CLIENTS = (
    "schema",
    "resolvers",
    "features/*/resolvers.py",
    "features/*/types.py",
    "features/*/links.py",
    "features/*/grant.py",
    "server/http",
    "server/auth",
    "server/health.py",
)

LOGGED = ("server/auth/issuer.py", "--jwt-issuer")
"""A module, and an option that it names only in the log."""

OPERATORS_OWN = ROOT / "server/auth/secret.py"
"""A module whose errors are CommandErrors, which only the command line prints."""

INSTRUCTION = re.compile(r"\bmarginalia [a-z]|(?<![\w-])--[a-z]|MARGINALIA_|AWS_")


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a module, without its docstrings and log messages."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger" | "_log"))):
                continue
            case ast.Constant(value=str(text)):
                yield text
            case _:
                yield from texts_of(node)


def test_no_message_to_clients_names_a_command_an_option_or_a_setting() -> None:
    told = [
        f"{module.relative_to(ROOT)}: {text}"
        for place in SEEN_BY_CLIENTS
        for module in sorted({*ROOT.glob(place), *ROOT.glob(f"{place}/**/*.py")})
        if module.suffix == ".py" and module != OPERATORS_OWN
        for text in texts_of(ast.parse(module.read_text()))
        if INSTRUCTION.search(text) and not (module == ROOT / LOGGED[0] and LOGGED[1] in text)
    ]
    assert told == []


def test_no_description_of_the_schema_names_a_command_or_a_setting() -> None:
    assert INSTRUCTION.findall(build_schema().as_str()) == []


SHOWN = re.compile(rf"marginalia ({'|'.join(COMMANDS)})|pip install|make [a-z]+\b|MARGINALIA_")
"""Commands and variables of operators.

Options are not searched: CSS and scripts contain `--` too.
"""


def test_no_page_and_no_script_shows_a_command_of_the_operator() -> None:
    files = [
        path
        for folder in ("templates", "static")
        for path in sorted((ROOT / "pages" / folder).rglob("*"))
        if path.suffix in {".html", ".js"}
    ]
    assert len(files) > 20
    shown = {path.name: found for path in files if (found := SHOWN.findall(path.read_text()))}
    assert shown == {}
