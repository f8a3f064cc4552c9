"""Cursors of lists that are not in the order of time."""

import struct
import zlib
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.comment import comment_position
from dal.errors import InvalidCursorError
from dal.model.key_parts import escape, format_count
from dal.query.pagination import CursorKind, decode_cursor, encode_cursor
from tests.strategies import MORE, comment, identifiers

COUNT = "000000000010#4%2F2"
INSTANT = comment_position(comment("1"))
positions = st.builds(
    lambda count, name: f"{format_count(count)}#{escape(name)}",
    st.integers(0, 10**12 - 1),
    identifiers,
)


@MORE
@given(positions)
def test_decode_undoes_encode(position: str) -> None:
    assert decode_cursor(encode_cursor(position), CursorKind.COUNT) == position


@MORE
@given(identifiers)
def test_a_name_alone_is_a_position(name: str) -> None:
    assert decode_cursor(encode_cursor(escape(name)), CursorKind.NAME) == escape(name)


@pytest.mark.parametrize(
    ("position", "cursor", "kind"),
    [
        ("2020-11-20T12:00:00.000000Z#4%2F2", "EZpR5k0ABbSIlXtwADQlMkYy", CursorKind.INSTANT),
        ("1969-07-20T20:17:40.000001Z#x", "EVueQTP___MZxuZBAXg", CursorKind.INSTANT),
        ("000000000010#4%2F2", "Eiz3uicwMDAwMDAwMDAwMTAjNCUyRjI", CursorKind.COUNT),
        ("ana", "E3efb-JhbmE", CursorKind.NAME),
    ],
)
def test_clients_may_keep_a_cursor_of_an_earlier_release(
    position: str, cursor: str, kind: CursorKind
) -> None:
    assert encode_cursor(position) == cursor
    assert decode_cursor(cursor, kind) == position


def test_the_cursor_of_a_name_is_short() -> None:
    assert len(encode_cursor("x" * 54)) < 80


@pytest.mark.parametrize(
    ("position", "kind"),
    [
        (COUNT, CursorKind.INSTANT),
        (COUNT, CursorKind.NAME),
        (INSTANT, CursorKind.COUNT),
        (INSTANT, CursorKind.NAME),
        ("ana", CursorKind.INSTANT),
        ("ana", CursorKind.COUNT),
    ],
)
def test_a_cursor_of_another_list_is_refused(position: str, kind: CursorKind) -> None:
    with pytest.raises(InvalidCursorError, match="pass an edge's cursor back unchanged"):
        decode_cursor(encode_cursor(position), kind)


@pytest.mark.parametrize("kind", list(CursorKind))
@pytest.mark.parametrize(
    "body",
    [
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
    ],
)
def test_a_right_checksum_does_not_save_a_wrong_body(kind: CursorKind, body: str) -> None:
    raw = struct.pack(">BI", kind, zlib.crc32(body.encode())) + body.encode()
    cursor = urlsafe_b64encode(raw).rstrip(b"=").decode()
    with pytest.raises(InvalidCursorError):
        decode_cursor(cursor, CursorKind.COUNT)
    with pytest.raises(InvalidCursorError):
        decode_cursor(cursor, CursorKind.INSTANT)


@pytest.mark.parametrize("name", ["", "a/b", "a#b", "%2f", "a\0", "x" * 600])
def test_a_right_checksum_does_not_save_a_wrong_name(name: str) -> None:
    with pytest.raises(InvalidCursorError):
        decode_cursor(encode_cursor(name), CursorKind.NAME)
