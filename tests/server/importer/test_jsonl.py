import json
from pathlib import Path

import pytest

from server.errors import CommandError
from server.importer.rows import Reject, Row
from tests.server.importer.reading import bad, good, read_json_lines, row, write


def test_each_line_is_a_row_and_blank_lines_do_not_count() -> None:
    found = read_json_lines('{"id": 1}\r\n\n  \n{"id": "zwei", "ü": [null]}')
    assert [(one.line, dict(one.cells)) for one in good(found)] == [
        (1, {"id": 1}),
        (4, {"id": "zwei", "ü": [None]}),
    ]
    assert bad(found) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": 1', "broken JSON at column 9: Expecting ',' delimiter"),
        ('{"id": 1} {"id": 2}', "broken JSON at column 11: Extra data"),
        ('"text"', "the line is not a JSON object"),
        ('{"a":' * 100_000, "broken JSON: nested too deep, or a number too long"),
        ('{"id": ' + "9" * 5_000 + "}", "broken JSON: nested too deep, or a number too long"),
        ('{"rating": NaN}', "broken JSON: NaN is not a JSON value"),
        ('{"id": "\t"}', "broken JSON at column 9: Invalid control character at"),
        ('{"id": "\0"}', "the line holds a NUL byte"),
        ('{"id": "caf\udce9"}', "byte 12 of the line is not UTF-8"),
    ],
)
def test_a_broken_line_costs_only_itself(line: str, reason: str) -> None:
    before, reject, after = read_json_lines(f'{{"id": 0}}\n{line}\n{{"id": 2}}\n')
    assert isinstance(before, Row)
    assert isinstance(after, Row)
    assert isinstance(reject, Reject)
    assert (reject.line, reject.reason, reject.raw) == (2, reason, line)


def test_an_overlong_line_keeps_its_head_only() -> None:
    found = read_json_lines('{"id": "' + "x" * 2_000_000 + '"}\n{"id": 2}\n')
    (reject,) = bad(found)
    assert reject.cut
    assert reject.raw is not None
    assert len(reject.raw) == 1_000
    assert [one.line for one in good(found)] == [2]


def test_a_json_array_is_refused_as_a_whole() -> None:
    with pytest.raises(
        CommandError, match=r"one JSON array: write one object a line, with `jq -c '\.\[\]'`"
    ):
        read_json_lines('[\n{"id": 1}\n]\n')


def test_rows_of_a_rejects_file_are_read_as_they_were(tmp_path: Path) -> None:
    text = '{"id": 12345678901234567890, "rating": 9, "price": 1.10, "id": 2}'
    (found,) = good(read_json_lines(text))
    path = tmp_path / "rejects.jsonl"
    write([found.rejected("rating is 9; it goes from 1 to 5.")], path)
    assert text in path.read_text()
    assert [one.cells for one in good(read_json_lines(path.read_bytes()))] == [json.loads(text)]


def test_raw_text_of_a_rejects_file_is_read_once_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "rejects.jsonl"
    write(
        [
            Reject(4, "…", raw='{"id": 1'),
            Reject(5, "…", raw='7,"open,2020', columns=["id", "text", "at"]),
            Reject(6, "…", raw="caf\udce9,x,y", columns=["id", "text", "at"]),
        ],
        path,
    )
    assert [one.reason for one in bad(read_json_lines(path.read_bytes()))] == [
        "broken JSON at column 9: Expecting ',' delimiter",
        "a quote is opened and never closed",
        r"raw holds NUL, or bytes that are not UTF-8 as \udc80 to \udcff",
    ]
    mended = path.read_text().replace(": 1", ": 1}").replace("open", 'open""')
    mended = mended.replace('open"",', r"open\",").replace("\\udce9", "é")
    assert [dict(one.cells) for one in good(read_json_lines(mended))] == [
        {"id": 1},
        {"id": "7", "text": "open", "at": "2020"},
        {"id": "café", "text": "x", "at": "y"},
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"line": 1, "reason": "…"},
        {"line": 1, "reason": "…", "raw": "1,2", "columns": "id"},
        {"line": 1, "reason": "…", "raw": '{"id": 1}', "cut": True},
        {"line": 1, "reason": "…", "row": 7},
    ],
)
def test_an_entry_without_a_whole_row_is_rejected(entry: dict[str, object]) -> None:
    (reject,) = bad(read_json_lines(json.dumps(entry)))
    assert reject.reason == "the entry of a rejects file holds no whole row"


def test_a_row_with_columns_of_its_own_is_no_entry_of_a_rejects_file() -> None:
    cells = {**row(), "line": 3, "reason": "gift"}
    assert [one.cells for one in good(read_json_lines(json.dumps(cells)))] == [cells]
