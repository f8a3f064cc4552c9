import gzip
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from server.errors import CommandError
from server.importer.rows import Lines
from server.importer.source import Source, open_source

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def texts(source: Source) -> list[str]:
    return [line.text for line in Lines(source.stream, source.encoding)]


def sentence_for(path: Path) -> str:
    with pytest.raises(CommandError) as caught, open_source(path):
        pass
    return str(caught.value)


def test_a_file_is_open_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id\n1\n")
    with open_source(path) as source:
        assert (source.name, source.size) == (str(path), 5)
        assert texts(source) == ["id\n", "1\n"]


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    assert sentence_for(path) == f"{path} is not there: check the path."


def test_a_directory(tmp_path: Path) -> None:
    assert sentence_for(tmp_path) == f"{tmp_path} is a directory: name one file."


def test_a_name_longer_than_names_may_be(tmp_path: Path) -> None:
    assert sentence_for(tmp_path / ("x" * 300)).endswith("cannot be read: File name too long.")


def test_a_file_that_fails_on_its_first_read() -> None:
    path = Path("/proc/self/mem")
    assert sentence_for(path) == f"{path} cannot be read: Input/output error."


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("id,text".encode("utf-16-be"), "looks like UTF-16: add `--encoding utf-16-be`."),
        ("id,text".encode("utf-16-le"), "looks like UTF-16: add `--encoding utf-16-le`."),
        ("id,text".encode("utf-32-be"), "looks like UTF-32: add `--encoding utf-32-be`."),
        (b"PK\x03\x04xlsx", "is an archive or a spreadsheet"),
        (b"BZh91AY", "unpack it first, with `bunzip2`"),
        (b"PAR1\x15", "is Parquet: add --format parquet."),
        (gzip.compress(b"a" * 257 + b"ustar  ", mtime=0), "unpack it first, with `tar -xf`"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert what in sentence_for(path)


TEXT = "id,text\n1,Größe: 5 €\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
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
def test_packed_files_and_other_encodings(
    tmp_path: Path, content: bytes, encoding: str | None
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with open_source(path, encoding) as source:
        assert "".join(texts(source)) == TEXT
        assert source.position == source.size == len(content)


def test_an_encoding_that_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id\n")
    for encoding in ("klingon", "base64"):
        with pytest.raises(CommandError) as caught, open_source(path, encoding):
            pass
        assert str(caught.value).startswith(f"--encoding {encoding} is not known: name one such")


@pytest.mark.parametrize("encoding", ["utf-16-le", "shift_jis", "cp1252"])
def test_what_is_no_text_of_its_encoding_spoils_its_own_line(tmp_path: Path, encoding: str) -> None:
    broken = {"utf-16-le": b"\x00\xd8", "shift_jis": b"\xff", "cp1252": b"\x81"}[encoding]
    path = tmp_path / "a.csv"
    lines = [line.encode(encoding) for line in ("a\n", "b", "\n", "c\n")]
    path.write_bytes(b"".join([*lines[:2], broken, *lines[2:]]))
    with open_source(path, encoding) as source:
        found = list(Lines(source.stream, source.encoding))
    assert [line.fault for line in found] == [None, f"the line holds what is not {encoding}", None]


ROWS = "".join(f"{number},text number {number * 7919}\n" for number in range(30_000)).encode()
"""Several blocks of gzip, zstd and our reads."""


def read_all(path: Path) -> str:
    with pytest.raises(CommandError) as caught, open_source(path) as source:
        texts(source)
    return str(caught.value)


def with_checksum(content: bytes) -> bytes:
    """Pack as the program zstd does; without a checksum nobody can tell that a letter is wrong."""
    return zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})


@pytest.mark.parametrize(("packing", "pack"), [("gzip", gzip.compress), ("zstd", with_checksum)])
def test_a_packed_file_that_is_cut_or_damaged(
    tmp_path: Path, packing: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.csv.packed"
    whole = pack(ROWS)
    advice = (
        f"get a whole copy of the {packing} file, and load it over what was loaded of this one."
    )
    for size in (12, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert read_all(path) == f"{path} ends too soon: {advice}"
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    path.write_bytes(damaged)
    assert re.fullmatch(
        rf"{re.escape(str(path))} is damaged \(.+\): {re.escape(advice)}", read_all(path)
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda path: path.write_bytes(ROWS + b"more\n"),
            f"grew from {len(ROWS):,} to {len(ROWS) + 5:,} bytes while it was read: load it again",
        ),
        (
            lambda path: path.write_bytes(ROWS[:-9]),
            f"shrank from {len(ROWS):,} to {len(ROWS) - 9:,} bytes while it was read: load it",
        ),
        (
            lambda path: path.write_bytes(ROWS.replace(b"text", b"TEXT")),
            "was changed while it was read: load it again",
        ),
        (
            lambda path: path.with_suffix(".new").rename(path),
            "was replaced while it was read, and what was read is the earlier file: load it again.",
        ),
    ],
)
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, change: Callable[[Path], object], sentence: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS)
    path.with_suffix(".new").write_bytes(ROWS)
    os.utime(path, (0, 0))
    with open_source(path) as source:
        change(path)
        with pytest.raises(CommandError) as caught:
            texts(source)
    assert str(caught.value).startswith(f"{path} {sentence}")


def test_an_empty_file_has_no_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.touch()
    with open_source(path) as source:
        assert source.head == b""


def test_a_pipe_is_read_as_it_comes_and_has_no_size(tmp_path: Path) -> None:
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


def test_a_pipe_that_brings_nothing_gives_up_when_told(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)
    os.write(keeper, b"one\n")
    with open_source(path) as source:
        threading.Timer(0.2, source.stopped.set).start()
        assert texts(source) == ["one\n"]
    os.close(keeper)
