"""The sentences of the commands of personal data."""

from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from tests.features.privacy.person import NAME, fill
from tests.server.cli.commands.saying import sentences_of

SENTENCES: dict[str, list[str]] = {
    f"user export {NAME} -o a.json": [
        "marginalia: a.json exists: name a new file.",
    ],
    "user export unknown -o b.json": [
        "The table has no data of unknown.",
    ],
    f"user erase {NAME}": [
        "marginalia: The command cannot ask for confirmation without a terminal: add --yes.",
    ],
    f"user erase {NAME} --yes": [
        (
            f"{NAME} is erased: 5 comments deleted, 1 purchase deleted, 1 membership deleted, "
            "2 tickets renamed, 1 profile deleted, 1 report deleted, 1 moderation decision "
            "renamed, 1 moderation block renamed, 1 helpful vote deleted, 1 recent helpful vote "
            "deleted, 1 commented-product record deleted."
        ),
        "As you chose, the name stays in 1 order.",
        "A scan of the table found the name nowhere else.",
        "Waiting 0 s until all running servers know of this command.",
        "Waiting 0 s until all running servers know of this command.",
    ],
}


async def test_commands_of_personal_data(
    table: Table, store: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").touch()
    await fill(Stores(table), table)
    assert sentences_of(SENTENCES, table, store) == SENTENCES
