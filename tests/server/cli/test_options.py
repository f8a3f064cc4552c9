"""Options of settings: each is read from the command line and from the environment."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from dal.composition import KINDS
from dal.kinds.item_kind import ItemKind
from server.cli.main import ListedCommand
from server.cli.options import takes
from server.option import option_name
from server.settings import ORDER, Settings
from tests.feature_lists import added, merged

_TEXTS: dict[str, tuple[str, Any]] = {
    "public_url": ("https://shop.example", "https://shop.example"),
    "allowed_hosts": ("a.example *.b.example", ["a.example", "*.b.example"]),
    "cors_origins": ("https://a.example *", ["https://a.example", "*"]),
    "picture_origins": ("https://cdn.example", ["https://cdn.example"]),
    "log_format": ("json", "json"),
    "data_dir": ("elsewhere", Path("elsewhere")),
    "endpoint_url": ("http://127.0.0.1:1", "http://127.0.0.1:1"),
    "jwt_issuer": ("https://login.example/", "https://login.example/"),
    "jwt_name_claims": ("nickname name", ["nickname", "name"]),
    "jwt_roles": ("admins=staff mods=moderator", ["admins=staff", "mods=moderator"]),
    "jwks_url": ("https://keys.example", "https://keys.example"),
    "metrics_host": ("0.0.0.0", "0.0.0.0"),
    "trace_url": ("http://127.0.0.1:4318", "http://127.0.0.1:4318"),
    "trace_sample": ("0.5", 0.5),
    "rate_limit": ("off", "off"),
    "trusted_proxies": ("10.0.0.0/8 ::1", ["10.0.0.0/8", "::1"]),
}
TEXTS = merged(_TEXTS, "SETTINGS")
"""For some settings, the text of the environment variable and the value.

All other settings are flags, numbers or names.
"""

EXCLUDED = {"aws", *chain.from_iterable(added("EXCLUDING_FLAGS"))}
"""Flags that cannot be combined with some other settings."""


def settings_of(arguments: Sequence[str] = (), **variables: str) -> Settings:
    app, found = typer.Typer(), []

    @app.command(cls=ListedCommand)
    @takes(*ORDER)
    def command(settings: Settings) -> None:
        found.append(settings)

    result = CliRunner().invoke(app, arguments, env=variables, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return found[0]


def other_than_default(name: str, default: Any) -> tuple[str, Any]:
    """Return a setting's text and value that differ from its default."""
    if name in TEXTS:
        return TEXTS[name]
    if isinstance(default, bool) or name in {"exit_when_blocked", "explain"}:
        return ("false", False) if default else ("true", True)
    if isinstance(default, int | float) or name in {"metrics_port", "max_connections"}:
        return "77", 77
    return f"my-{name}", f"my-{name}"


CHANGED = {
    setting: other_than_default(setting.name, setting.default)
    for setting in fields(Settings)
    if setting.name not in EXCLUDED
}


def test_without_options_every_setting_has_its_default() -> None:
    assert asdict(settings_of()) == asdict(
        Settings(trusted_proxies=["127.0.0.1", "::1"])  # Typer returns lists
    )


def test_an_empty_environment_variable_is_ignored() -> None:
    """A CloudFormation stack sets the variable of a missing parameter to ""."""
    variables = {
        f"MARGINALIA_{option_name(one)[2:].replace('-', '_').upper()}": "" for one in CHANGED
    }
    assert asdict(settings_of(**variables)) == asdict(settings_of())


def test_each_setting_is_read_from_its_environment_variable() -> None:
    variables = {
        "MARGINALIA_" + option_name(one).removeprefix("--").replace("-", "_").upper(): text
        for one, (text, _) in CHANGED.items()
    }
    found = asdict(settings_of(**variables))
    expected = {one.name: value for one, (_, value) in CHANGED.items()}
    assert {name: found[name] for name in expected} == expected


def test_each_setting_is_read_from_its_option() -> None:
    arguments = []
    for setting, (text, value) in CHANGED.items():
        option = setting.metadata["option"]
        name = option_name(setting)
        if isinstance(value, bool):
            off = option.off or name.replace("--", "no-")
            arguments.append(name if value else f"--{off}")
        else:
            given = value if isinstance(value, list) else [text]
            arguments += [word for one in given for word in (name, str(one))]
    found = asdict(settings_of(arguments))
    expected = {one.name: value for one, (_, value) in CHANGED.items()}
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("name", sorted(EXCLUDED))
def test_a_flag_is_set(name: str) -> None:
    assert getattr(settings_of([f"--{name}"]), name)


def test_a_second_name_switches_a_flag_off() -> None:
    given = {"MARGINALIA_KNOWN_PRODUCTS_ONLY": "true", "MARGINALIA_DEMO": "true"}
    assert settings_of(**given).demo
    off = settings_of(["--any-product", "--no-demo"], **given)
    assert not off.known_products_only
    assert not off.demo


def test_secrets_are_not_shown() -> None:
    secrets = {name: value for name, (text, value) in TEXTS.items() if "secret" in text}
    assert "secret" not in repr(Settings(**secrets, jwt_secret="secret"))


def test_a_command_receives_the_kinds_of_items_and_an_option_that_depends_on_them() -> None:
    def nouns(kinds: Sequence[ItemKind]) -> Any:
        shown = ", ".join(kind.noun for kind in kinds if kind.noun)
        return Annotated[str, typer.Option(help=f"One of {shown}.")]

    app, found = typer.Typer(), list[object]()

    @app.command()
    @takes("table")
    def command(
        noun: Annotated[str, nouns] = "", *, settings: Settings, kinds: Sequence[ItemKind]
    ) -> None:
        found[:] = [noun, settings.table, kinds]

    arguments = ["--noun", "comment", "--table", "shop"]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    assert found == ["comment", "shop", KINDS]
    assert "comment" in CliRunner().invoke(app, ["--help"]).output
