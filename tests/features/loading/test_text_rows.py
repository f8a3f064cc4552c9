"""Rows of CSV and JSONL."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from features.loading.column_mapping import NO_PRESET, Preset
from features.loading.rows import Reject, Row
from features.loading.text_rows import CsvRows, read_jsonl
from server.errors import CommandError
from tests.features.loading.reading import (
    bad,
    good,
    read_csv,
    read_json_lines,
    row,
    source,
    write,
)

PLAIN = "id,text\n"


def lines_of(found: list[Row | Reject]) -> list[tuple[int, str]]:
    return [(one.line, "row" if isinstance(one, Row) else "reject") for one in found]


def test_a_row_has_its_cells_by_column() -> None:
    assert read_csv('id,text\n1,"a, ""b"""\r\n2,\n') == [
        Row(2, {"id": "1", "text": 'a, "b"'}),
        Row(3, {"id": "2", "text": ""}),
    ]


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_the_delimiter_is_found_by_the_header(delimiter: str, tmp_path: Path) -> None:
    text = f'id{delimiter}"text, and; more"\n1{delimiter}"a{delimiter}b"\n2{delimiter}"x" y\n'
    text += f"3{delimiter}c\n"
    found = read_csv(text)
    assert [dict(one.cells).popitem()[1] for one in good(found)] == [f"a{delimiter}b", "c"]
    assert [one.line for one in bad(found)] == [3]
    path = tmp_path / "rejects.jsonl"
    write(bad(found), path)
    fixed = read_json_lines(path.read_text().replace('\\" y', ' y\\"'))
    assert [dict(one.cells) for one in good(fixed)] == [{"id": "2", "text, and; more": "x y"}]


def test_a_named_delimiter_is_used() -> None:
    assert list(CsvRows(source("a,b;c\n1,2;3\n"), Preset(delimiter=";"))) == [
        Row(2, {"a,b": "1,2", "c": "3"})
    ]


def test_line_numbers_are_physical_also_after_cells_with_several_lines() -> None:
    found = read_csv('id,text\n1,"a\nb\n\nc"\n\n2,d\n,\n ,"",\n3,e,f\n')
    assert lines_of(found) == [(2, "row"), (7, "row"), (10, "reject")]
    assert next(good(found)).cells["text"] == "a\nb\n\nc"


@pytest.mark.parametrize("text", ["a\r\nb", "a\x0bb\u2028c\x85d", "x" * 990_000])
def test_a_cell_keeps_all_its_characters(text: str) -> None:
    assert read_csv(f'id,text\r\n1,"{text}"\r\n') == [Row(2, {"id": "1", "text": text})]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1", "1 cells"),
        ("1,a,b", "3 cells"),
        ('1,"a"b', "closing quote"),
        ("1,a\rb", "carriage return"),
        ("1,a\0", "NUL"),
        ("1,caf\udce9", "byte 6 "),
    ],
)
def test_a_malformed_row_rejects_only_itself(line: str, reason: str) -> None:
    found = read_csv(f"{PLAIN}0,before\n{line}\n2,after\n")
    assert lines_of(found) == [(2, "row"), (3, "reject"), (4, "row")]
    (reject,) = bad(found)
    assert (reject.raw, reject.columns) == (line, ["id", "text"])
    assert reason in reject.reason


FINE = "".join(f"{n},fine\n" for n in range(2, 500))
MANY = "".join(f"{n},fine\n" for n in range(2, 120_002))


@pytest.mark.parametrize(
    ("content", "rejects", "rows"),
    [
        (f'{PLAIN}1,"open\n{FINE}', [(2, '1,"open')], 498),
        (f'{PLAIN}1,"open\n{MANY}', [(2, '1,"open')], 120_000),
        (f'{PLAIN}1,"open\n2,fine\n3,"a ""b"", c"\n4,"two\nlines"\n', [(2, '1,"open')], 3),
        (f'{PLAIN}1,"a\nb\nc",2\n2,fine\n', [(2, '1,"a\nb\nc",2')], 1),
        (f'{PLAIN}1,"open\n2,"two\nlines"\n', [(2, '1,"open')], 1),
        (f'{PLAIN}1,"a\n2,b\udce9\nc"\n3,fine\n', [(2, '1,"a\n2,b\udce9\nc"')], 1),
        (f'{PLAIN}1,"a\n{"x" * 1_100_000}\nb"\n2,fine\n', [(2, None), (4, 'b"')], 1),
    ],
    ids=[
        "a quote that is never closed",
        "a quote before more text than a row may have",
        "a quote that a later row's quote ends",
        "several lines with a cell too many",
        "a quote before a row that continues in later lines",
        "several lines with a byte that is not UTF-8",
        "an overlong line inside quotes",
    ],
)
def test_a_malformed_record_rejects_only_its_own_row(
    content: str, rejects: list[tuple[int, str | None]], rows: int
) -> None:
    found = list(
        CsvRows(source(content), NO_PRESET, lambda cells: str(cells.get("id", 1)).isdigit())
    )
    assert len(list(good(found))) == rows
    assert [(one.line, None if one.cut else one.raw) for one in bad(found)] == rejects


