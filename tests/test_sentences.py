"""Tests assert codes, attributes and values. Sentences of the program are only in catalogues.

A catalogue is a module ``test_messages.py``: it compares each sentence of the package that its
folder tests with the whole text, once. So a better sentence changes the program and one line.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import ROOT
from tests.scans import PRODUCT

CATALOGUE = "test_messages.py"
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
LENGTH = 4
"""The words of a sequence. Shorter texts are names and commands, such as a command to run."""

STAYS: dict[tuple[str, str], str] = {
    ("dal/dynamodb/test_wire.py", "file is not a database"): "a message of SQLite",
    ("dal/table/test_index.py", "#p = :p AND #s BETWEEN :l AND :h"): "a condition of DynamoDB",
    ("tools/bench/test_bill_of_mutations.py", "reply to a comment"): "a line of docs/costs.md",
}
"""Literals that equal a sentence by chance or on purpose, by module and text, with the reason."""


def literals(path: Path) -> Iterator[str]:
    """Yield the string literals and the parts of f-strings, without docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield text


def sequences(text: str) -> Iterator[tuple[str, ...]]:
    """Yield every sequence of four words. A number, a path or an option ends a sequence."""
    run: list[str] = []
    for chunk in text.split():
        word = chunk.strip(".,;:!?*^$()[]\"'`\\…")
        run = [*run, word][-LENGTH:] if WORD.fullmatch(word) else []
        if len(run) == LENGTH:
            yield tuple(run)


def is_sentence(text: str, program: set[tuple[str, ...]]) -> bool:
    """Return whether at least half of the text's sequences are in literals of the program."""
    found = [sequence in program for sequence in sequences(text)]
    return any(found) and 2 * sum(found) >= len(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rating is 9; it must be from 1 to 5.", True),
        ("it must be from", True),
        (r".*it must be from 1 to \d\.", True),
        ("rating is 9", False),
        ("it must be a poem about cats", False),
    ],
)
def test_a_sentence_is_found_by_its_words(text: str, expected: bool) -> None:
    program = set(sequences(" is somewhere; it must be from "))
    assert is_sentence(text, program) is expected


def test_only_catalogues_contain_sentences_of_the_program() -> None:
    program = {
        sequence
        for package in PRODUCT
        for path in (ROOT / package).rglob("*.py")
        for text in literals(path)
        for sequence in sequences(text)
    }
    found = {
        (path.relative_to(ROOT / "tests").as_posix(), text)
        for path in (ROOT / "tests").rglob("*.py")
        if path.name != CATALOGUE and path != Path(__file__) and "node_modules" not in path.parts
        for text in literals(path)
        if is_sentence(text, program)
    }
    assert not sorted(found - STAYS.keys())
    assert not STAYS.keys() - found
