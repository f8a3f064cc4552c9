from pathlib import Path
from typing import Any

import jwt
import pytest
import typer
from typer.testing import CliRunner, Result

from dal.table.errors import InvalidArgumentError
from server.auth.secret import FILE_NAME, ensure_secret, read_secret
from server.cli.commands.token import token
from server.cli.main import ListedCommand
from server.errors import CommandError

DAY = 86_400


@pytest.fixture(autouse=True)
def used_by_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MARGINALIA_JWT_SECRET", raising=False)
    (tmp_path / "marginalia.begun").touch()


def run(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command(cls=ListedCommand)(token)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def claims(result: Result, secret: str) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return jwt.decode(result.output.strip(), secret, algorithms=["HS256"])


def test_the_command_prints_only_the_jwt_and_creates_the_secret(tmp_path: Path) -> None:
    result = run("--user", "ada", "--data-dir", tmp_path)
    assert result.output.count("\n") == 1
    made = claims(result, read_secret(tmp_path) or "")
    assert (made["sub"], made["roles"]) == ("ada", [])
    assert made["exp"] - made["iat"] == DAY


def test_the_role_option_may_be_repeated(tmp_path: Path) -> None:
    result = run("--user", "ада", "--role", "moderator", "--role", "editor", "--data-dir", tmp_path)
    made = claims(result, ensure_secret(tmp_path))
    assert (made["sub"], made["roles"]) == ("ада", ["moderator", "editor"])


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("12h", DAY // 2), ("7d", 7 * DAY)]
)
def test_the_lifetime_option_sets_the_expiry(tmp_path: Path, text: str, seconds: int) -> None:
    made = claims(
        run("--user", "ada", "--lifetime", text, "--data-dir", tmp_path), ensure_secret(tmp_path)
    )
    assert made["exp"] - made["iat"] == seconds


@pytest.mark.parametrize("text", ["", "0d", "-1h", "1", "h", "1w", "1.5h"])
def test_an_invalid_lifetime_is_a_usage_error(tmp_path: Path, text: str) -> None:
    result = run("--user", "ada", f"--lifetime={text}", "--data-dir", tmp_path)
    assert result.exit_code == 2
    assert "30m, 12h or 7d" in result.output


def test_the_secret_of_the_environment_takes_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_secret(tmp_path)
    monkeypatch.setenv("MARGINALIA_JWT_SECRET", "e" * 32)
    assert claims(run("--user", "ada", "--data-dir", tmp_path), "e" * 32)["sub"] == "ada"


def test_with_a_secret_in_the_environment_no_file_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARGINALIA_JWT_SECRET", "e" * 32)
    run("--user", "ada", "--data-dir", tmp_path)
    assert not (tmp_path / FILE_NAME).exists()


def test_a_short_secret_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINALIA_JWT_SECRET", "short")
    result = run("--user", "ada", "--data-dir", tmp_path)
    assert isinstance(result.exception, CommandError)
    assert "MARGINALIA_JWT_SECRET has 5 bytes" in str(result.exception)


def test_an_invalid_user_name_is_refused(tmp_path: Path) -> None:
    for user in ("", " ", "erased-1a2b3c4d"):
        result = run("--user", user, "--data-dir", tmp_path)
        assert isinstance(result.exception, InvalidArgumentError)
