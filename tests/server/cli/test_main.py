"""The command line: its help and its error messages."""

import gc
import os
import re
import subprocess
import sys
import uuid
import weakref
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from dal.dynamodb import retries
from dal.dynamodb.errors import StoreFullError, StoreUnavailableError, ThrottledError
from dal.table.errors import InvalidArgumentError, StoreRefusedError
from server.cli import main
from server.cli.main import COMMANDS
from server.errors import DIFFERS, CommandError
from tests.server.serving import AWS, MARGINALIA, called, environment, marginalia, served


def test_the_help_lists_every_command_with_its_purpose() -> None:
    outcome = marginalia("--help")
    assert outcome.returncode == 0
    said = " ".join(outcome.stdout.split())
    assert [name for name, one in COMMANDS.items() if f"{name} {one.summary}" not in said] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_has_an_example(name: str) -> None:
    outcome = called(name, "--help")
    assert outcome.returncode == 0, outcome.stderr
    assert f"Example: {COMMANDS[name].example}" in " ".join(outcome.stdout.split())


def test_the_help_imports_neither_the_sdk_nor_graphql() -> None:
    code = "import sys; from server.cli import main; main.build(['--help']); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert not {"aioboto3", "strawberry", "uvicorn"} & set(answer.stdout.split())


def commands_of(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


@cache
def commands() -> dict[str, Any]:
    return dict(commands_of(typer.main.get_command(main.build(list(COMMANDS)))))


def test_every_option_has_an_environment_variable() -> None:
    assert {"serve", "token", "table create", "table describe"} <= commands().keys()
    for name, command in commands().items():
        options = [parameter for parameter in command.params if parameter.opts[0] != "--help"]
        for option in options:
            if option.param_type_name == "option":
                spelling = option.opts[0].removeprefix("--").replace("-", "_").upper()
                assert option.envvar == f"MARGINALIA_{spelling}", (name, option.opts)
                assert option.help, (name, option.opts)


@pytest.mark.parametrize("name", commands())
def test_the_help_is_complete_at_80_columns(name: str) -> None:
    outcome = called(*name.split(), "--help")
    lines = outcome.stdout.splitlines()
    assert [line for line in lines if len(line) > 80 or re.search(r"\w-$", line)] == []
    said = {word.strip("[]();,.") for line in lines for word in line.split()}
    for one in commands()[name].params:
        if one.param_type_name == "option":
            assert {*one.opts, *one.secondary_opts, one.envvar or "--help"} <= said, one.name
        assert one.help is None or " ".join(one.help.split()) in " ".join(outcome.stdout.split())


def test_the_version_is_printed() -> None:
    assert called("--version").stdout.startswith("marginalia 0.")


def test_a_missing_command_shows_the_help_and_an_unknown_one_is_refused() -> None:
    assert "Usage: marginalia" in marginalia().stderr
    outcome = marginalia("sreve")
    assert outcome.returncode == 2
    assert "No such command 'sreve'. Did you mean 'serve'?" in outcome.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CommandError("Do this:\n  then that."), 2),
        (CommandError("It differs.", DIFFERS), 1),
        (InvalidArgumentError("rating", "Do this."), 2),
        (StoreRefusedError("Do this."), 2),
        (StoreUnavailableError("Do this."), 3),
        (ThrottledError("Do this."), 3),
        (StoreFullError("Do this."), 3),
    ],
)
def test_an_expected_error_is_one_line_with_an_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(main, "build", fail)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == code
    assert capsys.readouterr().err == f"marginalia: {' '.join(str(error).split())}\n"


def test_ctrl_c_ends_with_the_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "build", interrupt)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 130


def test_a_closed_output_is_not_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [str(MARGINALIA), "schema"]
    outcome = subprocess.run(
        command, env=environment(), stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert outcome.stderr == b""


def test_the_schema_is_printed() -> None:
    assert "type Query {" in called("schema").stdout


def test_contradicting_options_are_refused() -> None:
    outcome = called("table", "describe", "--aws", "--endpoint-url", "http://127.0.0.1:1")
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("marginalia: --aws and --endpoint-url ")
    outcome = called("table", "describe", "--endpoint-url", "localhost:8000")
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("marginalia: --endpoint-url localhost:8000 ")


def test_the_embedded_table_is_created_and_described(tmp_path: Path) -> None:
    create = ("table", "create", "--data-dir", tmp_path)
    assert called(*create).stdout == "Table marginalia is ready.\n"
    assert called(*create).stdout.startswith("Table marginalia already exists")
    shown = called("table", "describe", MARGINALIA_DATA_DIR=str(tmp_path)).stdout
    assert "Table marginalia: active, 1 items" in shown, "it says who counts"
    assert (
        "│ byStatusDate    │ PK            │ OrderStatusDate │ keys, data               │" in shown
    )
    assert "Expiry is on" in shown
    assert list(tmp_path.glob("engine*")) == []


def test_the_same_commands_work_with_an_endpoint(tmp_path: Path, dynoxide_url: str) -> None:
    store = {
        "MARGINALIA_ENDPOINT_URL": dynoxide_url,
        "MARGINALIA_TABLE": f"test-{uuid.uuid4().hex}",
        "MARGINALIA_DATA_DIR": str(tmp_path / "unused"),
        **AWS,
    }
    outcome = called("serve", "--port", "0", **store)
    assert outcome.returncode == 2
    assert re.fullmatch(r"marginalia: .*`marginalia table create`\.\n", outcome.stderr)
    assert "is ready" in called("table", "create", **store).stdout
    assert "already exists" in called("table", "create", **store).stdout
    with served(tmp_path / "unused", **store) as server:
        assert dynoxide_url in server.said
        assert server.end() == (0, "")
    assert not (tmp_path / "unused").exists()


def test_an_endpoint_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DEADLINE", 2)  # seconds after which the command gives up
    outcome = called("table", "describe", "--endpoint-url", "http://127.0.0.1:9", **AWS)
    assert outcome.returncode == 3
    assert re.fullmatch(r"marginalia: .* http://127\.0\.0\.1:9: .*\n", outcome.stderr)


def test_missing_aws_settings_are_reported(tmp_path: Path) -> None:
    nothing = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path)}
    outcome = called("table", "describe", "--aws", **nothing)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("marginalia: No AWS region ")


class Kept:
    """An object in a reference cycle, which only garbage collection can free."""

    def __init__(self) -> None:
        self.itself = self


def test_objects_of_a_command_that_runs_in_this_process_are_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a test that runs a thousand commands would run out of memory."""
    left: list[weakref.ref[Kept]] = []

    def command() -> None:
        gc.freeze()
        left.append(weakref.ref(Kept()))

    monkeypatch.setattr(main, "main", command)
    frozen = gc.get_freeze_count()
    assert called("anything").returncode == 0
    assert left[0]() is None
    assert gc.get_freeze_count() == frozen
