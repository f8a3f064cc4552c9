"""Lines, rows and the rejects file."""

import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import CommandError
from server.importer.rows import MAX_LINE_BYTES, Line, Lines, Reject, rejects_file


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


ONE = Reject(3, "rating is 9; it goes from 1 to 5.", row='{"id": 1}')


def test_there_is_no_file_without_rejects(tmp_path: Path) -> None:
    file = rejects_file(None, tmp_path / "a.csv")
    file.close()
    assert list(tmp_path.iterdir()) == []


def test_it_stands_beside_the_file_that_is_loaded(tmp_path: Path) -> None:
    file = rejects_file(None, tmp_path / "a.csv")
    file.write(ONE)
    file.close()
    assert json.loads((tmp_path / "a.csv.rejects.jsonl").read_text()) == {
        "line": 3,
        "reason": ONE.reason,
        "row": {"id": 1},
    }


def test_it_stands_here_when_the_other_directory_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A directory that nobody can write to, not even root.
    assert rejects_file(None, Path("/proc/version")).path == Path("version.rejects.jsonl")


def test_standard_input_leaves_its_rejects_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert rejects_file(None, Path("-")).path == Path("stdin.rejects.jsonl")


def test_what_an_earlier_load_left_is_moved_aside_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"line":1,"reason":"mended meanwhile","row":{}}\n')
    file = rejects_file(path, tmp_path / "a.csv")
    file.write(ONE)
    file.close()
    assert "mended meanwhile" in (tmp_path / "r.jsonl.old").read_text()
    assert "mended meanwhile" not in path.read_text()


def test_after_a_load_without_rejects_none_are_left(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"line": 1, "reason": "…", "row": {}}\n')
    rejects_file(path, tmp_path / "a.csv").close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.jsonl.old"]


def test_a_failed_load_leaves_the_earlier_rejects(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"line": 1, "reason": "…", "row": {}}\n')
    rejects_file(path, tmp_path / "a.csv").abandon()
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.jsonl"]


def test_another_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("years of work")
    with pytest.raises(CommandError, match="is not a rejects file: name another"):
        rejects_file(path, tmp_path / "a.csv")


def test_the_file_to_load_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"line": 1, "reason": "…", "row": {}}\n')
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(CommandError, match="is the file to load: name another"):
        rejects_file(tmp_path / "link", path)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/proc/r.jsonl", "No such file or directory"),
        ("no/such/directory/r.jsonl", "No such file or directory"),
        ("/tmp", "Is a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_place_that_cannot_be_written(path: str, why: str) -> None:
    with pytest.raises(CommandError) as caught:
        rejects_file(Path(path), Path("a.csv"))
    assert str(caught.value) == (
        f"{path} cannot be written ({why}): name another file with --rejects."
    )


def test_the_default_name_may_be_too_long_for_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=r"cannot be written \(File name too long\)"):
        rejects_file(None, tmp_path / ("x" * 250))


def test_a_device_is_written_and_stays() -> None:
    file = rejects_file(Path(os.devnull), Path("a.csv"))
    file.write(ONE)
    file.close()
    assert Path(os.devnull).is_char_device()
