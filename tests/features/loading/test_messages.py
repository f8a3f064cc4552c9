"""The sentences about files, options and rows that a load refuses."""

import gzip
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError
from features.loading import parsers
from features.loading.column_mapping import (
    NO_PRESET,
    Preset,
    date_reader,
    find_preset,
    hashed_id,
    make_column_mapping,
)
from features.loading.kind import COMMENTS, ORGANIZATIONS, _comment_row
from features.loading.loaded import CommentState
from features.loading.losses import Losses
from features.loading.parquet_rows import open_parquet
from features.loading.rows import Reject, Row, read_lines, rejects_file
from features.loading.source import open_source
from features.loading.xml_rows import XmlRows
from server.errors import CommandError
from tests.features.loading.reading import (
    FILES,
    HEADER,
    bad,
    read_csv,
    read_json_lines,
    row,
    source,
)
from tests.moderating import held_for
from tests.server.cli.commands.saying import sentences_of
from tests.server.cli.commands.test_messages import refusal_of
from tests.strategies import comment

Found = Sequence[Row | Reject]
NAME = Path("a.csv")


def rows_of(*lines: str) -> Found:
    return read_csv("".join(f"{line}\n" for line in ("id,text", *lines)))


def entry(**members: object) -> Found:
    return read_json_lines(json.dumps({"line": 1, "reason": "", **members}))


def opened(content: bytes, encoding: str | None = None, change: bytes = b"") -> Found:
    """Read a file's lines. A line's fault is the reason of a rejected row."""
    NAME.write_bytes(content)
    with open_source(NAME, encoding) as file:
        if change:
            NAME.write_bytes(change)
        lines = read_lines(file.stream, file.encoding)
        return [Reject(line.number, line.fault) for line in lines if line.fault]


def xml(content: str | bytes) -> Found:
    return list(XmlRows(source(content), "Feed/Product"))


def parquet(path: Path) -> Found:
    with open_parquet(path) as (_, rows):
        return list(rows)


def mapped(*maps: str, sets: Sequence[str] = (), preset: Preset = NO_PRESET) -> Any:
    return make_column_mapping(COMMENTS, maps, sets, preset)


def preset_file(content: str) -> object:
    Path("p.toml").write_text(content)
    return find_preset("p.toml", FILES)


def reported(cells: dict[str, object], *ids: str) -> Found:
    """Return the report of a load as the reason of a rejected row."""
    preset = Preset(no_place={"votes": ["up"]}, leave_out={"state": ["spam"]})
    with closing(Losses(make_column_mapping(COMMENTS, [], [], preset))) as losses:
        for line, one in enumerate(ids, 1):
            list(losses.kept(iter([Row(line, cells)])))
            losses.loaded(Row(line, cells), one, line)
        return [Reject(0, sentence) for sentence in losses.sentences()]


AUTHOR = Preset(author_from=["reviewer"])
STATES = Preset(values={"state": {"ok": "PUBLISHED", "spam": "REJECTED"}})

LINE = {"product_id": "42", "quantity": 2, "unit_price": "12.50 EUR"}
ANA = {"username": "ana"}
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
ROW = {
    "id": "1",
    "product_id": "42",
    "username": "ana",
    "rating": 5,
    "language": "en",
    "text": "It boils.",
    "created_at": NOON,
}

