"""``serve --check`` reports whether ClickHouse can be reached."""

from pathlib import Path
from typing import Any

import pytest

from server import checks
from server.findings import Level
from server.settings import Settings
from tests.server.test_checks import NOWHERE, nothing, report


@pytest.mark.parametrize(
    ("given", "level", "words"),
    [
        ({}, Level.OK, "not configured"),
        ({"analytics_url": NOWHERE}, Level.WARNING, "cannot be reached"),
    ],
)
async def test_clickhouse_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], level: Level, words: str
) -> None:
    monkeypatch.setattr(checks, "store", nothing)
    found = await report(Settings(data_dir=tmp_path / "data", **given))
    assert found["ClickHouse"].level is level
    assert words in found["ClickHouse"].sentence
    assert not (tmp_path / "data").exists()
