"""The setting ``--explain``, and its check by ``serve --check``."""

from pathlib import Path
from typing import Any

import pytest

from features.plans.settings import has_plans
from server import checks
from server.findings import Level
from server.settings import Settings
from tests.server.cli.test_options import settings_of
from tests.server.test_checks import PUBLIC, nothing, report


@pytest.mark.parametrize(
    ("arguments", "plans"),
    [([], False), (["--demo"], True), (["--explain"], True), (["--demo", "--no-explain"], False)],
)
def test_only_the_demo_shows_plans_by_default(arguments: list[str], plans: bool) -> None:
    settings = settings_of(arguments)
    assert has_plans(settings, demo=settings.demo) is plans


@pytest.mark.parametrize(
    ("given", "level", "words"),
    [
        ({}, Level.OK, "not shown"),
        ({"explain": True}, Level.OK, "this machine"),
        (PUBLIC | {"explain": True}, Level.WARNING, "--no-explain"),
    ],
)
async def test_plans_on_a_public_server_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], level: Level, words: str
) -> None:
    monkeypatch.setattr(checks, "store", nothing)
    found = await report(Settings(data_dir=tmp_path / "data", **given))
    assert found["plans"].level is level
    assert words in found["plans"].sentence


async def test_every_client_sees_costs_with_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "store", nothing)
    found = await report(Settings(data_dir=tmp_path / "data", explain=True))
    assert "every client" in found["costs"].sentence
