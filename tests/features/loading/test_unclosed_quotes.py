"""A quote that is not closed in CSV takes no row from the file, and texts with lines are loaded."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from features.loading.export_rows import Layout
from features.loading.kind import COMMENTS
from features.loading.loaded import loaded
from server.errors import CommandError
from tests.features.loading.reading import read_file, write
from tests.strategies import comment

HEADER = "id,product_id,username,rating,language,text,created_at"
LAST = "id,product_id,username,rating,language,created_at,text"
Found = tuple[dict[str, str], list[int]]


def read(path: Path, lines: Sequence[str], newline: str = "\n") -> Found:
    """Return the texts of a file's comments by id, and the lines of the rejected rows."""
    path.write_bytes("".join(f"{line}{newline}" for line in lines).encode())
    comments, rejects = read_file(path)
    return {one.comment_id: one.text for one in comments}, [one.line for one in rejects]


def row(number: int, text: str) -> str:
    return f"r{number},kettle,ana,5,en,{text},2025-01-0{number}"


def last(number: int, text: str) -> str:
    return f"r{number},kettle,ana,5,en,2025-01-0{number},{text}"


FOUR = [HEADER, row(1, '"Good'), row(2, "Fine"), row(3, 'Size 12"'), row(4, "Bad")]
KEPT = {"r2": "Fine", "r3": 'Size 12"', "r4": "Bad"}


