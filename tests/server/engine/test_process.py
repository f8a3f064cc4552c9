"""Engine binaries that do not start, and ports that are taken."""

import socket
from pathlib import Path

import pytest

from server.engine.process import EngineProcess, PortTakenError
from tests.server.embedded import refusal


async def test_a_taken_port_is_told_apart_from_other_faults(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(PortTakenError):
        await EngineProcess.start(tmp_path / "x.db", listener.getsockname()[1])


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        (None, "is not at {path}: set MARGINALIA_ENGINE to where the dynoxide program is"),
        (0o644, "{path} cannot be run (Permission denied): run `make setup` again"),
        (0o755, "{path} cannot be run (Exec format error): run `make setup` again"),
    ],
)
async def test_a_binary_that_does_not_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int | None, sentence: str
) -> None:
    path = tmp_path / "dynoxide"
    if mode is not None:
        path.write_bytes(b"\0")
        path.chmod(mode)
    monkeypatch.setenv("MARGINALIA_ENGINE", str(path))
    assert sentence.format(path=path) in await refusal(tmp_path / "data")


async def test_an_engine_that_ends_at_once_leaves_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dynoxide"
    path.write_text("#!/bin/sh\necho 'error: Internal error: disk I/O error' >&2\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("MARGINALIA_ENGINE", str(path))
    database = tmp_path / "data/marginalia.db"
    assert await refusal(tmp_path / "data") == (
        f"The storage engine cannot open {database}: disk I/O error. If the file is damaged, put "
        "a backup in its place with `marginalia restore`."
    )


async def test_an_engine_that_says_nothing_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dynoxide"
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    path.chmod(0o755)
    monkeypatch.setenv("MARGINALIA_ENGINE", str(path))
    monkeypatch.setattr("server.engine.process.START_DEADLINE", 0.2)
    assert "it did not start within" in await refusal(tmp_path / "data")
