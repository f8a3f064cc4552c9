"""The sentences of commands."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.model.submissions import ReviewCause, pending
from dal.stores import Stores
from tests.putting import put_comments
from tests.server.cli.commands.saying import sentences_of
from tests.server.serving import called
from tests.strategies import comment

REFUSED: list[tuple[str, str]] = [
    (
        "serve --host 192.0.2.1 --port 0",
        (
            "marginalia: 192.0.2.1 is not an address of this machine: choose another "
            "address with --host."
        ),
    ),
    (
        "export --output shop",
        (
            "marginalia: There is no data in /tmp/data: name the server's data directory "
            "with --data-dir, or name a table with --endpoint-url or --aws."
        ),
    ),
    (
        "export --output shop --all-states --kind orders",
        (
            "marginalia: --all-states is only for comments, but the kind is orders: remove "
            "--all-states."
        ),
    ),
    (
        "export -o - --data-dir .",
        ("marginalia: Standard output can take only one kind of rows: choose a kind with --kind."),
    ),
    (
        "export -o reviews.csv --data-dir .",
        (
            "marginalia: reviews.csv is the name of one file, but all kinds need a "
            "directory: name a directory, or choose one kind with --kind."
        ),
    ),
    (
        "export -o - --kind orders --format parquet --data-dir .",
        ("marginalia: Parquet cannot be streamed to standard output: name a file with --output."),
    ),
    (
        "token --user ana",
        (
            "marginalia: There is no data in /tmp/data: name the server's data directory "
            "with --data-dir, or set MARGINALIA_JWT_SECRET to the server's secret."
        ),
    ),
    ("restore monday.db", "marginalia: monday.db does not exist: name a backup."),
    (
        "table describe --aws --endpoint-url http://127.0.0.1:1",
        ("marginalia: --aws and --endpoint-url cannot be used together: remove one of them."),
    ),
    (
        "table describe --endpoint-url localhost:8000",
        ("marginalia: --endpoint-url localhost:8000 is not a URL such as http://127.0.0.1:8001."),
    ),
    (
        "table describe --aws",
        (
            "marginalia: No AWS region is set: set AWS_DEFAULT_REGION to the table's "
            "region, such as eu-west-1 (AWS_REGION is not read). For an endpoint outside of "
            "AWS, any region works."
        ),
    ),
    ("load a.csv --data-dir a.csv", "marginalia: a.csv does not exist: check the path."),
]


@pytest.mark.parametrize(("command", "sentence"), REFUSED)
def test_a_command_is_refused(
    command: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nothing = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path)}
    last = called(*command.split(), **nothing).stderr.splitlines()[-1]
    assert last.replace(str(tmp_path), "/tmp") == sentence


SENTENCES: dict[str, list[str]] = {
    "table create": [
        "Table shop already exists and was not changed.",
    ],
    "table upgrade": [
        ("Table shop fits this version. 0 indexes were added, and keys were added to 0 items."),
    ],
    "table one-per-person on": [
        "Table shop: a person may have one comment on each product.",
        (
            "Comments whose author has a newer comment on the same product: 4. They "
            "stay. To list them, run `marginalia table one-per-person on --list`."
        ),
        "Waiting 0 s until all running servers know of this command.",
    ],
    "table one-per-person off": [
        "Table shop: a person may have any number of comments.",
    ],
    "user block a/b --reason Spam": [
        "User a/b is blocked: new comments and edits wait for a moderator.",
    ],
    "user unblock a/b": [
        "User a/b is not blocked.",
    ],
    "export --kind comments -o a.json": [
        "marginalia: a.json exists: name another output, or add --force to replace it.",
    ],
    "export --kind comments -o b.json": [
        (
            "Not exported, because they are not published: 1 comment. Add --all-states "
            "to export them, too."
        ),
    ],
    "stats verify": [
        "Table shop: the statistics equal a recount.",
    ],
}
"""The sentences that each command prints."""


async def test_commands_on_one_table(
    table: Table, store: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").touch()
    stores, held = Stores(table), comment("held", username="zoe")
    await put_comments(stores.comments, [comment(f"c{n}", username="ann") for n in range(5)])
    await stores.comments.add(
        held, hold=lambda new: pending(new, ReviewCause.SETTING, datetime.now(UTC))
    )
    await stores.boards.finish()
    assert sentences_of(SENTENCES, table, store) == SENTENCES
