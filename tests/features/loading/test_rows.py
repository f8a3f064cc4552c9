"""read_lines, rows and the rejects file."""

import errno
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.loading.rows import MAX_LINE_BYTES, Line, Reject, read_lines, rejects_file
from server.errors import CommandError


def read(content: bytes) -> list[Line]:
    return list(read_lines(io.BytesIO(content)))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\r\nb\n\nc", ["a\r\n", "b\n", "\n", "c"]),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\rh\n".encode(), None),
        (b"\xef\xbb\xbfa\n", ["a\n"]),
        (b"\xef\xbb\xbf", []),
    ],
    ids=["line ends are kept", "only a line feed ends a line", "byte order mark", "mark alone"],
)
def test_lines_have_their_numbers(content: bytes, lines: list[str] | None) -> None:
    texts = [content.decode()] if lines is None else lines
    assert read(content) == [Line(number, text) for number, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"caf\xe9\n", "byte 4 "),
        (b"a\0b\n", "NUL"),
        (b"x" * 3_000_000, "3,000,000 bytes"),
        (b"x" * 5_000_000 + b"\n", "5,000,001 bytes"),
    ],
    ids=["not UTF-8", "NUL", "overlong last line", "overlong line"],
)
def test_an_invalid_line_is_reported_and_the_next_line_keeps_its_number(
    content: bytes, fault: str
) -> None:
    longest = b"x" * (MAX_LINE_BYTES - 1) + b"\n"
    last = [b"last\n"] if content.endswith(b"\n") else []
    found = read(b"".join([longest, content, *last]))
    assert [line.number for line in found] == [1, 2, *(3 for _ in last)]
    assert [line.number for line in found if line.fault] == [2]
    assert fault in str(found[1].fault)
    assert found[1].cut == (len(content) > MAX_LINE_BYTES)
    assert found[1].text.encode(errors="surrogateescape") == content[:1_000]
    assert [line.text for line in found[2:]] == [line.decode() for line in last]


@given(st.binary(max_size=300).filter(lambda content: not content.startswith(b"\xef\xbb\xbf")))
def test_the_lines_contain_all_bytes(content: bytes) -> None:
    texts = [line.text for line in read(content)]
    assert "".join(texts).encode(errors="surrogateescape") == content
    assert all(text.endswith("\n") for text in texts[:-1])


ONE = Reject(3, "wrong", row='{"id": 1}')
EARLIER = '{"line": 1, "reason": "of an earlier load", "row": {}}\n'


def names_in(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A file with the rejects of an earlier load."""
    path = tmp_path / "r.jsonl"
    path.write_text(EARLIER)
    return path


def test_without_rejects_no_file_is_written(tmp_path: Path) -> None:
    rejects_file(None, tmp_path / "a.csv").close()
    assert names_in(tmp_path) == []


def test_rejects_are_written_next_to_the_file_that_is_loaded(tmp_path: Path) -> None:
    file = rejects_file(None, tmp_path / "a.csv")
    file.write(ONE)
    file.close()
    assert json.loads((tmp_path / "a.csv.rejects.jsonl").read_text()) == {
        "line": 3,
        "reason": ONE.reason,
        "row": {"id": 1},
    }


@pytest.mark.parametrize(
    ("source", "name"),
    [
        # /proc is read-only, even for root.
        ("/proc/version", "version.rejects.jsonl"),
        ("-", "stdin.rejects.jsonl"),
    ],
)
def test_other_rejects_are_written_to_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert rejects_file(None, Path(source)).path == Path(name)


def test_earlier_rejects_are_renamed(tmp_path: Path, earlier: Path) -> None:
    file = rejects_file(earlier, tmp_path / "a.csv")
    file.write(ONE)
    file.close()
    assert (tmp_path / "r.jsonl.old").read_text() == EARLIER
    assert EARLIER not in earlier.read_text()


def test_a_load_without_rejects_leaves_none(tmp_path: Path, earlier: Path) -> None:
    rejects_file(earlier, tmp_path / "a.csv").close()
    assert names_in(tmp_path) == ["r.jsonl.old"]


def test_a_failed_load_leaves_the_earlier_rejects(tmp_path: Path, earlier: Path) -> None:
    rejects_file(earlier, tmp_path / "a.csv").abandon()
    assert names_in(tmp_path) == ["r.jsonl"]


def test_another_file_is_never_replaced(tmp_path: Path, earlier: Path) -> None:
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("years of work")
    with pytest.raises(CommandError, match=r"thesis\.txt .* --rejects"):
        rejects_file(thesis, tmp_path / "a.csv")
    (tmp_path / "link").symlink_to(earlier)
    with pytest.raises(CommandError, match=r"link .* --rejects"):
        rejects_file(tmp_path / "link", earlier)


LONG = "x" * 250


@pytest.mark.parametrize(
    ("chosen", "source", "written", "error"),
    [
        ("/proc/r.jsonl", "a.csv", "/proc/r.jsonl", errno.ENOENT),
        ("no/dir/r.jsonl", "a.csv", "no/dir/r.jsonl", errno.ENOENT),
        ("/tmp", "a.csv", "/tmp", errno.EISDIR),
        (LONG * 2, "a.csv", LONG * 2, errno.ENAMETOOLONG),
        # The name of the file fits, but the default name of its rejects is too long.
        (None, LONG, f"{LONG}.rejects.jsonl", errno.ENAMETOOLONG),
    ],
    ids=["/proc", "no directory", "directory", "long name", "long default name"],
)
def test_rejects_require_a_writable_directory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chosen: str | None,
    source: str,
    written: str,
    error: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError) as caught:
        rejects_file(None if chosen is None else Path(chosen), Path(source))
    assert str(caught.value).startswith(f"{written} ")
    assert f"({os.strerror(error)})" in str(caught.value)
    assert "--rejects" in str(caught.value)


def test_rejects_can_be_written_to_a_device() -> None:
    file = rejects_file(Path(os.devnull), Path("a.csv"))
    file.write(ONE)
    file.close()
    assert Path(os.devnull).is_char_device()
