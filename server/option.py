"""Declares settings: the default, option name, help text and check of each.

This module does not import Typer, because workers import this module, and Typer's import takes
44 ms.
"""

from collections.abc import Callable
from dataclasses import Field, field
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

PREFIX = "MARGINALIA_"
"""The beginning of the name of each environment variable that the project reads."""

Check = tuple[Callable[[str], bool], str]
"""A function that returns whether a value is valid, and the end of the message for an invalid
value. The message begins with the option and the value. If the value is secret, the message begins
with only the option."""


class Option(NamedTuple):
    """Describes the command-line option of a setting."""

    help: str
    panel: str | None = None
    """The heading above the option in ``--help``. If it is None, the option is below the general
    heading Options."""
    name: str | None = None
    """The option's name without dashes, if it differs from the field's name."""
    off: str | None = None
    """The name of the option that switches a flag off. None means ``no-`` and the flag's name. If
    ``off`` is an empty text, no option switches the flag off."""
    bounds: tuple[float | None, float | None] = (None, None)
    """The minimum and the maximum of a number. None means no limit."""
    check: Check | None = None
    """The check of the value, or of each value of a repeatable option."""
    secret: bool = False
    """Whether the value must not appear in messages."""


def option_name(setting: Field[Any]) -> str:
    """Return the name of a setting's command-line option, with its dashes."""
    option: Option = setting.metadata["option"]
    return f"--{option.name or setting.name.replace('_', '-')}"


def variable_name(option: str) -> str:
    """Return the environment variable of an option, such as MARGINALIA_PORT of --port."""
    return PREFIX + option.strip("-").replace("-", "_").upper()


def setting(default: Any, help: str, **metadata: Any) -> Any:  # noqa: A002 - Typer's name
    """Return a dataclass field that declares a setting. ``metadata`` are fields of ``Option``."""
    option = Option(help, **metadata)
    return field(default=default, repr=not option.secret, metadata={"option": option})


def split(url: str) -> SplitResult:
    """Return the parts of a URL. All parts are empty if the text is not a URL or its port is 0."""
    try:
        parts = urlsplit(url)
        return urlsplit("") if parts.port == 0 else parts
    except ValueError:  # For example, the port is above 65535.
        return urlsplit("")


def is_url(text: str) -> bool:
    """Return whether a text is a URL of HTTP."""
    parts = split(text)
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
