"""A client never reads an operator's instruction: no command, option or setting of the server."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import schema
from schema.build import build_schema

ROOT = Path(schema.__file__).parents[1]

SEEN_BY_CLIENTS = ("schema", "resolvers", "server/http", "server/auth/authenticator.py")

INSTRUCTION = re.compile(r"\bmarginalia [a-z]|(?<![\w-])--[a-z]|MARGINALIA_|AWS_")


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a module but its docstrings and what it logs."""
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
        for module in sorted({ROOT / place, *(ROOT / place).rglob("*.py")})
        if module.suffix == ".py"
        for text in texts_of(ast.parse(module.read_text()))
        if INSTRUCTION.search(text)
    ]
    assert told == []


def test_no_description_of_the_schema_names_one() -> None:
    assert INSTRUCTION.findall(build_schema().as_str()) == []
