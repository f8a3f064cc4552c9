from datetime import UTC, datetime

import pytest

from dal.errors import InvalidArgumentError
from dal.model import Comment
from server.errors import CommandError
from server.importer.column_mapping import make_column_mapping
from server.importer.file_kinds import COMMENTS
from tests.server.importer.reading import HEADER, row


def test_fields_keep_their_names_unless_mapped() -> None:
    mapping = make_column_mapping(COMMENTS, ["created_at=Time", "text=a=b"], ["language=EN-us"])
    cells = {**row(), "Time": "0", "a=b": "mapped", "language": "de"}
    assert mapping.make(cells) == Comment(
        comment_id="1",
        product_id="p",
        username="ada",
        rating=5,
        language="en-US",
        title="Good",
        text="mapped",
        created_at=datetime(1970, 1, 1, tzinfo=UTC),
    )


def test_optional_fields() -> None:
    mapping = make_column_mapping(COMMENTS, [], [])
    bare = row()
    del bare["title"]
    assert mapping.make({**bare, "verified_purchase": "", "updated_at": None}).title == ""
    full = mapping.make({**bare, "verified_purchase": "true", "updated_at": "2021-01-01"})
    assert full.verified_purchase
    assert full.updated_at == datetime(2021, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("field", ["id", "product_id", "username", "rating", "language", "text"])
def test_a_missing_field_is_named(field: str) -> None:
    mapping = make_column_mapping(COMMENTS, [], [])
    with pytest.raises(InvalidArgumentError, match=f"{field} is missing"):
        mapping.make({**row(), field: None})


def test_a_missing_mapped_field_is_named_with_its_column() -> None:
    mapping = make_column_mapping(COMMENTS, ["created_at=Time"], [])
    with pytest.raises(InvalidArgumentError, match=r"created_at \(column 'Time'\) is missing"):
        mapping.make(row())


@pytest.mark.parametrize(
    ("maps", "sets", "sentence"),
    [
        (["Time"], [], "--map 'Time' is no pair: write it as FIELD=VALUE."),
        (["text="], [], "--map 'text=' is no pair: write it as FIELD=VALUE."),
        (["stars=Score"], [], "--map 'stars=Score' names no field of comments: id, product_id,"),
        ([], ["stars=5"], "--set 'stars=5' names no field of comments: id, product_id,"),
        (["text=a", "text=b"], [], "--map gives text twice: leave one of them out."),
        (["text=a"], ["text=b"], "text is given by --map and by --set: leave one of them out."),
        ([], ["id=1"], "--set id would give all rows the same id: use --map."),
        ([], ["rating=9"], "--set is refused: rating is 9; it goes from 1 to 5."),
        ([], ["created_at=soon"], "--set is refused: created_at is 'soon'; it must be a date"),
    ],
)
def test_options_that_make_no_sense(maps: list[str], sets: list[str], sentence: str) -> None:
    with pytest.raises(CommandError) as caught:
        make_column_mapping(COMMENTS, maps, sets)
    assert str(caught.value).startswith(sentence)


def test_a_header_with_all_columns_passes() -> None:
    header = HEADER.split(",")
    make_column_mapping(COMMENTS, [], []).check_header("f.csv", header)
    make_column_mapping(COMMENTS, ["text=body"], []).check_header(
        "f.csv", [*header, "body", "", ""]
    )
    make_column_mapping(COMMENTS, [], ["language=en"]).check_header(
        "f.csv", [*header[:4], *header[5:]]
    )


@pytest.mark.parametrize(
    ("maps", "header", "sentence"),
    [
        (
            [],
            HEADER.replace("rating", "Score"),
            (
                "f.csv has no column 'rating' for rating, only id, product_id, username, Score, "
                "language, title, text, created_at: name one with `--map rating=COLUMN` or fill "
                "it with `--set rating=VALUE`."
            ),
        ),
        (["title=Summary"], HEADER, "f.csv has no column 'Summary' for title, only id,"),
        ([], HEADER + ",text", "f.csv has the column 'text' twice: rename one of them."),
        ([], HEADER.replace(",", ";"), "f.csv has no column 'id' for id, only id;product_id;"),
    ],
)
def test_a_header_that_lacks_a_column(maps: list[str], header: str, sentence: str) -> None:
    with pytest.raises(CommandError) as caught:
        make_column_mapping(COMMENTS, maps, []).check_header("f.csv", header.split(","))
    assert str(caught.value).startswith(sentence)


def test_a_wide_header_is_listed_by_its_start() -> None:
    with pytest.raises(CommandError, match="c18, c19 …: name one"):
        make_column_mapping(COMMENTS, [], []).check_header("f.csv", [f"c{n}" for n in range(500)])
