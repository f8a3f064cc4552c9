"""``serve --check`` reports whether Redis can be used."""

from pathlib import Path
from typing import Any

import pytest

from features.live.brokers import checked
from server import checks
from server.findings import Level
from server.settings import Settings
from tests.engines.redis import NEEDS_REDIS, redis_server
from tests.server.test_checks import nothing, report


@pytest.mark.parametrize(
    ("given", "level", "words"),
    [
        ({}, Level.OK, "one process"),
        ({"workers": 2}, Level.WARNING, "--redis-url"),
        ({"redis_url": "redis://:hush@127.0.0.1:9"}, Level.DANGER, "cannot be used"),
    ],
)
async def test_redis_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], level: Level, words: str
) -> None:
    monkeypatch.setattr(checks, "store", nothing)
    found = await report(Settings(data_dir=tmp_path / "data", **given))
    assert found["Redis"].level is level
    assert words in found["Redis"].sentence
    assert "hush" not in str(found)
    assert not (tmp_path / "data").exists()


@NEEDS_REDIS
async def test_a_reachable_redis_is_reported() -> None:
    with redis_server() as server:
        assert (await checked(Settings(redis_url=server.url))).level is Level.OK