def test_the_reason_has_the_last_line_of_a_malformed_record() -> None:
    (reject,) = bad(read_csv(f'{PLAIN}1,"open\nto the end\n'))
    assert "line 3" in reject.reason


def test_a_row_has_a_maximum_length() -> None:
    cells = ",".join(f'"{"x" * 100_000}\n"' for _ in range(11))
    (reject,) = bad(read_csv(f"{PLAIN}{cells}\n")[:1])
    assert "1,000,000" in reject.reason


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('"id,text\n', "sample .*header: .* never closed"),
        (b"id,caf\xe9\n", "sample .*header: byte 7 .* --encoding"),
        ("id\rtext\r", "sample .*header: .* carriage return"),
    ],
)
def test_a_malformed_header_ends_the_load(content: str | bytes, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        read_csv(content)


@pytest.mark.parametrize(
    ("content", "rows"),
    [("\n\r\n,\n id , text\n1,a\n", [Row(5, {"id": "1", "text": "a"})]), (PLAIN, []), ("", [])],
    ids=["blank lines before it, spaces around its names", "alone", "none"],
)
def test_a_header_is_read(content: str, rows: list[Row]) -> None:
    assert read_csv(content) == rows


def test_raw_text_with_two_rows_is_refused() -> None:
    entry = {"line": 1, "reason": "", "raw": "1,a\n2,b", "columns": ["id", "text"]}
    (reject,) = read_json_lines(json.dumps(entry))
    assert isinstance(reject, Reject)
    assert "2 rows" in reject.reason


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS).filter(lambda row: "".join(row).strip()), max_size=20)
)
def test_rows_written_as_csv_are_read_unchanged(rows: list[tuple[str, str, str]]) -> None:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b", "c"), *rows])
    assert [tuple(one.cells.values()) for one in good(read_csv(file.getvalue()))] == rows


@given(st.lists(st.text(st.sampled_from('ab,"\0\udce9\r'), max_size=9), max_size=30))
def test_every_line_is_part_of_a_row_or_a_reject(lines: list[str]) -> None:
    found = read_csv(PLAIN + "".join(f"{line}\n" for line in lines))
    starts = [one.line for one in found]
    assert starts == sorted(set(starts))
    blank = {number for number, line in enumerate(lines, 2) if line.strip(',"\r') == ""}
    for one, end in zip(found, [*starts[1:], len(lines) + 2], strict=False):
        # A row ends before the next one starts. A reject has the text of all its lines.
        size = one.raw.count("\n") + 1 if isinstance(one, Reject) and one.raw else end - one.line
        assert set(range(one.line + size, end)) <= blank
    assert set(range(2, starts[0] if starts else len(lines) + 2)) <= blank


@given(st.lists(st.text(st.sampled_from('ab,"\n\0\udce9'), max_size=12), max_size=20))
@example(lines=[',"', ',\n"'])
def test_rejects_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path: Path = tmp_path_factory.mktemp("rejects") / "rejects.jsonl"
    rejects = bad(read_csv(PLAIN + "".join(f"{line}\n" for line in lines)))
    write(rejects, path)
    again = read_json_lines(path.read_bytes())
    assert [one.cells if isinstance(one, Row) else (one.raw, one.columns) for one in again] == [
        json.loads(one.row) if one.row else (one.raw, one.columns) for one in rejects
    ]


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
        ('{"id": 1', "column 9: "),
        ('{"id": 1} {"id": 2}', "column 11: "),
        ('"text"', "JSON object"),
        ('{"a":' * 100_000, "too many levels"),
        ('{"id": ' + "9" * 5_000 + "}", "number"),
        ('{"rating": NaN}', "NaN"),
        ('{"id": "\t"}', "column 9: Invalid control character"),
        ('{"id": "\0"}', "NUL"),
        ('{"id": "caf\udce9"}', "byte 12 "),
    ],
)
def test_a_malformed_line_rejects_only_itself(line: str, reason: str) -> None:
    before, reject, after = read_json_lines(f'{{"id": 0}}\n{line}\n{{"id": 2}}\n')
    assert isinstance(before, Row)
    assert isinstance(after, Row)
    assert isinstance(reject, Reject)
    assert (reject.line, reject.raw) == (2, line)
    assert reason in reject.reason


