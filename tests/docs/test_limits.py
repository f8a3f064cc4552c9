"""SECURITY.md lists each limit once, with its value and with tests that exist."""

import ast
import re
from collections.abc import Iterator

from tests.engines import ROOT
from tests.scans import PRODUCT

_ROW = re.compile(r"^\| (?P<what>[^|]+) \| [^|]+ \| (?P<tests>[^|]+) \|$", re.MULTILINE)

_NAME = re.compile(
    "(MAX|AUTOMATIC|TRUSTED)_[A-Z_]+|KEPT_BYTES|KEPT_TAGS|MIN_TAKEN|SECONDS_OF_REQUEST"
)

UNLISTED = {
    "MAX_AMOUNT": "an order's amount is text in the database, so its size costs nothing",
    "MAX_BACKLOG": "the bytes of unread events from Redis, which no client chooses",
    "MAX_FORM_FIELDS": "a form's body is limited, which the table lists",
    "MAX_REQUEST_ID": "another request id is used, and the client learns nothing",
}
"""The limits without a row, with the reason."""


def limits() -> Iterator[tuple[str, int | float]]:
    """Yield the name and value of each limit in the shipped code, next to what it limits."""
    files = [path for one in PRODUCT for path in sorted((ROOT / one).rglob("*.py"))]
    for node in (node for path in files for node in ast.parse(path.read_text("utf-8")).body):
        match node:
            case ast.Assign([ast.Name(name)], value) if _NAME.fullmatch(name):
                yield name, eval(ast.unparse(value), {})


def forms(value: float) -> set[str]:
    """Return the forms in which the table may show a limit."""
    kilo = {f"{value / 1024:g} kB", f"{value / 1_000_000:g} MB", f"{value * 1000:g} ms"}
    return {f"{value:,}", *kilo}


def limits_table() -> str:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    return text.partition("## Limits")[2].partition("\nEach of N workers")[0]


def test_each_limit_of_the_code_is_listed_with_its_value() -> None:
    found = dict(limits())
    assert len(found) > 50
    assert set(UNLISTED) <= set(found)
    shown = set(
        re.findall(r"(?<![\w.,])\d[\d,.]*\d(?: [kM]B| ms)?|\d(?: [kM]B| ms)?", limits_table())
    )
    missing = {name: value for name, value in found.items() if not forms(value) & shown}
    assert set(missing) == set(UNLISTED)


def test_each_limit_is_listed_once_with_existing_tests() -> None:
    rows = [row for row in limits_table().splitlines() if row.startswith("|")][2:]
    found = [match.groupdict() for match in map(_ROW.match, rows) if match]
    assert len(found) == len(rows) > 30, "a row lacks its test"
    assert len({one["what"] for one in found}) == len(found)
    sources = {
        str(file.relative_to(ROOT)): file.read_text("utf-8")
        for file in (ROOT / "tests").rglob("test_*.py")
    }
    named = [name for one in found for name in re.findall(r"`([^`]+)`", one["tests"])]
    missing = [
        name
        for name in named
        if name not in sources and not any(f"def {name}(" in text for text in sources.values())
    ]
    assert missing == []
