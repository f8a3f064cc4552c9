"""Commands in a directory without data, as after a wrong ``cd``: those that need data are
refused.
"""

import re
from pathlib import Path

import pytest

from server.errors import USAGE
from server.local_engine.engine import embedded_engine
from server.local_engine.storage import open_table
from server.settings import Settings
from tests.server.cli.test_main import commands
from tests.server.serving import called

NO_DATA = r".* no data .*/data: .* --data-dir, .* --endpoint-url or --aws\."
NO_ANALYTICS = r".* no analytics data .*/data: .*`marginalia analytics refresh`, .* --data-dir\."

REFUSED = {
    "export": ("--output shop", NO_DATA),
    "explain": ("42", NO_DATA),
    "token": ("--user ana", ".* no data .*/data: .* --data-dir, .* MARGINALIA_JWT_SECRET .*"),
    "invite": ("", r"--public-url is missing: .*"),
    "documents add": ("known.json", NO_DATA),
    "documents list": ("", NO_DATA),
    "table one-per-person": ("on", NO_DATA),
    "table upgrade": ("", NO_DATA),
    "table describe": ("", NO_DATA),
    "stats rebuild": ("", NO_DATA),
    "stats verify": ("", NO_DATA),
    "stats follow": ("", NO_DATA),
    "user block": ("bob --reason Spam", NO_DATA),
    "user unblock": ("bob", NO_DATA),
    "user blocked": ("", NO_DATA),
    "user export": ("bob", NO_DATA),
    "user erase": ("bob --yes", NO_DATA),
    "analytics refresh": ("", NO_DATA),
    "analytics trend": ("42", NO_ANALYTICS),
    "analytics movers": ("", NO_ANALYTICS),
    "backup": ("monday.db", NO_DATA),
    "restore": ("monday.db", r"monday\.db does not exist: .*"),
}
"""For each refused command of the core and of features, its arguments and its error message."""

ANSWERED = {
    "serve": (
        "--check",
        r"ok       TLS .*ok       table          the server .*",
    ),
    "load": ("kettle.jsonl --kind products", r"kettle\.jsonl: 1 new, .*"),
    "table create": ("", r"Table marginalia is ready\."),
    "table workbench": ("", r"\{.*\}"),
    "documents price": ("known.json", r".* query .*"),
    "schema": ("", r".*type Query \{.*\}"),
}
"""For each other command, its arguments and its output. They create data or need none."""

FILES = {
    "known.json": '{"a": "{ __typename }"}',
    "kettle.jsonl": '{"id": "1", "title": "Kettle"}\n',
}

MAKE_DATA = {"load", "table create"}


def test_every_command_has_a_row_in_this_test() -> None:
    assert set(commands()) <= {*REFUSED, *ANSWERED}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the files that commands load."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", commands())
def test_a_command_in_a_directory_without_data_is_refused(command: str, directory: Path) -> None:
    arguments, answer = (REFUSED | ANSWERED)[command]
    outcome = called(*command.split(), *arguments.split())
    if command in REFUSED:
        assert (outcome.returncode, outcome.stdout) == (USAGE, "")
        assert re.fullmatch(rf"marginalia: {answer}\n", outcome.stderr), outcome.stderr
    else:
        assert (outcome.returncode, outcome.stderr) == (0, "")
        assert re.fullmatch(rf"{answer}\n", outcome.stdout, re.DOTALL), outcome.stdout
    made = {"data"} if command in MAKE_DATA else set()
    assert {path.name for path in directory.iterdir()} == FILES.keys() | made


@pytest.mark.parametrize("command", [["stats", "verify"], ["token", "--user", "ana"]])
def test_an_empty_directory_stays_empty(command: list[str], tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    outcome = called(*command, "--data-dir", tmp_path)
    assert outcome.returncode == USAGE
    assert list(tmp_path.iterdir()) == []


async def test_a_wrong_table_name_creates_no_table(tmp_path: Path) -> None:
    async with open_table(Settings(data_dir=tmp_path), share=False):
        for command in (["table", "describe"], ["stats", "verify"]):
            outcome = called(*command, "--data-dir", tmp_path, "--table", "marginalai")
            assert outcome.returncode == USAGE
            assert re.fullmatch(r"marginalia: .*`marginalia table create`\.\n", outcome.stderr)


async def test_a_command_waits_for_a_server_that_creates_its_data(tmp_path: Path) -> None:
    """The server locks the directory some milliseconds before the engine creates the data file."""
    async with (
        embedded_engine(tmp_path, share=False) as ours,
        embedded_engine(tmp_path, share=True, create=False) as shared,
    ):
        assert shared.endpoint_url == ours.endpoint_url
