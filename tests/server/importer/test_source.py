import gzip
import os
import threading
import time
from pathlib import Path

import pytest

from server.errors import CommandError
from server.importer.source import open_source


def sentence_for(path: Path) -> str:
    with pytest.raises(CommandError) as caught, open_source(path):
        pass
    return str(caught.value)


def test_a_file_is_open_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id\n1\n")
    with open_source(path) as source:
        assert (source.name, source.size) == (str(path), 5)
        assert [line.text for line in source.lines] == ["id\n", "1\n"]


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
        ("id,text".encode("utf-16"), "is UTF-16: convert it first"),
        ("id,text".encode("utf-16-be"), "is not UTF-8 (it looks like UTF-16 or UTF-32)"),
        ("id,text".encode("utf-16-le"), "is not UTF-8 (it looks like UTF-16 or UTF-32)"),
        ("id,text".encode("utf-32-be"), "is not UTF-8 (it looks like UTF-16 or UTF-32)"),
        (gzip.compress(b"id,text", mtime=0), "is compressed: unpack it first"),
        (b"PK\x03\x04xlsx", "is an archive or a spreadsheet"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert what in sentence_for(path)


def test_an_empty_file_has_no_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.touch()
    with open_source(path) as source:
        assert source.lines.first == b""


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
        assert [line.text for line in source.lines] == ["one\n", "two\n"]
    writer.join()


def test_a_pipe_that_brings_nothing_gives_up_when_told(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)
    os.write(keeper, b"one\n")
    with open_source(path) as source:
        threading.Timer(0.2, source.stopped.set).start()
        assert [line.text for line in source.lines] == ["one\n"]
    os.close(keeper)
