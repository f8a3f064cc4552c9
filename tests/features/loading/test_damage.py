"""A file with one wrong byte, one wrong quote or a missing end loses no row, and mixes no rows."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dal.model import Comment
from features.loading.column_mapping import Preset
from server.errors import CommandError
from tests.features.loading.reading import read_file
from tests.features.loading.test_source import with_checksum

FIRST = ("id", "product_id", "username", "rating", "language", "text", "created_at")
LAST = ("id", "product_id", "username", "rating", "language", "created_at", "text")
XML = Preset(format="xml", row="Feed/Review", map={"id": "@id"})
Cells = Mapping[str, str]


def quoted(cell: str) -> str:
    return '"{}"'.format(cell.replace('"', '""'))


@dataclass(frozen=True)
class Writer:
    """Writes rows as some program does. ``needs`` are the characters that need quotes in CSV."""

    name: str
    columns: Sequence[str] = FIRST
    delimiter: str = ","
    newline: str = "\n"
    needs: str = ""

    def cell(self, cell: str) -> str:
        plain = self.needs and not (set(self.needs) & {*cell} or cell.startswith('"'))
        return cell if plain else quoted(cell)

    def row(self, cells: Cells) -> str:
        if self.name.endswith(".jsonl"):
            return json.dumps(cells, ensure_ascii=False) + "\n"
        if self.name.endswith(".xml"):
            inside = "".join(
                f"<{name}>{escape(cell)}</{name}>" for name, cell in cells.items() if name != "id"
            )
            return f"<Review id={quoteattr(cells['id'])}>{inside}</Review>\n"
        texts = (self.cell(cells[column]) for column in self.columns)
        return self.delimiter.join(texts) + self.newline

    def parts(self, rows: Sequence[Cells]) -> list[str]:
        """Return the text before the rows, the rows, and the text after them."""
        if self.name.endswith(".jsonl"):
            return ["", *map(self.row, rows), ""]
        if self.name.endswith(".xml"):
            return ["<Feed>\n", *map(self.row, rows), "</Feed>\n"]
        header = self.delimiter.join(map(self.cell, self.columns)) + self.newline
        return [header, *map(self.row, rows), ""]


WRITERS = [
    Writer(f"c.{name}", columns, delimiter, newline, needs)
    for name, delimiter in (("csv", ","), ("csv", ";"), ("tsv", "\t"))
    for columns in (FIRST, LAST)
    for newline in ("\n", "\r\n")
    # A program quotes all cells, or the cells that need quotes, or it does not quote quotes.
    for needs in ("", f'{delimiter}\r\n"', f"{delimiter}\r\n")
]
WRITERS += [one for one in WRITERS if one.needs and '"' not in one.needs] * 2
WRITERS += [Writer("c.jsonl"), Writer("c.xml")] * 8

PIECES = st.sampled_from([*"aé5 " * 4, *',;\t\n"', '""', "\r\n", ', "', '" ,'])
TEXTS = st.tuples(*[st.lists(PIECES, max_size=2)] * 2, st.sampled_from(["", '"']))


@st.composite
def stocks(draw: st.DrawFn) -> list[Cells]:
    """Return rows. The text of each row contains its marker, such as ``<3>``."""
    return [
        {
            "id": f"r{number}",
            "product_id": draw(st.sampled_from(["kettle", "mug"])),
            "username": draw(st.sampled_from(["ana", "bo", "cy, dr"])),
            "rating": str(draw(st.integers(1, 5))),
            "language": draw(st.sampled_from(["en", "pt-BR"])),
            "text": "".join([*before, f"<{number}>", *after, end]),
            "created_at": f"2025-01-{number + 1:02}",
        }
        for number, (before, after, end) in enumerate(draw(st.lists(TEXTS, min_size=2, max_size=6)))
    ]


@dataclass(frozen=True)
class Damage:
    """Changes one place. ``place`` is counted modulo the file's length."""

    kind: str
    place: int
    piece: bytes

    def at(self, content: bytes) -> tuple[int, bytes]:
        """Return the position of the damage, and the damaged content."""
        place = self.place % len(content)
        if self.kind == "removed quote":
            place = max(content.find(b'"', place), content.rfind(b'"', 0, place + 1))
            return max(place, 0), content[:place] + content[place + 1 :] if place > 0 else content
        if self.kind == "cut":
            return max(place, 1), content[: max(place, 1)]
        if self.kind == "wrong byte":
            return place, content[:place] + self.piece + content[place + 1 :]
        if self.kind == "opened text":
            place = content.find(b"<%d>" % (self.place % 4))
            place = 1 + max(content.rfind(one, 0, place) for one in (b",", b";", b"\t", b"\n"))
        return place, content[:place] + b'"' + content[place:]


