"""A cursor is one position in one kind of list. Any other text is refused."""

import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.catalogue import Order
from dal.entities.comment import comment_position
from dal.model.titles import fold_title
from dal.query.cursors import CursorKind, decode_cursor, encode_cursor
from dal.query.errors import InvalidCursorError
from dal.table.key_parts import escape, format_count
from tests.oracle import position_in
from tests.strategies import MORE, comment, comments, identifiers, texts

INSTANT = "2020-11-20T12:00:00.000000Z#b7f1c2"
POSITIONS = {
    CursorKind.INSTANT: INSTANT,
    CursorKind.COUNT: "000000000010#4%2F2",
    CursorKind.NAME: "ana",
    CursorKind.TEXT: "red kettle #2\t4%2F2",
    CursorKind.RANK_H: f"h5#{INSTANT}",
    CursorKind.RANK_L: f"l1#{INSTANT}",
    CursorKind.RANK_V: f"v000000000012#{INSTANT}",
}
CURSOR = encode_cursor(INSTANT)
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

counted = st.builds(
    lambda count, name: f"{format_count(count)}#{escape(name)}",
    st.integers(0, 10**12 - 1),
    identifiers,
)
titled = st.builds(lambda title, name: f"{fold_title(title)}\t{escape(name)}", texts, identifiers)
ranked = st.tuples(st.sampled_from(Order), comments).map(
    lambda one: (position_in(*one), one[0].kind)
)
positions = (
    ranked
    | st.tuples(st.builds(comment_position, comments), st.just(CursorKind.INSTANT))
    | st.tuples(counted, st.just(CursorKind.COUNT))
    | st.tuples(identifiers.map(escape), st.just(CursorKind.NAME))
    | st.tuples(titled, st.just(CursorKind.TEXT))
)


def refused(cursor: str, kind: CursorKind = CursorKind.INSTANT) -> bool:
    """Return whether the cursor is refused with the error for clients."""
    try:
        decode_cursor(cursor, kind)
    except InvalidCursorError:
        return True
    return False


def raw(cursor: str) -> bytes:
    return urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def forged(body: bytes, kind: int = CursorKind.INSTANT) -> str:
    """Return a cursor with a correct checksum."""
    packed = struct.pack(">BI", kind, zlib.crc32(body)) + body
    return urlsafe_b64encode(packed).rstrip(b"=").decode()


@MORE
@given(positions)
def test_a_cursor_has_only_characters_of_urls_and_decodes_to_its_position(
    placed: tuple[str, CursorKind],
) -> None:
    position, kind = placed
    cursor = encode_cursor(position)
    assert decode_cursor(cursor, kind) == position
    assert set(cursor) <= set(DIGITS)


@pytest.mark.parametrize("identifier", ["x" * 46, "é" * 23, "😀" * 11, "0" * 36, "1"])
def test_a_cursor_of_an_ordinary_id_has_at_most_80_characters(identifier: str) -> None:
    newest = comment(identifier, created_at=datetime.max.replace(tzinfo=UTC))
    oldest = comment(identifier, created_at=datetime.min.replace(tzinfo=UTC))
    for row in (newest, oldest):
        assert len(encode_cursor(comment_position(row))) <= 80
        for order in Order:
            assert len(encode_cursor(position_in(order, row))) <= 86
    assert len(encode_cursor("x" * 54)) < 80


@pytest.mark.parametrize("year", [1, 1582, 1969, 1970, 9999])
def test_every_year_of_the_calendar_has_a_cursor(year: int) -> None:
    position = comment_position(comment(created_at=datetime(year, 12, 31, 23, 59, 59, 1, UTC)))
    assert decode_cursor(encode_cursor(position)) == position


@pytest.mark.parametrize(
    ("position", "cursor", "kind"),
    [
        ("2020-11-20T12:00:00.000000Z#4%2F2", "EZpR5k0ABbSIlXtwADQlMkYy", CursorKind.INSTANT),
        ("1969-07-20T20:17:40.000001Z#x", "EVueQTP___MZxuZBAXg", CursorKind.INSTANT),
        ("000000000010#4%2F2", "Eiz3uicwMDAwMDAwMDAwMTAjNCUyRjI", CursorKind.COUNT),
        ("ana", "E3efb-JhbmE", CursorKind.NAME),
        (f"h5#{INSTANT}", "FVFLs1AFAAW0iJV7cABiN2YxYzI", CursorKind.RANK_H),
        (f"l1#{INSTANT}", "Fts31jMBAAW0iJV7cABiN2YxYzI", CursorKind.RANK_L),
        ("red kettle\t4%2F2", "FDr2Zg5yZWQga2V0dGxlCTQlMkYy", CursorKind.TEXT),
    ],
)
def test_clients_may_keep_a_cursor_of_an_earlier_release(
    position: str, cursor: str, kind: CursorKind
) -> None:
    assert encode_cursor(position) == cursor
    assert decode_cursor(cursor, kind) == position


