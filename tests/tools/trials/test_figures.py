"""The trial prints every figure, also of two checkouts, and counts code and private names."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.engines import ROOT
from tools.trials import figures


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> Mapping[str, list[float]]:
    """Run the trial, and return the rows of its table."""
    monkeypatch.setattr(sys, "argv", ["figures", *arguments])
    figures.main()
    rows = [line.strip("│ ").split("│") for line in capsys.readouterr().out.splitlines()]
    return {
        name.strip(): [float(one.replace(",", "")) for one in values]
        for name, *values in rows
        if values
    }


def test_a_row_shows_each_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(monkeypatch, capsys, "--rounds", "1")
    assert [name for name, values in found.items() if values == [0]] == [
        "modules with private names of other packages, except doors"
    ]
    assert list(found) == [
        "shipped code lines",
        "shipped modules",
        "code lines of schema, resolvers, dal, server",
        "modules of schema, resolvers, dal, server",
        "lines of import contracts",
        "modules with private names of other packages, except doors",
        "decoding 20 rows, µs",
        "encoding a comment, µs",
        "building the schema again, ms",
        "fields with a cost",
        "public fields",
        "page: modules",
        "page: functions",
        "page: changes of module",
        "add: modules",
        "add: functions",
        "add: changes of module",
    ]


def test_rounds_alternate_between_two_checkouts_and_the_trial_prints_their_medians(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    measured: list[Path] = []

    def in_process(root: Path) -> Mapping[str, float]:
        measured.append(root)
        return {"number of the round": len(measured) ** 2}

    monkeypatch.setattr(figures, "in_process", in_process)
    monkeypatch.setattr(figures, "sizes", lambda root: {"files": len(list(root.iterdir()))})
    found = printed(monkeypatch, capsys, "--rounds", "3", "--other", str(tmp_path))
    assert measured == [tmp_path, ROOT] * 3
    assert found == {"files": [0, len(list(ROOT.iterdir()))], "number of the round": [9, 16]}


def test_lines_of_code_exclude_blank_lines_comments_and_docstrings() -> None:
    text = '"""A module."""\n\n# A comment\nONE = """a\nb"""  # a comment\n'
    text += '"""The\nfirst."""\nTWO = [\n    1,\n]\n'
    assert figures.code_lines(text) == 5


@pytest.mark.parametrize(
    ("line", "borrows"),
    [
        ("from uvicorn._types import HTTPScope", True),
        ("from markupsafe import _escape_inner", True),
        ("import _thread", True),
        ("print(info._raw_info)", True),
        ("self._started = self._stop()", True),
        ("self._ended = self._ended + 1", False),
        ("from program.base import Base\nself._begin()", False),
        ("print(row._asdict(), row.__class__)", False),
        ("from __future__ import annotations", False),
    ],
)
def test_a_module_borrows_a_private_name_that_it_neither_defines_nor_imports_from_the_program(
    line: str, *, borrows: bool
) -> None:
    modules = {
        "program.base": "class Base:\n    def _begin(self) -> None: ...\n",
        "program.one": line,
    }
    assert figures.borrowers(modules) == ({"program.one"} if borrows else set())
