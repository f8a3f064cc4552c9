"""Files are opened, unpacked, decoded and watched."""

import errno
import gzip
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from features.loading.rows import read_lines
from features.loading.source import Source, open_source
from features.loading.zstandard import zstd
from server.errors import CommandError


def texts(source: Source) -> list[str]:
    return [line.text for line in read_lines(source.stream, source.encoding)]


def refusal(path: Path, encoding: str | None = None) -> str:
    with pytest.raises(CommandError) as caught, open_source(path, encoding) as source:
        texts(source)
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.csv", "does not exist"),
        (".", "is a directory"),
        ("x" * 300, os.strerror(errno.ENAMETOOLONG)),
        ("/proc/self/mem", os.strerror(errno.EIO)),
    ],
    ids=["missing", "directory", "name too long", "fails on its first read"],
)
def test_an_unreadable_file_is_refused(tmp_path: Path, path: str, message: str) -> None:
    refused = refusal(tmp_path / path)
    assert refused.startswith(f"{tmp_path / path} ")
    assert message in refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,text".encode("utf-16-be"), "`--encoding utf-16-be`"),
        ("id,text".encode("utf-16-le"), "`--encoding utf-16-le`"),
        ("id,text".encode("utf-32-be"), "`--encoding utf-32-be`"),
        (b"PK\x03\x04xlsx", "spreadsheet"),
        (b"BZh91AY", "`bunzip2`"),
        (b"PAR1\x15", "--format parquet"),
        (gzip.compress(b"a" * 257 + b"ustar  ", mtime=0), "`tar -xf`"),
    ],
)
def test_a_file_that_is_not_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert message in refusal(path)


TEXT = "id,text\n1,Größe: 5 €\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), None),
        (gzip.compress(TEXT.encode(), mtime=0), None),
        (gzip.compress(b"id,text\n", mtime=0) + gzip.compress(TEXT[8:].encode(), mtime=0), None),
        (zstd.compress(TEXT.encode()), None),
        (TEXT.encode("utf-16"), None),
        (TEXT.encode("utf-32"), None),
        (TEXT.encode("utf-16-le"), "UTF-16LE"),
        (TEXT.encode("cp1252"), "cp1252"),
        (TEXT.encode("utf-8-sig"), "utf-8"),
        (zstd.compress(TEXT.encode("iso8859-15")), "latin9"),
    ],
)
def test_packed_files_and_other_encodings_are_read(
    tmp_path: Path, content: bytes, encoding: str | None
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with open_source(path, encoding) as source:
        assert source.name == str(path)
        assert source.head.startswith((b"id,text\n", b"\xef\xbb\xbfid,text\n"))
        assert "".join(texts(source)) == TEXT
        assert source.stored.count == source.size == len(content)
        assert source.content.count >= len(TEXT)


@pytest.mark.parametrize("encoding", ["klingon", "base64"])
def test_an_unknown_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id\n")
    assert refusal(path, encoding).startswith(f"--encoding {encoding} is unknown")


@pytest.mark.parametrize(
    ("encoding", "broken"),
    [("utf-16-le", b"\x00\xd8"), ("shift_jis", b"\xff"), ("cp1252", b"\x81")],
)
def test_bytes_that_are_not_valid_in_the_encoding_reject_only_their_line(
    tmp_path: Path, encoding: str, broken: bytes
) -> None:
    path = tmp_path / "a.csv"
    lines = [line.encode(encoding) for line in ("a\n", "b", "\n", "c\n")]
    path.write_bytes(b"".join([*lines[:2], broken, *lines[2:]]))
    with open_source(path, encoding) as source:
        found = list(read_lines(source.stream, source.encoding))
    assert [line.number for line in found if line.fault] == [2]
    assert encoding in str(found[1].fault)


def test_a_character_that_is_cut_at_the_end_of_the_file_rejects_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a\nb".encode("utf-16")[:-1])
    with open_source(path) as source:
        found = list(read_lines(source.stream, source.encoding))
    assert [line.number for line in found if line.fault] == [2]
    assert "utf-16" in str(found[1].fault)


ROWS = "".join(f"{number},text number {number * 7919}\n" for number in range(30_000)).encode()
"""Long enough for several blocks of gzip and zstd, and several reads of the importer."""


def with_checksum(content: bytes) -> bytes:
    """Compress with zstd and a checksum, as the program zstd does.

    Without the checksum, a changed letter would not be detected.
    """
    return zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})


@pytest.mark.parametrize(("packing", "pack"), [("gzip", gzip.compress), ("zstd", with_checksum)])
def test_a_cut_or_damaged_packed_file_is_reported(
    tmp_path: Path, packing: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.csv.packed"
    whole = pack(ROWS)
    for size in (12, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert re.match(rf"{path} is incomplete: .* {packing} file", refusal(path))
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    path.write_bytes(damaged)
    assert re.match(rf"{path} is damaged \(.+\): .* {packing} file", refusal(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda path: path.write_bytes(ROWS + b"more\n"),
            f"grew from {len(ROWS):,} to {len(ROWS) + 5:,} bytes",
        ),
        (
            lambda path: path.write_bytes(ROWS[:-9]),
            f"shrank from {len(ROWS):,} to {len(ROWS) - 9:,} bytes",
        ),
        (
            lambda path: path.write_bytes(ROWS.replace(b"text", b"TEXT")),
            "was changed",
        ),
        (
            lambda path: path.with_suffix(".new").rename(path),
            "was replaced",
        ),
    ],
    ids=["grew", "shrank", "changed", "replaced"],
)
def test_a_file_that_changes_during_the_read_is_reported(
    tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS)
    path.with_suffix(".new").write_bytes(ROWS)
    os.utime(path, (0, 0))
    with open_source(path) as source:
        change(path)
        with pytest.raises(CommandError) as caught:
            texts(source)
    assert str(caught.value).startswith(f"{path} {message}")


def test_a_pipe_is_read_as_data_arrives_and_has_no_size(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            for part in (b"on", b"e\ntw", b"o\n"):
                pipe.write(part)
                time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    with open_source(path) as source:
        assert source.size is None
        assert texts(source) == ["one\n", "two\n"]
    writer.join()


def test_a_read_of_an_idle_pipe_ends_when_it_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)
    os.write(keeper, b"one\n")
    with open_source(path) as source:
        threading.Timer(0.2, source.stopped.set).start()
        assert texts(source) == ["one\n"]
    os.close(keeper)
