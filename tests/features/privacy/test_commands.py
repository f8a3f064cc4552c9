"""``marginalia user export`` and ``marginalia user erase``."""

import json
import re
from io import StringIO
from pathlib import Path

import pytest
import typer

from dal.dynamodb.table import Table
from dal.stores import Stores
from tests.features.privacy.person import NAME, fill
from tests.server.serving import AWS, called


async def test_a_user_is_exported_and_erased_completely(
    table: Table, store: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    await fill(Stores(table), table)

    def run(*arguments: str | Path) -> str:
        done = called("user", *arguments, *store, **AWS)
        assert done.returncode == 0, done.stderr
        return done.stdout

    counts = (
        "5 comments, 1 order, 1 purchase, 1 membership, 2 tickets, 1 profile, 1 report, "
        "1 moderation decision, 1 moderation block, 1 write restriction, 1 helpful vote, "
        "1 recent helpful vote, 1 commented-product record"
    )
    file = tmp_path / "user.json"
    assert run("export", NAME, "--output", file) == f"{file}: {counts}.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    written = json.loads(file.read_text())
    printed = json.loads(run("export", NAME))
    assert written | {"exportedAt": ""} == printed | {"exportedAt": ""}
    again = called("user", "export", NAME, "--output", file, *store, **AWS)
    assert again.returncode == 2
    assert again.stderr.startswith(f"marginalia: {file} exists: ")

    nowhere = tmp_path / "none" / "user.json"
    early = called(
        "user", "export", NAME, "-o", nowhere, "--endpoint-url", "http://127.0.0.1:9", **AWS
    )
    assert (early.returncode, early.stderr) == (
        2,
        f"marginalia: {nowhere} cannot be written: No such file or directory.\n",
    )
    unknown = tmp_path / "unknown.json"
    nothing = "no data of {}.\n"
    assert run("export", "unknown", "--output", unknown).endswith(nothing.format("unknown"))
    assert not unknown.exists()
    assert run("erase", "unknown", "--yes").endswith(nothing.format("unknown"))

    unsure = called("user", "erase", NAME, *store, **AWS)
    assert (unsure.returncode, unsure.stdout) == (2, "")
    assert re.fullmatch(r"marginalia: .* --yes\.\n", unsure.stderr)
    assert json.loads(run("export", NAME))["comments"] == written["comments"], "nothing changed"
    said = run("erase", NAME, "--yes").splitlines()
    assert said[0].startswith(f"{NAME} is erased: 5 comments deleted, ")
    assert said[1].endswith(" 1 order.")
    assert said[2].endswith(" nowhere else.")
    assert "1 report deleted" in said[0]
    assert "24 hours" in "".join(said[3:])
    assert all(len(line) <= 80 for line in said[1:])
    assert f"no data of {NAME}, except 1 order" in run("erase", NAME, "--yes")
    run("erase", NAME, "--yes", "--orders", "delete")
    nothing = nothing.format(NAME)
    assert run("erase", NAME, "--yes").endswith(nothing)
    assert run("export", NAME, "--output", tmp_path / "more.json").endswith(nothing)
    assert not (tmp_path / "more.json").exists()
    assert called("user", "export", NAME, *store, **AWS).stderr.endswith(nothing)
    assert called("stats", "verify", *store, **AWS).returncode == 0


async def test_the_confirmation_of_an_erase_shows_counts(
    table: Table, store: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(Stores(table), table)
    terminal = StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    asked: list[str] = []

    def no(question: str, *, abort: bool) -> None:
        asked.append(question)
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", no)
    done = called("user", "erase", NAME, *store, **AWS)
    assert done.returncode == 1
    assert len(asked) == 1
    assert "5 comments will be deleted" in done.stdout
    assert "1 order will be kept" in done.stdout
    assert (await Stores(table).users.profile(NAME)) is not None