DAMAGES = st.builds(
    Damage,
    st.sampled_from(["opened text"] * 3 + ["new quote", "removed quote", "wrong byte", "cut"]),
    st.integers(0, 10_000),
    st.sampled_from([bytes([one]) for one in b'",;\t\n\r\0\xffx<}\\']),
)


def stored(comment: Comment) -> Cells:
    return {
        "id": comment.comment_id,
        "product_id": comment.product_id,
        "username": comment.username,
        "rating": str(comment.rating),
        "language": comment.language,
        "text": comment.text,
        "created_at": f"{comment.created_at:%Y-%m-%d}",
    }


def read(path: Path, content: bytes) -> tuple[list[Cells], str]:
    """Return the rows that a load stores, and the text of the rejects file."""
    path.write_bytes(content)
    comments, rejects = read_file(path, preset=XML if ".xml" in path.name else Preset())
    entries = "".join(reject.encode().decode() for reject in rejects)
    return [stored(one) for one in comments], entries.replace('\\"', '"')


def marks(text: str, rows: Sequence[Cells]) -> set[int]:
    return {number for number in range(len(rows)) if f"<{number}>" in text}


@given(stocks(), st.sampled_from(WRITERS), DAMAGES)
@settings(max_examples=2 * settings().max_examples)
def test_of_a_damaged_file_every_row_is_stored_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Cells], writer: Writer, damage: Damage
) -> None:
    path = tmp_path_factory.getbasetemp() / writer.name
    if writer.name.endswith(".xml"):  # the parser removes spaces at the ends
        rows = [{**one, "text": one["text"].strip().replace("\r\n", "\n")} for one in rows]
    parts = [part.encode() for part in writer.parts(rows)]
    assert read(path, b"".join(parts)) == (rows, "")
    place, content = damage.at(b"".join(parts))
    ends = [sum(map(len, parts[: number + 2])) for number in range(len(rows))]
    hit = next((number for number, end in enumerate(ends) if place < end), None)
    whole = rows[:hit] if damage.kind == "cut" else rows
    try:
        found, rejects = read(path, content)
    except CommandError:
        return
    for number, one in enumerate(whole):
        named = f"<{number}>" in rejects or f"{one['id']}" in rejects
        changed = number == hit and (f"<{number}>" in str(found) or f"'{one['id']}'" in str(found))
        assert one in found or named or changed
    # Only the damaged row may be stored with other values, and without values of other rows.
    assert all(one in rows or marks(str(one), rows) <= {hit} for one in found)


@given(stocks(), st.sampled_from(WRITERS), DAMAGES, st.sampled_from([gzip.compress, with_checksum]))
def test_a_damaged_compressed_file_is_refused(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Cells],
    writer: Writer,
    damage: Damage,
    pack: Callable[[bytes], bytes],
) -> None:
    path = tmp_path_factory.getbasetemp() / f"{writer.name}.gz"
    packed = pack("".join(writer.parts(rows)).encode())
    assert len(read(path, packed)[0]) == len(rows)
    _, content = damage.at(packed)
    try:
        found, _ = read(path, content)
    except CommandError:
        return
    assert len(found) in {0, len(rows)}, "the damage is in a byte without meaning, or in all"
