"""Options and presets assign columns to fields."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dal.model import Comment, CommentSource
from dal.model.owners import has_account
from dal.table.errors import InvalidArgumentError
from features.loading import column_mapping as module
from features.loading.column_mapping import (
    NO_PRESET,
    Preset,
    find_preset,
    hashed_id,
    make_column_mapping,
    preset_names,
    presets,
)
from features.loading.kind import COMMENTS, ORGANIZATIONS
from features.loading.opening import format_by_content, preset_for, rows_of
from features.loading.source import open_source
from server.errors import CommandError
from tests.features.loading.reading import FILES, HEADER, row
from tests.features.loading.samples import SAMPLES


def test_fields_keep_their_names_unless_mapped() -> None:
    mapping = make_column_mapping(COMMENTS, ["created_at=Time", "text=a=b"], ["language=EN-us"])
    cells = {**row(), "Time": "1605873600", "a=b": "mapped", "language": "de"}
    assert mapping.make(cells) == Comment(
        comment_id="1",
        product_id="p",
        username="ada",
        rating=5,
        language="en-US",
        title="Good",
        text="mapped",
        created_at=datetime(2020, 11, 20, 12, tzinfo=UTC),
        source=CommentSource.IMPORT,
    )


def test_a_default_date_has_the_format_of_the_presets_dates() -> None:
    def preset(date: str) -> Preset:
        return Preset(name="p", date_format="%d.%m.%Y", default={"created_at": date})

    mapping = make_column_mapping(COMMENTS, [], [], preset("20.11.2020"))
    made = mapping.make({**row(), "created_at": ""})
    assert made.created_at == datetime(2020, 11, 20, tzinfo=UTC)
    with pytest.raises(CommandError, match=r"\[default\] is refused: created_at is"):
        make_column_mapping(COMMENTS, [], [], preset("2020-11-20"))


def test_optional_fields_have_defaults() -> None:
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


@pytest.mark.parametrize(
    ("field", "fault"), [("id", "empty"), ("product_id", "empty"), ("username", "missing")]
)
def test_a_blank_cell_is_empty(field: str, fault: str) -> None:
    mapping = make_column_mapping(COMMENTS, [], [])
    for blank in (" ", "\u3000", "\u200b"):
        with pytest.raises(InvalidArgumentError, match=f"{field} is {fault}"):
            mapping.make({**row(), field: blank})


def test_a_missing_mapped_field_is_named_with_its_column() -> None:
    mapping = make_column_mapping(COMMENTS, ["created_at=Time"], [])
    with pytest.raises(InvalidArgumentError, match=r"created_at \(column 'Time'\) is missing"):
        mapping.make(row())


@pytest.mark.parametrize(
    ("maps", "sets", "message"),
    [
        (["Time"], [], "--map 'Time' is incomplete: write FIELD=COLUMN."),
        (["text="], [], "--map 'text=' is incomplete: write FIELD=COLUMN."),
        (
            ["stars=Score"],
            [],
            "--map 'stars=Score' names no field of comments. Their fields are id, product_id,",
        ),
        (
            [],
            ["stars=5"],
            "--set 'stars=5' names no field of comments. Their fields are id, product_id,",
        ),
        (["text=a", "text=b"], [], "--map has text twice"),
        (["text=a"], ["text=b"], "text is in --map and in --set"),
        ([], ["id=1"], "--set id "),
        ([], ["username=Guest"], "A username "),
        ([], ["rating=9"], "--set is refused: rating is 9;"),
        ([], ["created_at=soon"], "--set is refused: created_at is 'soon'; it must be a date"),
    ],
)
def test_contradicting_options_are_refused(maps: list[str], sets: list[str], message: str) -> None:
    with pytest.raises(CommandError) as caught:
        make_column_mapping(COMMENTS, maps, sets)
    assert str(caught.value).startswith(message)


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
    ("maps", "header", "message"),
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
def test_a_header_without_a_required_column_is_refused(
    maps: list[str], header: str, message: str
) -> None:
    with pytest.raises(CommandError) as caught:
        make_column_mapping(COMMENTS, maps, []).check_header("f.csv", header.split(","))
    assert str(caught.value).startswith(message)


def test_a_message_shows_only_the_start_of_a_wide_header() -> None:
    with pytest.raises(CommandError, match="c23, c24 …: name one"):
        make_column_mapping(COMMENTS, [], []).check_header("f.csv", [f"c{n}" for n in range(500)])


SHOP = Preset(
    name="shop",
    map={"id": "Id", "text": "Body", "verified_purchase": "Type", "title": "Head"},
    set={"language": "de", "rating": 4},
    default={"text": "", "author_name": "Anonymous"},
    values={"verified_purchase": {"buyer": True}},
)


def test_a_preset_sets_columns_constants_defaults_and_values() -> None:
    mapping = make_column_mapping(COMMENTS, [], [], SHOP)
    cells = {
        "Id": "7",
        "product_id": "p",
        "created_at": 1605873600,
        "Type": "buyer",
        "username": "",
    }
    made = mapping.make(cells)
    assert (made.comment_id, made.text, made.author_name) == ("7", "", "Anonymous")
    assert (made.language, made.rating, made.verified_purchase) == ("de", 4, True)
    assert not mapping.make({**cells, "Type": "somebody"}).verified_purchase


def test_a_preset_must_map_every_state() -> None:
    values = {"state": {"OK": "PUBLISHED", "spam": "REJECTED"}}
    preset = Preset(map={"state": "Status"}, values=values)
    mapping = make_column_mapping(COMMENTS, [], [], preset)
    assert mapping.make({**row(), "Status": " SPAM "}).given == {"state": "REJECTED"}
    for cells in ({}, {"Status": ""}, {"Status": None}):
        assert isinstance(mapping.make({**row(), **cells}), Comment)
    for cell in ("hidden", "PUBLISHED", 0, False):
        with pytest.raises(InvalidArgumentError, match=f"Status is {cell!r}; .* ok, spam"):
            mapping.make({**row(), "Status": cell})


def test_options_take_precedence_over_a_preset() -> None:
    mapping = make_column_mapping(COMMENTS, ["rating=Stars"], ["language=fr", "text=hm"], SHOP)
    made = mapping.make({"Id": "7", "product_id": "p", "created_at": 1605873600, "Stars": "5.0"})
    assert (made.rating, made.language, made.text) == (5, "fr", "hm")


def test_a_file_without_the_columns_that_a_preset_requires_is_refused() -> None:
    mapping = make_column_mapping(COMMENTS, [], [], SHOP)
    assert mapping.missing(["Id", "product_id"]) == [("created_at", "created_at")]
    assert mapping.missing(["product_id", "created_at"]) == [("id", "Id")]


def test_an_id_of_several_columns_is_the_same_in_every_format() -> None:
    mapping = make_column_mapping(COMMENTS, [], [], Preset(id_from=["customer", "sku"]))
    written = {**row(), "id": None, "customer": "ana", "sku": 42}
    made = mapping.make(written)
    assert made.comment_id == mapping.make({**written, "sku": "42"}).comment_id
    assert made.comment_id == hashed_id(["ana", 42]) == "5355e3ddecb4733bb9b2bb326d2cfd37"
    assert hashed_id([" ana\u3000", 42]) == made.comment_id
    assert hashed_id(["ana4", "2"]) != made.comment_id != hashed_id([42, "ana"])
    with pytest.raises(InvalidArgumentError, match="all columns of --id-from are empty"):
        mapping.make({**written, "customer": "", "sku": None})


def test_an_author_of_other_software_is_one_owner_without_an_account() -> None:
    mapping = make_column_mapping(COMMENTS, [], [], Preset(author_from=["reviewer"]))

    def made(number: int, reviewer: str | None, **changes: object) -> Comment:
        cells = {**row(str(number), author_name="Jo"), "reviewer": reviewer, **changes}
        comment: Comment = mapping.make(cells)
        return comment

    seven, eight, unknown = made(1, "7"), made(2, "8"), made(3, None)
    assert seven.username == made(4, " 7 ").username
    assert len({seven.username, eight.username, unknown.username, made(5, " ").username}) == 4
    assert not any(has_account(one.username) for one in (seven, eight, unknown))
    assert (seven.author_name, made(6, "7", author_name="").author_name) == ("Jo", "7")
    with pytest.raises(InvalidArgumentError, match=r"username .* author_name"):
        made(7, "", author_name="")
    shops = make_column_mapping(COMMENTS, ["username=user"], [], Preset(author_from=["reviewer"]))
    assert shops.make({**row(), "user": "ana", "reviewer": "7"}).username == "ana"


def test_a_file_needs_user_ids_or_names() -> None:
    mapping = make_column_mapping(COMMENTS, [], [])
    header = HEADER.replace("username,", "").split(",")
    mapping.check_header("f.csv", [*header, "author_name"])
    with pytest.raises(CommandError, match="--map author_name=COLUMN"):
        mapping.check_header("f.csv", header)
    assert mapping.missing([*header, "author_name"]) == []
    unknown = make_column_mapping(COMMENTS, [], ["author_name=Anonymous"])
    unknown.check_header("f.csv", header)
    made = [unknown.make({**row(number), "username": None}) for number in "12"]
    assert {one.author_name for one in made} == {"Anonymous"}
    assert len({one.username for one in made}) == 2


def test_a_column_of_ids_takes_precedence_over_a_hash() -> None:
    mapping = make_column_mapping(COMMENTS, ["id=Id"], [], Preset(id_from=["customer"]))
    assert mapping.make({**row(), "Id": "7"}).comment_id == "7"


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        (Preset(name="x", map={"stars": "a"}), "--preset x: stars is not a field of comments. "),
        (
            Preset(name="x", values={"stars": {}}),
            "--preset x: stars is not a field of comments. ",
        ),
        (Preset(name="x", default={"rating": 9}), "--preset x: [default] is refused: rating is 9;"),
        (Preset(name="x", set={"id": "1"}), "--set id "),
        (Preset(name="x", default={"username": "Guest"}), "A username "),
        (Preset(name="x", set={"username": "Guest"}), "A username "),
    ],
)
def test_presets_with_contradictions_are_refused(preset: Preset, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        make_column_mapping(COMMENTS, [], [], preset)
    assert str(caught.value).startswith(message)


def test_kinds_with_a_name_instead_of_an_id_accept_no_hashed_id() -> None:
    with pytest.raises(CommandError, match="organizations have a name instead of an id"):
        make_column_mapping(ORGANIZATIONS, [], [], Preset(id_from=["a"]))
    with pytest.raises(CommandError, match=r"author_from .* organizations"):
        make_column_mapping(ORGANIZATIONS, [], [], Preset(name="x", author_from=["a"]))


def test_marginalias_presets_are_valid() -> None:
    for name, preset in presets().items():
        assert preset.name == name
        assert preset.about
        assert make_column_mapping(COMMENTS, [], [], preset).columns["rating"]


def test_without_a_preset_columns_have_the_names_of_fields() -> None:
    assert find_preset(None, FILES) is NO_PRESET


@pytest.mark.parametrize("preset", preset_names())
def test_the_preset_of_a_sample_is_recognised_by_its_columns(tmp_path: Path, preset: str) -> None:
    path = tmp_path / "sample"
    path.write_bytes(SAMPLES[preset][1]())
    with open_source(path) as source:
        format_ = format_by_content(source.head)
        _, columns = rows_of(source, format_, presets()[preset])
    assert format_ == presets()[preset].format
    assert preset_for(columns, format_) == preset


def test_a_preset_of_an_operator_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    example = (
        (module.__doc__ or "").partition("can write presets:\n\n")[2].partition("\n\nEvery key")[0]
    )
    path.write_text(example.replace('"ms"', '"us"'))
    preset = find_preset(str(path), FILES)
    assert (preset.name, preset.delimiter, preset.date_unit) == (str(path), ";", "us")
    assert preset.id_from == ["customer", "sku"]
    assert preset.known() == {"customer", "sku", "reviewer"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("format = ", "is not TOML: Invalid value"),
        (b"about = '\xff'", "is not TOML: 'utf-8' codec can't decode"),
        ("about = " + "[" * 1_000, "is not TOML: maximum recursion depth"),
        ("colour = 1", ": colour is unknown; a preset has about, format, kind, encoding"),
        ("format = 'xls'", ": format is 'xls'; it must be one of jsonl, csv, xml, parquet."),
        (
            "kind = 5",
            (
                ": kind is 5; it must be one of comments, orders, organizations, tickets, "
                "profiles, products, reports, cases, votes."
            ),
        ),
        ("encoding = 5", ': encoding is 5; write it as `encoding = "text"`.'),
        ("id_from = 'a,b'", ": id_from is 'a,b'; write it as `id_from = [\"column\"]`."),
        ("map = ['a=b']", ': map is [\'a=b\']; write it as `map = {"field" = "column"}`.'),
        ("[map]\nid = 5", ": map is {'id': 5}; write it as"),
        ("[keep]\nstate = 'ok'", '; write it as `keep = {"column" = ["cell"]}`.'),
        ("[values]\nrating = 5", '; write it as `values = {"field" = {"cell" = "value"}}`.'),
        ("[set]\nlanguage = []", '; write it as `set = {"field" = "value"}`.'),
    ],
)
def test_a_malformed_preset_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "shop.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CommandError) as caught:
        find_preset(str(path), FILES)
    assert f"--preset {path}" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("amazon", "--preset amazon is unknown: "),
        ("none.toml", "--preset none.toml cannot be read: No such file or directory."),
    ],
)
def test_an_unknown_preset_is_refused(name: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        find_preset(name, FILES)
    assert str(caught.value).startswith(message)
