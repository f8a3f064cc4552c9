"""Environment variables of the project's prefix that no program reads are reported."""

import re
import socket
from pathlib import Path

import pytest

from server.cli import variables
from server.cli.variables import OTHERS, unknown_variables, variables_of_commands
from tests.engines import ROOT
from tests.server.serving import called, marginalia

MISSPELT = {
    "MARGINALIA_JWT_ISUER": "MARGINALIA_JWT_ISSUER",
    "MARGINALIA_NO_INTROSPECTION": "MARGINALIA_INTROSPECTION",
    "MARGINALIA_TRUSTED_PROXIES": "MARGINALIA_TRUSTED_PROXY",
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_a_misspelt_variable_is_named_with_the_nearest_one(name: str, meant: str) -> None:
    (sentence,) = unknown_variables({name, meant, "PATH", "OTEL_SERVICE_NAME"})
    assert f"{name}, " in sentence
    assert sentence.endswith(f"did you mean {meant}?")


def test_a_variable_that_resembles_no_option_is_named_alone() -> None:
    (sentence,) = unknown_variables({"MARGINALIA_XYZZY"})
    assert "MARGINALIA_XYZZY, " in sentence
    assert sentence.endswith("remove it.")


def test_every_variable_that_the_code_reads_is_known() -> None:
    read = {
        name
        for folder in ("dal", "features", "pages", "resolvers", "schema", "server")
        for path in [*(ROOT / folder).rglob("*.py"), ROOT / "hatch_build.py", ROOT / "Dockerfile"]
        for name in re.findall(r"\bMARGINALIA_[A-Z_]*[A-Z]\b", path.read_text("utf-8"))
    }
    assert {"MARGINALIA_ENGINE", "MARGINALIA_EXIT_WHEN_BLOCKED"} <= read
    # The options of other commands are known, although the server does not read them.
    assert unknown_variables(read | variables_of_commands() | OTHERS) == []


def test_the_usual_start_does_not_import_other_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "variables_of_commands", lambda: pytest.fail("imported"))
    assert unknown_variables({"MARGINALIA_PORT", "MARGINALIA_DATA_DIR", "MARGINALIA_ENGINE"}) == []


def test_serve_check_ends_with_exit_code_1_for_a_misspelt_variable(tmp_path: Path) -> None:
    done = called(
        "serve",
        "--check",
        "--data-dir",
        tmp_path / "data",
        MARGINALIA_JWT_ISUER="https://shop.example",
    )
    assert done.returncode == 1
    assert done.stdout.startswith("danger   variables ")
    assert "MARGINALIA_JWT_ISSUER?" in done.stdout


def test_a_server_names_misspelt_variables_at_its_start(tmp_path: Path) -> None:
    """The port is in use, so that the server ends after its first checks."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = marginalia(
            "serve",
            "--data-dir",
            tmp_path / "data",
            MARGINALIA_PORT=port,
            MARGINALIA_JWT_ISUER="https://shop.example",
        )
    assert "already in use" in done.stderr
    assert "MARGINALIA_JWT_ISSUER?" in done.stderr
