"""Engines that outlived their owner."""

import signal
from pathlib import Path

import psutil
import pytest

from server.engine.engine import embedded_engine
from tests.server.embedded import abandoned, engine_pid


async def test_an_engine_of_a_killed_server_is_stopped_before_the_next_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with abandoned(tmp_path, tmp_path / "marginalia.db") as orphan:
        async with embedded_engine(tmp_path, share=False):
            assert not psutil.pid_exists(orphan.pid)
            assert engine_pid(tmp_path) != orphan.pid
    assert "of a killed server was still running" in caplog.text


async def test_an_engine_that_does_not_end_when_asked_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.engine.orphan_process._DEADLINE", 0.2)
    with abandoned(tmp_path, tmp_path / "marginalia.db") as orphan:
        orphan.send_signal(signal.SIGSTOP)
        async with embedded_engine(tmp_path, share=False):
            assert not psutil.pid_exists(orphan.pid)


async def test_another_program_with_a_recorded_process_id_is_left_alone(tmp_path: Path) -> None:
    with abandoned(tmp_path, tmp_path / "elsewhere.db") as stranger:
        async with embedded_engine(tmp_path, share=False):
            assert stranger.poll() is None