MESSAGES: list[tuple[Callable[[], object], str]] = [
    # Cells and rows
    (lambda: parsers.rating("field", 4.5), "field is 4.5; it must be a whole number from 1 to 5."),
    (lambda: parsers.boolean("field", "maybe"), "field is 'maybe'; it must be true or false."),
    (
        lambda: parsers.order_lines("field", LINE),
        (
            "field is {'product_id': '42', 'quantity': 2, 'uni…; it must be a list such as "
            '[{"product_id": "42", "quantity": 1, "unit_price": "12.50 EUR"}].'
        ),
    ),
    (
        lambda: parsers.order_lines("field", ["42"]),
        ("field.0 is '42'; it must be an object with product_id, quantity and unit_price."),
    ),
    (
        lambda: parsers.order_lines("field", [{**LINE, "quantity": "2"}]),
        "field.0.quantity is '2'; it must be a whole number.",
    ),
    (
        lambda: parsers.users("field", ["ana"]),
        "field.0 is 'ana'; it must be an object with username and type.",
    ),
    (
        lambda: parsers.users("field", [ANA, ANA]),
        "field.1 repeats the username 'ana': keep one entry for each user.",
    ),
    (
        lambda: _comment_row(ROW | {"replied_at": NOON}),
        "reply is missing, but replied_at is not: add a reply.",
    ),
    (
        lambda: _comment_row(ROW | {"incentive": "A mug", "incentivized": False}),
        "incentivized is false, but incentive is 'A mug': correct one of them.",
    ),
    (
        lambda: _comment_row(ROW | {"reason": "Spam."}),
        (
            "reason is only for rows whose state is REJECTED, and the row has no state: leave "
            "reason empty, or correct the state."
        ),
    ),
    (
        lambda: _comment_row(ROW | {"state": CommentState.PUBLISHED, "queued_at": NOON}),
        (
            "queued_at is only for rows whose state is PENDING or REJECTED, and the state is "
            "PUBLISHED: leave queued_at empty, or correct the state."
        ),
    ),
    # read_lines and the rejects file
    (
        lambda: rows_of("1,caf\udce9"),
        (
            "byte 6 of the line is not UTF-8: add --encoding if the file has another "
            "encoding, such as cp1252"
        ),
    ),
    (lambda: rows_of("1,a\0"), "the line contains a NUL byte"),
    (
        lambda: read_json_lines(b"x" * 3_000_000),
        "the line is 3,000,000 bytes long; the maximum is 1,000,000",
    ),
    (lambda: opened(b"\x81", "cp1252"), "the line is not valid cp1252"),
    (
        lambda: rejects_file(Path("/tmp"), NAME),
        "/tmp cannot be written (Is a directory): name another file with --rejects.",
    ),
    (
        lambda: rejects_file(NAME, NAME),
        "a.csv is the file to load: name another rejects file with --rejects.",
    ),
    (
        lambda: rejects_file(NAME, Path("b.csv")),
        "a.csv is not a rejects file: name another rejects file with --rejects.",
    ),
    # CSV
    (lambda: rows_of("1"), "the row has 1 cells and the header 2"),
    (lambda: rows_of('1,"a"b'), "a quoted cell continues after its closing quote"),
    (lambda: rows_of("1,a\rb"), "a carriage return is outside quotes"),
    (lambda: rows_of('1,"open'), "a quote is opened and never closed"),
    (
        lambda: rows_of('1,"open', "to the end"),
        "a quote is opened and never closed (found at line 3)",
    ),
    (
        lambda: rows_of('1,"a', "2,b", 'c"'),
        (
            "line 3 looks like a row, but the quote opened at line 2 is not closed before "
            "it: if the line is text, load the rejects file unchanged"
        ),
    ),
    (
        lambda: rows_of('1,"a""2,b"'),
        (
            "line 2 looks like two rows, the second after a quote: if the line is text, load the "
            "rejects file unchanged"
        ),
    ),
    (
        lambda: read_csv('"id,text\n'),
        "sample has a broken header: a quote is opened and never closed.",
    ),
    # JSONL and entries of a rejects file
    (
        lambda: read_json_lines("[\n{}\n]"),
        "sample is one JSON array: use `jq -c '.[]'` to write each object on a line.",
    ),
    (lambda: read_json_lines('{"id": 1'), "broken JSON at column 9: Expecting ',' delimiter"),
    (lambda: read_json_lines('"text"'), "the line is not a JSON object"),
    (
        lambda: read_json_lines('{"a":' * 100_000),
        "broken JSON: it has too many levels, or a number that is too long",
    ),
    (lambda: read_json_lines('{"rating": NaN}'), "broken JSON: NaN is not a JSON value"),
    (lambda: entry(raw="1,a\n2,b", columns=["id", "text"]), "the text has 2 rows instead of one"),
    (
        lambda: entry(raw="\0"),
        "raw contains a NUL byte, or bytes that are not UTF-8 (\\udc80 to \\udcff)",
    ),
    (entry, "the entry of the rejects file has no complete row"),
    # XML
    (
        lambda: xml("<Feed>\n<Product>"),
        (
            "sample is incomplete and ends at line 2, column 10: get the complete file and "
            "load it again."
        ),
    ),
    (
        lambda: xml("<Feed>\n</Product>"),
        ("sample is broken XML at line 2, column 3 (mismatched tag): fix it and load it again."),
    ),
    (
        lambda: xml(b"<Feed>\xff</Feed>"),
        (
            "sample has broken bytes at line 1, column 7, which are not UTF-8: add "
            "--encoding, such as cp1252, and load it again."
        ),
    ),
    (
        lambda: xml('<?xml version="1.0" encoding="GBK"?><Feed/>'),
        (
            "sample declares an encoding that the XML parser does not know: add --encoding "
            "with its name."
        ),
    ),
    (
        lambda: xml("<!DOCTYPE Feed><Feed/>"),
        (
            "sample declares a document type, which may define entities: remove its "
            "<!DOCTYPE …> and load it again."
        ),
    ),
    (
        lambda: xml("<Feed>\n" + "<a>" * 1_000),
        (
            "sample nests elements too deeply at line 2: the path of the element has more "
            "than 1,000 characters. Check that the file is a feed of reviews."
        ),
    ),
    (
        lambda: xml(f"<Feed><Product>{'x' * 1_000_001}</Product></Feed>"),
        "the row is longer than 1,000,000 characters",
    ),
    # Files
    (lambda: opened(b"PAR1\x15"), "a.csv is Parquet: add --format parquet."),
    (
        lambda: opened(b"PK\x03\x04xlsx"),
        "a.csv is an archive or a spreadsheet: unpack it or save it as CSV first.",
    ),
    (lambda: opened(b"BZh91AY"), "a.csv is compressed by bzip2: unpack it with `bunzip2` first."),
    (
        lambda: opened(gzip.compress(b"a" * 257 + b"ustar  ")),
        "a.csv is an archive: unpack it with `tar -xf` first.",
    ),
    (
        lambda: opened("id,text".encode("utf-16-le")),
        "a.csv is not UTF-8 but probably UTF-16: add `--encoding utf-16-le`.",
    ),
    (
        lambda: opened(b"id", "klingon"),
        ("--encoding klingon is unknown: name one such as utf-8, latin-1, cp1252 or utf-16."),
    ),
    (
        lambda: opened(b"id,text\n", "UTF-16"),
        (
            "a.csv has no byte order mark: add `--encoding utf-16-le` or `--encoding utf-16-be`, "
            "or remove --encoding if the file is UTF-8."
        ),
    ),
    (
        lambda: opened(gzip.compress(b"id,text")[:-1]),
        "a.csv is incomplete: get the complete gzip file and load it.",
    ),
    (
        lambda: opened(b"id", change=b"id,text"),
        ("a.csv grew from 2 to 7 bytes during the load: load it again when it is complete."),
    ),
    (
        lambda: opened(b"id,text", change=b"id"),
        ("a.csv shrank from 7 to 2 bytes during the load: load it again when it is complete."),
    ),
    (lambda: parquet(Path("none.parquet")), "none.parquet does not exist: check the path."),
    (lambda: parquet(Path()), ". is a directory: name a file."),
    (
        lambda: parquet(NAME),
        (
            "a.csv is not a complete Parquet file (Invalid Input Error: File 'a.csv' too "
            "small to be a Parquet file): get a complete copy."
        ),
    ),
    # Columns and presets
    (
        lambda: date_reader(None, "%Y"),
        (
            "--date-format '%Y' lacks the day, month or year: write it as for strptime, "
            "such as '%m/%d/%Y' or '%d.%m.%Y %H:%M'."
        ),
    ),
    (
        lambda: date_reader("ms", "%Y-%m-%d"),
        "--date-unit and --date-format cannot be used together: remove one of them.",
    ),
    (
        lambda: mapped().check_header("f.csv", ["id", "product_id"]),
        (
            "f.csv has no column 'username' for username, only id, product_id: name one "
            "with `--map username=COLUMN` or, if the file has only names, with `--map "
            "author_name=COLUMN`."
        ),
    ),
    (
        lambda: mapped().check_header("f.csv", [*HEADER.split(","), "text"]),
        "f.csv has the column 'text' twice: rename one of them.",
    ),
    (
        lambda: mapped().check_header("f.csv", ["product_id"]),
        (
            "f.csv has no column 'id' for id, only product_id: name one with `--map "
            "id=COLUMN` or make it from several columns with `--id-from COLUMN,COLUMN`."
        ),
    ),
    (lambda: mapped().make({**row(), "rating": None}), "rating is missing."),
    (lambda: mapped("rating=Stars").make(row()), "rating (column 'Stars') is missing."),
    (
        lambda: mapped(preset=AUTHOR).make(row(author_name="")),
        "username is missing, and so is author_name.",
    ),
    (
        lambda: mapped(preset=STATES).make(row(state="hidden")),
        "state is 'hidden'; it must be one of ok, spam.",
    ),
    (lambda: hashed_id([]), "id cannot be made: all columns of --id-from are empty."),
    # The report of a load
    (lambda: reported({"up": 3}, "1"), "votes: 1 value dropped: the preset does not load them."),
    (lambda: reported({"state": "spam"}, "1"), "1 row left out: state is spam."),
    (
        lambda: reported({}, *"1212"),
        (
            "4 rows share 2 ids but differ (lines 1, 3; 2, 4): only the last row of each id "
            "is kept. Map another column to the id, or add columns to --id-from."
        ),
    ),
    (lambda: mapped("Time"), "--map 'Time' is incomplete: write FIELD=COLUMN."),
    (
        lambda: mapped("stars=Score"),
        (
            "--map 'stars=Score' names no field of comments. Their fields are id, "
            "product_id, username, rating, language, title, text, created_at, updated_at, "
            "verified_purchase, author_name, reply, replied_at, helpful_before, photos, "
            "source, incentive, incentivized, aspects, state, cause, queued_at, reason, "
            "decided_at."
        ),
    ),
    (lambda: mapped("text=a", "text=b"), "--map has text twice: remove one of them."),
    (
        lambda: mapped("text=a", sets=["text=b"]),
        "text is in --map and in --set: remove one of them.",
    ),
    (
        lambda: mapped(sets=["id=1"]),
        ("--set id would give all rows the same id: name its column with --map id=COLUMN."),
    ),
    (
        lambda: mapped(sets=["username=Guest"]),
        (
            "A username for several rows would give the comments of different people to one "
            "user: set author_name instead, for example with `--set author_name=Anonymous`."
        ),
    ),
    (lambda: mapped(sets=["rating=9"]), "--set is refused: rating is 9; it must be from 1 to 5."),
    (
        lambda: mapped(preset=Preset(name="x", default={"rating": 9})),
        "--preset x: [default] is refused: rating is 9; it must be from 1 to 5.",
    ),
    (
        lambda: mapped(preset=Preset(name="x", map={"stars": "a"})),
        (
            "--preset x: stars is not a field of comments. Their fields are id, product_id, "
            "username, rating, language, title, text, created_at, updated_at, "
            "verified_purchase, author_name, reply, replied_at, helpful_before, photos, "
            "source, incentive, incentivized, aspects, state, cause, queued_at, reason, "
            "decided_at."
        ),
    ),
    (
        lambda: make_column_mapping(ORGANIZATIONS, [], [], Preset(id_from=["a"])),
        "organizations have a name instead of an id: remove --id-from.",
    ),
    (
        lambda: make_column_mapping(ORGANIZATIONS, [], [], Preset(name="x", author_from=["a"])),
        "--preset x: author_from is only for comments, not for organizations.",
    ),
    (
        lambda: find_preset("amazon", FILES),
        (
            "--preset amazon is unknown: choose one of amazon-2014, amazon-2018, "
            "amazon-2023, bazaarvoice, judgeme, loox, okendo, shopify, wix, woocommerce, yelp, "
            "yotpo, or name a file that ends in .toml."
        ),
    ),
    (
        lambda: find_preset("none.toml", FILES),
        "--preset none.toml cannot be read: No such file or directory.",
    ),
    (
        lambda: preset_file("format = "),
        "--preset p.toml is not TOML: Invalid value (at end of document).",
    ),
    (
        lambda: preset_file("colour = 1"),
        (
            "--preset p.toml: colour is unknown; a preset has about, format, kind, "
            "encoding, delimiter, quote, skip_lines, html, row, id_from, author_from, date_unit, "
            "date_format, map, set, default, values, keep, leave_out, no_place."
        ),
    ),
    (
        lambda: preset_file("format = 'xls'"),
        "--preset p.toml: format is 'xls'; it must be one of jsonl, csv, xml, parquet.",
    ),
    (
        lambda: preset_file("id_from = 'a,b'"),
        "--preset p.toml: id_from is 'a,b'; write it as `id_from = [\"column\"]`.",
    ),
]