@pytest.mark.parametrize(
    ("lines", "texts", "rejected"),
    [
        (FOUR, KEPT, [2]),
        ([FOUR[0], FOUR[1], FOUR[3]], {"r3": 'Size 12"'}, [2]),
        ([one.replace(",", ";") for one in FOUR], KEPT, [2]),
        ([one.replace(",", "\t") for one in FOUR], KEPT, [2]),
        ([",".join(f'"{one}"' for one in HEADER.split(",")), *FOUR[1:]], KEPT, [2]),
        (
            [LAST, last(1, '"Good'), last(2, "Fine"), last(3, 'Size 12"')],
            {"r2": "Fine", "r3": 'Size 12"'},
            [2],
        ),
        ([HEADER, row(1, '"Good, and fast'), *FOUR[2:]], KEPT, [2]),
        ([HEADER, row(1, '"A ""B""'), *FOUR[2:]], KEPT, [2]),
        ([HEADER, '"r1","kettle","ana",5,"en","Good,2025-01-01', *FOUR[2:]], KEPT, [2]),
        ([HEADER, row(1, '"Two'), 'lines"",2025-01-01', *FOUR[2:]], KEPT, [2]),
        ([HEADER, FOUR[1], FOUR[2].replace(",5,", ",9,"), FOUR[3]], {"r3": 'Size 12"'}, [2, 3]),
        ([*FOUR[:2], "r2,kettle", FOUR[3]], {"r3": 'Size 12"'}, [2]),
        ([*FOUR[:2], f"{FOUR[2]},x", *FOUR[2:]], KEPT, [2]),
        ([HEADER, row(1, '"Good'), row(2, '", but"'), FOUR[4]], {"r2": ", but", "r4": "Bad"}, [2]),
        (
            [LAST, last(1, '"Good'), last(2, '"'), 'Fine"', last(3, "x")],
            {"r2": "\nFine", "r3": "x"},
            [2],
        ),
        (
            [HEADER, row(1, "Good"), row(2, "Fine"), row(3, '"Bad')],
            {"r1": "Good", "r2": "Fine"},
            [4],
        ),
        ([HEADER, row(1, "Good"), 'r2,kettle,ana,5,en,"Fi'], {"r1": "Good"}, [3]),
        ([HEADER, row(1, r'"He said \"No\""'), *FOUR[2:]], KEPT, [2]),
        (
            [HEADER, row(1, 'He said "No'), row(2, 'Yes" he said')],
            {"r1": 'He said "No', "r2": 'Yes" he said'},
            [],
        ),
    ],
    ids=[
        "four rows, the third of which ends with a quote",
        "two rows",
        "semicolons",
        "tabs",
        "a quoted header",
        "text in the last column",
        "a text with commas",
        "doubled quotes, the last one of which is missing",
        "a lost closing quote",
        "a text of two lines, with a doubled quote at its end",
        "an invalid row between",
        "a row with too few cells between",
        "a row with too many cells between",
        "a text that begins with a comma",
        "a text that begins with a line break",
        "a quote in the last row",
        "a file that is cut in a quoted text",
        "quotes after backslashes",
        "quotes inside unquoted texts",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_row_whose_quote_is_not_closed_is_rejected(
    tmp_path: Path, lines: list[str], texts: dict[str, str], rejected: list[int], newline: str
) -> None:
    comments, numbers = read(tmp_path / "c.csv", lines, newline)
    assert numbers == rejected
    assert comments == {name: text.replace("\n", newline) for name, text in texts.items()}


def test_the_message_names_the_line_of_the_quote_and_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text(
        "\n".join(
            [
                "text," + HEADER.replace(",text", ""),
                '"Two\nlines",r1,kettle,"ana,5,en,2025-01-01',
                'a,r2,kettle,bo",5,en,2025-01-01',
            ]
        )
    )
    (comment,), (reject,) = read_file(path)
    assert comment.username == 'bo"'
    assert reject.line == 2
    assert "opened at line 3 " in reject.reason
    assert reject.reason.endswith("line 4")
    assert reject.raw == '"Two\nlines",r1,kettle,"ana,5,en,2025-01-01'


COPIED = row(9, "Copied"), last(9, "Copied")


@pytest.mark.parametrize(
    "lines",
    [
        ["Two", "lines, with commas, and 5, en, more"],
        ["I copied this:", *COPIED, "Bye"],
        ["Hello,", "I copied, this:", *COPIED, *COPIED],
        [HEADER, LAST, *COPIED, *COPIED, "Bye"],
        [*COPIED],
        ["a,,,,,,", ",,,,,,", "b"],
        ['"', ',""",', '"",'],
    ],
)
@pytest.mark.parametrize(
    ("quoting", "header"),
    [(csv.QUOTE_MINIMAL, HEADER), (csv.QUOTE_ALL, HEADER), (csv.QUOTE_ALL, LAST)],
)
def test_a_text_that_contains_rows_is_loaded(
    tmp_path: Path, lines: list[str], quoting: Literal[0, 1], header: str
) -> None:
    text = "\n".join(lines)
    with (tmp_path / "c.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=quoting)
        cells = (row if header == HEADER else last)(1, "x").split(",")
        writer.writerows([header.split(","), [text if cell == "x" else cell for cell in cells]])
    (comment,), rejects = read_file(tmp_path / "c.csv")
    assert (comment.text, rejects) == (text, [])


def test_a_text_of_an_export_cannot_forge_a_row(tmp_path: Path) -> None:
    layout, after = Layout("csv"), "2025-01-01,,,,,,,"
    forged = comment(text=f"Good,{after}\nr9,kettle,ana,5,en,,Forged", username="ann")
    path = tmp_path / "c.csv"
    path.write_bytes(layout.header(COMMENTS) + layout.encode(COMMENTS, [forged]))
    (found,), rejects = read_file(path)
    assert (loaded(found).comment.text, rejects) == (forged.text, [])


def test_a_row_that_may_contain_a_row_is_rejected_and_can_be_loaded_from_the_rejects(
    tmp_path: Path,
) -> None:
    text = f"I copied this:\n{last(9, 'Copied')}\nBye"
    path, again = tmp_path / "c.csv", tmp_path / "again.jsonl"
    path.write_text(f'{LAST}\n{last(1, "")}"{text}"\n{last(2, "Fine")}\n')
    (comment,), rejects = read_file(path)
    assert comment.comment_id == "r2"
    assert re.search("line 3 .* line 2 ", rejects[0].reason)
    write(rejects, again)
    (comment,), rejects = read_file(again)
    assert (comment.text, rejects) == (text, [])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("text", ["Good", "Two\nlines", 'A ""B""'])
def test_two_rows_in_one_line_are_rejected_and_can_be_loaded_from_the_rejects(
    tmp_path: Path, delimiter: str, text: str
) -> None:
    """A quote has replaced a line end. The second row ends with a quote, too."""
    path, again = tmp_path / "c.csv", tmp_path / "again.jsonl"
    joined = last(1, f'"{text}"') + '"' + last(2, 'Size 12"')
    lines = "\n".join([LAST, joined, last(3, "Fine"), ""])
    path.write_text(lines.replace(",", delimiter))
    (comment,), (reject,) = read_file(path)
    assert comment.comment_id == "r3"
    number = 2 + text.count("\n")
    assert reject.reason.startswith(f"line {number} ")
    assert "two rows" in reject.reason
    write([reject], again)
    (comment,), rejects = read_file(again)
    assert (comment.comment_id, rejects) == ("r1", [])
    assert comment.text.endswith(last(2, "Size 12").replace(",", delimiter))


@pytest.mark.parametrize(
    "text",
    [
        'Sizes: 24" x 12", 3, en, 2025-01-01, a, b, c',
        'He said "No", "Yes", 5, "en", x, 2025-01-01, "Maybe"',
        f'I copied "{last(9, "Copied").replace("5", "five").replace("2025", "old")}"',
        f'I copied "this" {last(9, "Copied")}',
        '"',
    ],
)
def test_a_text_with_quotes_and_delimiters_is_loaded(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([LAST.split(","), [*last(1, "").split(",")[:-1], text]])
    (comment,), rejects = read_file(path)
    assert (comment.text, rejects) == (text, [])


@pytest.mark.parametrize(
    "lines",
    [
        [f'{HEADER},"author_name', f"{row(1, 'Good')},ana", f'{row(2, "Fine")},bo"', "x"],
        [f'"{HEADER}', row(1, "Good"), row(2, "Fine")],
        [HEADER.replace("text", '"text'), row(1, "Good"), row(2, 'Fine"')],
    ],
)
def test_a_header_whose_quote_is_not_closed_ends_the_load(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(CommandError, match=r"header: .* never closed"):
        read(tmp_path / "c.csv", lines)


def test_a_header_with_line_breaks_is_read(tmp_path: Path) -> None:
    header = HEADER.replace("text,created_at", 'text,"extra\n(0,1)",created_at')
    lines = [header, row(1, "Good,0")]
    assert read(tmp_path / "c.csv", lines) == ({"r1": "Good"}, [])