def test_a_cursor_of_another_list_is_refused() -> None:
    for kind, other in product(CursorKind, repeat=2):
        assert refused(encode_cursor(POSITIONS[other]), kind) == (kind is not other), (kind, other)


def test_every_truncation_is_refused() -> None:
    for size in range(len(CURSOR)):
        assert refused(CURSOR[:size]), size
        assert refused(CURSOR[size + 1 :]), size


def test_every_flipped_bit_is_refused() -> None:
    whole = raw(CURSOR)
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        assert refused(urlsafe_b64encode(flipped).rstrip(b"=").decode()), bit


@MORE
@given(st.builds(comment_position, comments), st.data())
def test_every_changed_character_is_refused(position: str, data: st.DataObject) -> None:
    cursor = encode_cursor(position)
    place = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from(sorted({*DIGITS} - {cursor[place]})) | st.characters())
    changed = cursor[:place] + other + cursor[place + 1 :]
    assert refused(changed) == (changed != cursor)


@pytest.mark.parametrize("kind", [0x00, 0x01, 0x10, 0x12, 0x21, 0xFF])
def test_another_version_is_refused(kind: int) -> None:
    assert refused(forged(raw(CURSOR)[5:], kind))


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        " ",
        "=",
        "====",
        "null",
        "0",
        "%",
        CURSOR + "=",
        CURSOR + "==",
        CURSOR + "A",
        CURSOR + "\n",
        " " + CURSOR,
        CURSOR.replace("A", "A.", 1),
        "é" * 20,
        "\ud800",
        "\0" * 40,
        "Y3Vyc29yOjIw",
        "A" * 100_000,
        INSTANT,
    ],
)
def test_garbage_is_refused(cursor: str) -> None:
    assert refused(cursor)


def at_the_epoch(identifier: bytes | str) -> bytes:
    part = identifier if isinstance(identifier, bytes) else identifier.encode()
    return struct.pack(">q", 0) + part


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0" * 7,
        struct.pack(">q", 2**63 - 1) + b"1",  # beyond the calendar
        struct.pack(">q", -(2**63)) + b"1",
        at_the_epoch(""),
        at_the_epoch(b"\xff\xfe"),  # not UTF-8
        at_the_epoch(b"\xed\xa0\x80"),  # a surrogate
        *map(at_the_epoch, ["a\0", "a\U0010ffff", "x" * 2000, "a/b", "%", "%2f"]),
    ],
)
def test_a_wrong_body_with_a_correct_checksum_is_refused(body: bytes) -> None:
    assert refused(forged(body))


WRONG_COUNTS = [
    "",
    "#",
    "5#p",
    "000000000010",
    "000000000010#",
    "000000000010#a/b",
    "000000000010#a#b",
    "000000000010#a\0",
    "000000000010#" + "x" * 600,
    "-00000000010#p",
    "00000000001٣#p",
    "000000_00010#p",
    INSTANT,
    "x" * 26 + "Z#p",
]


def test_a_wrong_count_with_a_correct_checksum_is_refused() -> None:
    expected = (CursorKind.COUNT, CursorKind.INSTANT, CursorKind.RANK_H)
    for kind, body, other in product(CursorKind, WRONG_COUNTS, expected):
        assert refused(forged(body.encode(), kind), other), (kind, body, other)


@pytest.mark.parametrize("name", ["", "a/b", "a#b", "%2f", "a\0", "x" * 600])
def test_a_wrong_name_with_a_correct_checksum_is_refused(name: str) -> None:
    assert refused(encode_cursor(name), CursorKind.NAME)


@pytest.mark.parametrize("text", ["", "red\ta/b", "red\t", "red\t" + "x" * 600])
def test_a_wrong_text_with_a_correct_checksum_is_refused(text: str) -> None:
    assert refused(forged(text.encode(), CursorKind.TEXT), CursorKind.TEXT)


@MORE
@given(st.text() | st.text(DIGITS + "=", max_size=90) | st.binary().map(forged))
def test_decode_accepts_exactly_the_cursors_that_encode_returns(cursor: str) -> None:
    try:
        position = decode_cursor(cursor)
    except InvalidCursorError:
        return
    assert encode_cursor(position) == cursor
