"""Every command with its options, as ``--help`` has them: both come from one declaration."""

import re
from collections.abc import Iterator

from typer import Context, main
from typer.core import TyperCommand, TyperOption

from docs_site.markdown import table
from server.cli.main import COMMANDS, build

_HEADING = ("option", "variable", "default", "what it does")

OPENING = """\
# Commands

What `marginalia COMMAND --help` shows. An option can also be set by its variable; where both are
given, the option counts. A command that fails says one sentence and ends with exit code 1, wrong
usage with 2.
"""


def commands_page() -> str:
    """Return the page of all commands."""
    return "\n".join([OPENING, *_commands()])


def _commands() -> Iterator[str]:
    for name, declared in COMMANDS.items():
        yield from (f"## `marginalia {name}`", "", declared.summary, "")
        yield from ("```", declared.example, "```", "")
        command = commands()[name]
        for inner, action in getattr(command, "commands", {}).items():
            yield from (f"### `marginalia {name} {inner}`", "")
            yield from _told(action, f"marginalia {name} {inner}")
        if not hasattr(command, "commands"):
            yield from _told(command, f"marginalia {name}")


def commands() -> dict[str, TyperCommand]:
    """Return every command of the command line by its name, groups among them."""
    group = main.get_command(build(list(COMMANDS)))
    return group.commands  # type: ignore[attr-defined, no-any-return]


def _told(command: TyperCommand, path: str) -> Iterator[str]:
    arguments = [one for one in command.params if not isinstance(one, TyperOption)]
    usage = " ".join(
        [path, "[OPTIONS]", *(one.make_metavar(Context(command)) for one in arguments)]
    )
    yield from ("```", usage, "```", "")
    yield from ((command.help or "").strip(), "")
    options = [one for one in command.params if isinstance(one, TyperOption)]
    if options:
        yield from (*table(_HEADING, map(row_of, options)), "")


def row_of(option: TyperOption) -> tuple[str, str, str, str]:
    """Return an option's names, variable, default and meaning, as cells."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    variable = option.envvar
    return (
        names,
        f"`{variable}`" if isinstance(variable, str) else "",
        _default(option),
        re.sub(r"'([A-Za-z./|$][^']*)'", r"`\1`", option.help or ""),
    )


def _default(option: TyperOption) -> str:
    if option.is_flag:
        return "on" if option.default is True else "off"
    if option.default is None or option.default in ((), []) or option.show_default is False:
        return ""
    return f"`{getattr(option.default, 'value', option.default)}`"
