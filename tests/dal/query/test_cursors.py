import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.comment import comment_position
from dal.errors import InvalidCursorError
from dal.query.pagination import decode_cursor, encode_cursor
from tests.strategies import MORE, comment, comments

positions = st.builds(comment_position, comments)
POSITION = "2020-11-20T12:00:00.000000Z#b7f1c2"
CURSOR = encode_cursor(POSITION)
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def refused(cursor: str) -> bool:
    """Say whether ``cursor`` is refused, and with the sentence meant for its sender."""
    try:
        decode_cursor(cursor)
    except InvalidCursorError as error:
        return "pass an edge's cursor back unchanged" in str(error)
    return False


def raw(cursor: str) -> bytes:
    return urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def forged(body: bytes, kind: int = 0x11) -> str:
    packed = struct.pack(">BI", kind, zlib.crc32(body)) + body
    return urlsafe_b64encode(packed).rstrip(b"=").decode()


@MORE
@given(positions)
def test_decode_undoes_encode(position: str) -> None:
    assert decode_cursor(encode_cursor(position)) == position


@MORE
@given(positions)
def test_a_cursor_needs_no_escaping_in_a_url(position: str) -> None:
    assert set(encode_cursor(position)) <= set(DIGITS)


@pytest.mark.parametrize("identifier", ["x" * 46, "é" * 23, "😀" * 11, "0" * 36, "1"])
def test_a_cursor_of_an_ordinary_id_has_at_most_80_characters(identifier: str) -> None:
    newest = comment(identifier, created_at=datetime.max.replace(tzinfo=UTC))
    oldest = comment(identifier, created_at=datetime.min.replace(tzinfo=UTC))
    for row in (newest, oldest):
        assert len(encode_cursor(comment_position(row))) <= 80


@pytest.mark.parametrize("year", [1, 1582, 1969, 1970, 9999])
def test_every_year_of_the_calendar_has_a_cursor(year: int) -> None:
    position = comment_position(comment(created_at=datetime(year, 12, 31, 23, 59, 59, 1, UTC)))
    assert decode_cursor(encode_cursor(position)) == position


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
@given(positions, st.data())
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
        POSITION,
    ],
)
def test_garbage_is_refused(cursor: str) -> None:
    assert refused(cursor)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0" * 7,
        struct.pack(">q", 0),  # no id
        struct.pack(">q", 2**63 - 1) + b"1",  # beyond the calendar
        struct.pack(">q", -(2**63)) + b"1",
        struct.pack(">q", 0) + b"\xff\xfe",  # not UTF-8
        struct.pack(">q", 0) + b"\xed\xa0\x80",  # half a character
    ],
)
def test_a_right_checksum_does_not_save_a_wrong_body(body: bytes) -> None:
    assert refused(forged(body))


@pytest.mark.parametrize("identifier", ["a\0", "a\U0010ffff", "x" * 2000, "a/b", "%", "%2f"])
def test_a_forged_cursor_of_an_id_that_no_row_can_have_is_refused(identifier: str) -> None:
    assert refused(forged(struct.pack(">q", 0) + identifier.encode()))


@MORE
@given(st.text() | st.text(DIGITS + "=", max_size=90) | st.binary().map(forged))
def test_decode_accepts_exactly_what_encode_makes(cursor: str) -> None:
    try:
        position = decode_cursor(cursor)
    except InvalidCursorError:
        return
    assert encode_cursor(position) == cursor
