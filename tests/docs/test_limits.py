"""SECURITY.md lists each limit once, with tests that exist."""

import re

from tests.engines import ROOT

_ROW = re.compile(r"^\| (?P<what>[^|]+) \| [^|]+ \| (?P<tests>[^|]+) \|$", re.MULTILINE)


def test_each_limit_is_listed_once_with_existing_tests() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    table = text.partition("## Limits")[2].partition("\nWith N workers")[0]
    rows = [row for row in table.splitlines() if row.startswith("|")][2:]
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
