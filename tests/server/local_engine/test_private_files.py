"""Only their owner can read data and backups, whatever the umask is."""

import stat
from pathlib import Path

import pytest

from tests.server.serving import called, served


def open_to_others(*paths: Path) -> list[Path]:
    """Return the files and directories at and below these paths that other users can open."""
    below = [one for path in paths for one in (path, *path.rglob("*"))]
    return [one for one in below if stat.S_IMODE(one.stat().st_mode) & 0o077]


def ran(*arguments: str | Path) -> str:
    """Run a command, which must succeed. Return its standard error."""
    ended = called(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


def opened_up(data_dir: Path) -> Path:
    """Give the files of a data directory the permissions of earlier versions."""
    data_dir.chmod(0o755)
    for file in data_dir.iterdir():
        file.chmod(0o644)
    return data_dir


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    data_dir = tmp_path / "data"
    ran("table", "create", "--data-dir", data_dir)
    return data_dir


def test_files_of_a_server_and_backups_are_private(tmp_path: Path) -> None:
    data_dir, backup, restored = (tmp_path / name for name in ("data", "backup.db", "restored"))
    with served(data_dir):
        assert (data_dir / "marginalia.db-wal").exists()
        assert open_to_others(data_dir) == []
        ran("backup", backup, "--data-dir", data_dir)
    ran("restore", backup, "--data-dir", restored)
    ran("restore", backup, "--data-dir", restored)
    assert len(list(restored.glob("marginalia.db.before-restore-*"))) == 1
    assert open_to_others(backup, restored) == []


def test_a_directory_of_an_earlier_version_becomes_private_with_one_log_line(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened_up(data_dir)
    ran("stats", "verify", "--data-dir", data_dir)
    assert open_to_others(data_dir) == []
    ran("stats", "verify", "--data-dir", data_dir)
    (said,) = caplog.messages
    assert f" {data_dir}. " in said


def test_a_directory_with_files_of_other_programs_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(0o755)
    (shared / "notes.txt").touch()
    ran("table", "create", "--data-dir", shared)
    for _ in range(2):
        (shared / "marginalia.db").chmod(0o644)
        ran("table", "create", "--data-dir", shared)
        assert set(open_to_others(shared)) == {shared, shared / "notes.txt"}