def test_of_a_too_long_line_only_the_start_is_kept() -> None:
    found = read_json_lines('{"id": "' + "x" * 2_000_000 + '"}\n{"id": 2}\n')
    (reject,) = bad(found)
    assert reject.cut
    assert reject.raw is not None
    assert len(reject.raw) == 1_000
    assert [one.line for one in good(found)] == [2]


def test_a_json_array_is_refused_as_a_whole() -> None:
    with pytest.raises(CommandError, match=r"sample .* `jq -c '\.\[\]'`"):
        read_json_lines('[\n{"id": 1}\n]\n')


def test_rows_of_a_rejects_file_are_read_unchanged(tmp_path: Path) -> None:
    text = '{"id": 12345678901234567890, "rating": 9, "price": 1.10, "id": 2}'
    (found,) = good(read_json_lines(text))
    path = tmp_path / "rejects.jsonl"
    write([found.rejected("wrong")], path)
    assert text in path.read_text()
    assert [one.cells for one in good(read_json_lines(path.read_bytes()))] == [json.loads(text)]


def test_corrected_raw_text_of_a_rejects_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rejects.jsonl"
    write(
        [
            Reject(4, "…", raw='{"id": 1'),
            Reject(5, "…", raw='7,"open,2020', columns=["id", "text", "at"]),
            Reject(6, "…", raw="caf\udce9,x,y", columns=["id", "text", "at"]),
        ],
        path,
    )
    faults = ["column 9: ", "never closed", "UTF-8"]
    for fault, one in zip(faults, bad(read_json_lines(path.read_bytes())), strict=True):
        assert fault in one.reason
    fixed = path.read_text().replace(": 1", ": 1}").replace("open", 'open""')
    fixed = fixed.replace('open"",', r"open\",").replace("\\udce9", "é")
    assert [dict(one.cells) for one in good(read_json_lines(fixed))] == [
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
def test_an_entry_without_a_complete_row_is_rejected(entry: dict[str, object]) -> None:
    (reject,) = bad(read_json_lines(json.dumps(entry)))
    assert "complete row" in reject.reason


def test_a_row_with_more_columns_is_not_an_entry_of_a_rejects_file() -> None:
    cells = {**row(), "line": 3, "reason": "gift"}
    assert [one.cells for one in good(read_json_lines(json.dumps(cells)))] == [cells]


@pytest.mark.parametrize("line", ["sep=;", '"SEP=;"', "\ufeffsep=;"])
def test_a_first_line_may_name_the_delimiter(line: str) -> None:
    text = f"{line}\r\nid;text, more, and more\r\n1;a\r\n"
    assert read_csv(text) == [Row(3, {"id": "1", "text, more, and more": "a"})]
    assert next(iter(CsvRows(source(text), Preset(delimiter=",")))).line == 3


def test_without_quoting_each_line_is_a_row(tmp_path: Path) -> None:
    found = list(CsvRows(source('id,text\n1,"a\n2,6" wide\n3,"b",c\n'), Preset(quote="none")))
    assert [one.cells["text"] for one in good(found)] == ['"a', '6" wide']
    path = tmp_path / "rejects.jsonl"
    write(bad(found), path)
    (fixed,) = read_json_lines(path.read_text().replace(',c"', '"', 1))
    assert isinstance(fixed, Row)
    assert fixed.cells == {"id": "3", "text": '"b"'}


@pytest.mark.parametrize("first", ["Reviews of 2024\n", 'exported "today\n'])
def test_lines_before_the_header_are_skipped(first: str) -> None:
    text = f"{first}sep=|\nid|text\n1|a\n"
    assert list(CsvRows(source(text), Preset(skip_lines=1))) == [Row(4, {"id": "1", "text": "a"})]


@pytest.mark.parametrize("first", ["[export of 2024]", "{"])
def test_lines_before_the_first_row_of_jsonl_are_skipped(first: str) -> None:
    lines = [first, "not JSON", json.dumps(row())]
    refused, good = read_jsonl(source("\n".join(lines)), 1)
    assert isinstance(refused, Reject)
    assert good == Row(3, row(), lines[2])


@pytest.mark.parametrize("skipped", [3, 10**30])
def test_a_file_with_fewer_lines_than_are_skipped_is_refused(skipped: int) -> None:
    for read in (read_jsonl, lambda opened, skipped: CsvRows(opened, Preset(skip_lines=skipped))):
        with pytest.raises(CommandError):
            read(source("id,text\n1,a\n2,b"), skipped)
