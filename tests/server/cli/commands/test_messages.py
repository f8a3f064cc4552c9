"""The sentences of commands."""

from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.model.own_ids import global_id
from dal.stores import Stores
from tests.feature_lists import merged
from tests.putting import put_comments
from tests.server.cli.commands.saying import sentences_of
from tests.server.serving import AWS, called
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
        "table describe",
        (
            "marginalia: There is no data in /tmp/data: name the server's data directory "
            "with --data-dir, or name a table with --endpoint-url or --aws."
        ),
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
]


def refusal_of(command: str, directory: Path) -> str:
    """Return the sentence of a refused command in a directory, which it names ``/tmp``."""
    nothing = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(directory)}
    last = called(*command.split(), **nothing).stderr.splitlines()[-1]
    return last.replace(str(directory), "/tmp")


@pytest.mark.parametrize(("command", "sentence"), REFUSED)
def test_a_command_is_refused(
    command: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal_of(command, tmp_path) == sentence


WITH_AN_ID = {"token --user {}": False}
"""Commands that take an own id, and whether they read the table."""


@pytest.mark.parametrize(("command", "reads"), merged(WITH_AN_ID, "COMMANDS_WITH_AN_ID").items())
async def test_a_command_refuses_a_global_id(
    command: str, reads: bool, table: Table, store: list[str]
) -> None:
    """A command that reads the table gets its options."""
    product = global_id("Product", "42")
    options = store if reads else ["--data-dir", "data"]
    ended = called(*command.format(product).split(), *options, **AWS)
    assert ended.returncode == 2
    assert ended.stderr.endswith(
        f"{product!r} is the base64 of 'Product:42', which is a global id of the API: use the "
        "shop's own id, such as '42'.\n"
    )


SENTENCES: dict[str, list[str]] = {
    "table create": [
        "Table shop already exists and was not changed.",
    ],
    "table upgrade": [
        (
            "Table shop fits this version. 0 indexes were added, and keys were added to or "
            "changed in 0 items."
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
    stores = Stores(table)
    await put_comments(stores.comments, [comment(f"c{n}", username="ann") for n in range(5)])
    await stores.boards.finish()
    assert sentences_of(SENTENCES, table, store) == SENTENCES