def message(call: Callable[[], Any]) -> str:
    """Return the message of the call's error, or the reason of its rejected row."""
    try:
        (reject,) = bad(call())
    except (CommandError, InvalidArgumentError) as error:
        return str(error)
    return reject.reason


@pytest.mark.parametrize(("call", "sentence"), MESSAGES, ids=[text for _, text in MESSAGES])
def test_a_message(
    call: Callable[[], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    NAME.write_text("id\n1\n")
    assert message(call) == sentence


REFUSED: list[tuple[str, str]] = [
    (
        "export --output shop --all-states --kind orders",
        (
            "marginalia: --all-states is only for comments, but the kind is orders: remove "
            "--all-states."
        ),
    ),
    (
        "export -o - --data-dir .",
        ("marginalia: Standard output can take only one kind of rows: choose a kind with --kind."),
    ),
    (
        "export -o reviews.csv --data-dir .",
        (
            "marginalia: reviews.csv is the name of one file, but all kinds need a "
            "directory: name a directory, or choose one kind with --kind."
        ),
    ),
    (
        "export -o - --kind orders --format parquet --data-dir .",
        ("marginalia: Parquet cannot be streamed to standard output: name a file with --output."),
    ),
    ("load a.csv --data-dir a.csv", "marginalia: a.csv does not exist: check the path."),
]


@pytest.mark.parametrize(("command", "sentence"), REFUSED)
def test_a_command_is_refused(
    command: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal_of(command, tmp_path) == sentence


SENTENCES: dict[str, list[str]] = {
    "export --kind comments -o a.json": [
        "marginalia: a.json exists: name another output, or add --force to replace it.",
    ],
    "export --kind comments -o b.json": [
        (
            "Not exported, because they are not published: 1 comment. Add --all-states "
            "to export them, too."
        ),
    ],
}
"""The sentences that each command prints."""


async def test_commands_on_one_table(
    table: Table, store: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").touch()
    held = comment("held", username="zoe")
    await Stores(table).comments.add(held, hold=held_for(ReviewCause.SETTING))
    assert sentences_of(SENTENCES, table, store) == SENTENCES
