import io

from hypothesis import given
from hypothesis import strategies as st

from server.importer.lines import MAX_LINE_BYTES, Line, Lines


def read(content: bytes) -> list[Line]:
    return list(Lines(io.BytesIO(content)))


def test_lines_keep_their_ends_and_count_from_one() -> None:
    assert read(b"a\r\nb\n\nc") == [Line(1, "a\r\n"), Line(2, "b\n"), Line(3, "\n"), Line(4, "c")]


def test_only_a_line_feed_ends_a_line() -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\rh\n"
    assert read(text.encode()) == [Line(1, text)]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert read(b"\xef\xbb\xbfa\n") == [Line(1, "a\n")]
    assert read(b"\xef\xbb\xbf") == []


def test_bytes_that_are_not_utf8_are_kept_and_reported_by_their_place() -> None:
    (line,) = read(b"caf\xe9\n")
    assert line.fault == "byte 4 of the line is not UTF-8"
    assert line.text.encode(errors="surrogateescape") == b"caf\xe9\n"


def test_a_nul_byte_is_reported() -> None:
    assert [line.fault for line in read(b"a\0b\nc\n")] == ["the line holds a NUL byte", None]


def test_an_overlong_line_is_cut_and_the_next_one_keeps_its_number() -> None:
    longest = b"x" * (MAX_LINE_BYTES - 1) + b"\n"
    found = read(longest + b"y" * 5_000_000 + b"\nlast\n")
    assert [line.number for line in found] == [1, 2, 3]
    assert [line.fault for line in found] == [
        None,
        "the line is 5,000,001 bytes long; the most is 1,000,000",
        None,
    ]
    assert found[1].cut
    assert len(found[1].text) == 1_000
    assert found[2].text == "last\n"


def test_an_overlong_last_line_without_an_end_is_cut() -> None:
    (line,) = read(b"x" * 3_000_000)
    assert line.fault == "the line is 3,000,000 bytes long; the most is 1,000,000"


def test_text_of_another_encoding_is_called_by_its_name() -> None:
    (line,) = Lines(io.BytesIO(b"caf\xff\n"), "cp1252")
    assert line.fault == "the line holds what is not cp1252"


@given(st.binary(max_size=300).filter(lambda content: not content.startswith(b"\xef\xbb\xbf")))
def test_no_byte_is_lost(content: bytes) -> None:
    texts = [line.text for line in read(content)]
    assert "".join(texts).encode(errors="surrogateescape") == content
    assert all(text.endswith("\n") for text in texts[:-1])
