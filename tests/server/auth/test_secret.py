from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server.auth.secret import (
    FILE_NAME,
    MIN_BYTES,
    checked_secret,
    ensure_secret,
    read_secret,
    secret_source,
)
from server.errors import CommandError


def test_the_secret_is_created_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    data_dir = tmp_path / "not/there/yet"
    assert read_secret(data_dir) is None
    made = ensure_secret(data_dir)
    assert len(made) >= 32
    assert ensure_secret(data_dir) == read_secret(data_dir) == made
    assert (data_dir / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in data_dir.iterdir()] == [FILE_NAME]


def test_two_directories_have_two_secrets(tmp_path: Path) -> None:
    assert ensure_secret(tmp_path / "a") != ensure_secret(tmp_path / "b")


def test_processes_that_create_the_secret_at_once_get_the_same_secret(tmp_path: Path) -> None:
    for attempt in range(20):
        data_dir = tmp_path / str(attempt)
        with ThreadPoolExecutor(16) as pool:
            made = set(pool.map(ensure_secret, [data_dir] * 16))
        assert made == {read_secret(data_dir)}
        assert [entry.name for entry in data_dir.iterdir()] == [FILE_NAME]


def test_the_second_process_uses_the_secret_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ensure_secret(tmp_path)
    answers = iter([None, first])
    monkeypatch.setattr("server.auth.secret.read_secret", lambda data_dir: next(answers))
    assert ensure_secret(tmp_path) == first
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize("content", ["", "short\n"])
def test_a_too_short_secret_file_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(CommandError, match=f"{FILE_NAME} .*{MIN_BYTES}"):
        ensure_secret(tmp_path)


def test_an_unreadable_secret_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(CommandError, match=FILE_NAME) as caught:
        read_secret(tmp_path)
    assert isinstance(caught.value.__cause__, IsADirectoryError)


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match=r"--data-dir .*MARGINALIA_JWT_SECRET"):
        ensure_secret(tmp_path / "file")


def test_a_configured_secret_takes_precedence_and_must_be_long(tmp_path: Path) -> None:
    ensure_secret(tmp_path)
    assert secret_source("c" * 32, tmp_path)() == "c" * 32
    with pytest.raises(CommandError, match=r"MARGINALIA_JWT_SECRET .*31"):
        secret_source("c" * 31, tmp_path)


def test_the_length_of_a_secret_is_counted_in_bytes() -> None:
    assert checked_secret("é" * 16, "here") == "é" * 16


def test_a_secret_that_is_created_later_is_found(tmp_path: Path) -> None:
    source = secret_source(None, tmp_path)
    assert source() is None
    made = ensure_secret(tmp_path)
    assert source() == made
