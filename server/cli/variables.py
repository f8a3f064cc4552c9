"""Finds environment variables whose names look like options, but that no program reads."""

from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from server.option import PREFIX, option_name, variable_name
from server.settings import Settings

OTHERS = frozenset(
    {"MARGINALIA_ENGINE", "MARGINALIA_FUNCTION_VARIABLES", "MARGINALIA_IMAGE"},
)
"""The variables that are not options: the path of the engine's program, further variables of the
Lambda function for GraphQL, and the mark of the builds of the image and of Lambda's package."""


def variables_of_commands() -> frozenset[str]:
    """Return the environment variables of the options of all commands.

    This imports the modules of all commands, which takes a second.
    """
    from typer.main import get_command  # noqa: PLC0415 - see above

    from server.cli.main import COMMANDS, build  # noqa: PLC0415 - see above

    def names(command: Any) -> Iterable[str]:
        for inner in getattr(command, "commands", {}).values():
            yield from names(inner)
        for one in command.params:
            if isinstance(one.envvar, str):
                yield one.envvar

    return frozenset(names(get_command(build(list(COMMANDS)))))


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return a sentence for each variable that begins with MARGINALIA_ but has no effect."""
    usual = OTHERS | {variable_name(option_name(one)) for one in fields(Settings)}
    named = sorted({one for one in environment if one.startswith(PREFIX)} - usual)
    if not named:
        return []
    known = usual | variables_of_commands()
    sentences = []
    for name in named:
        if name in known:
            continue
        ends = [one.removeprefix(PREFIX) for one in known]
        near = get_close_matches(name.removeprefix(PREFIX), ends, n=1)
        what = f"did you mean {PREFIX}{near[0]}?" if near else "remove it."
        sentences.append(f"No option has the environment variable {name}, so it is ignored: {what}")
    return sentences
