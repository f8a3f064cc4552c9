"""``marginalia``: the command line with its commands, and the messages and exit codes of errors."""

import gc
import logging
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from dal.errors import DalError
from server.errors import INTERRUPTED, CommandError, exit_code

_NOWHERE = logging.NullHandler()

_HYPHEN = "\N{NON-BREAKING HYPHEN}"
"""Replaces hyphens while lines are broken, so that no line breaks within a name such as
--data-dir."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its purpose, an example, and the module with the function of the same name.

    With ``actions`` it is a group of commands, one for each of these functions. An underscore at
    the end of a function's name avoids a conflict with a name of Python.
    """

    module: str
    summary: str
    example: str
    actions: tuple[str, ...] = ()


COMMANDS = {
    "serve": Command(
        "serve",
        "Serve GraphQL, GraphiQL and pages, over an embedded engine or any DynamoDB API.",
        "marginalia serve --demo",
    ),
    "load": Command(
        "load",
        "Load comments, products, orders or another kind of rows from a file.",
        "marginalia load reviews.csv --map product_id=ProductId --set language=en",
    ),
    "export": Command(
        "export",
        "Export rows to JSONL, CSV or Parquet files, which load reads.",
        "marginalia export --output shop-monday",
    ),
    "explain": Command(
        "explain",
        "Read a page of comments and print its plan: index, key ranges, cost.",
        "marginalia explain B000G6RYNE --rating 4 --rating 5 --language en",
    ),
    "token": Command(
        "token",
        "Print a JWT, which writing needs.",
        "marginalia token --user ana --role moderator",
    ),
    "documents": Command(
        "documents",
        "Register documents that clients request by id, or list them.",
        "marginalia documents add persisted_queries.json",
        ("add", "list_"),
    ),
    "table": Command(
        "table",
        "Create, upgrade or describe the table, allow one comment per person, or print its data "
        "model.",
        "marginalia table workbench > marginalia.json",
        ("create", "upgrade", "describe", "one_per_person", "workbench"),
    ),
    "stats": Command(
        "stats",
        "Rebuild or verify the statistics, or update them from the table's stream.",
        "marginalia stats verify",
        ("rebuild", "verify", "follow"),
    ),
    "user": Command(
        "user",
        "Block or unblock users, list the blocked users, or export or erase the data of a user.",
        "marginalia user export bob --output bob.json",
        ("block", "unblock", "blocked", "export", "erase"),
    ),
    "analytics": Command(
        "analytics",
        "Fill the analytics store, or print trends and movers from it.",
        "marginalia analytics trend B000G6RYNE --interval month",
        ("refresh", "trend", "movers"),
    ),
    "backup": Command(
        "backup",
        "Write the embedded engine's data to one file; servers may run meanwhile.",
        "marginalia backup marginalia-monday.db",
    ),
    "restore": Command(
        "backup",
        "Replace the embedded engine's data by a backup.",
        "marginalia restore marginalia-monday.db",
    ),
    "schema": Command(
        "serve",
        "Print the GraphQL schema.",
        "marginalia schema > schema.graphql",
    ),
}


class ListedCommand(TyperCommand):
    """A command that also reads options from the environment. Its help lists options by panel.

    Typer's own panels cut off long options and variables at 80 columns. Its plain lists do not, but
    have no panels, and break lines within a name such as --data-dir.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.help = (self.help or "").replace("-", _HYPHEN)
        for one in self.params:
            if isinstance(one, TyperOption):
                one.envvar = "MARGINALIA_" + one.opts[0].strip("-").replace("-", "_").upper()

    def get_help(self, ctx: Any) -> str:
        """Return the help text, without line breaks within names."""
        return super().get_help(ctx).replace(_HYPHEN, "-")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each panel of arguments and options as a list below its heading."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for one in self.get_params(ctx):
            usual = "Options" if isinstance(one, TyperOption) else "Arguments"
            if record := one.get_help_record(ctx):
                name, text = record
                panel = getattr(one, "rich_help_panel", None) or usual
                panels.setdefault(panel, []).append((name, text.replace("-", _HYPHEN)))
        for heading, records in panels.items():
            if not records:
                continue
            with formatter.section(heading):
                formatter.write_dl(records)


def build(arguments: list[str]) -> typer.Typer:
    """Return the application. It imports only the modules of the commands in ``arguments``.

    The SDK and the GraphQL engine take most of a second to import, and ``--help`` needs neither.
    """
    app = typer.Typer(
        callback=_marginalia,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="'marginalia COMMAND --help' lists a command's options. Each option is also an "
        "environment variable, such as MARGINALIA_PORT. Exit codes: 0 done, 1 differences or rows "
        "not loaded, 2 wrong usage, 3 the store cannot be used, 130 Ctrl-C.",
    )
    for name, command in COMMANDS.items():
        _register(app, name, command, wanted=name in arguments)
    return app


def main() -> None:
    """Run the command line. An expected error prints one sentence and sets the exit code.

    All commands and their child processes write customers' data to files that only their owner may
    read.
    """
    os.umask(0o077)
    # Without a handler, Python would print warnings of ``dal`` between a command's output. The
    # server's log still receives them, because it has its own handler.
    logging.getLogger("dal").addHandler(_NOWHERE)
    try:
        # Imports create no garbage, and collections during them would take a sixth of the time.
        gc.disable()
        app = build(sys.argv[1:])
        gc.freeze()
        gc.enable()
        app()
    except (CommandError, DalError) as error:
        sentence = " ".join(str(error).split())
        print(f"marginalia: {sentence}", file=sys.stderr)  # noqa: T201 - a command's output
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _register(app: typer.Typer, name: str, command: Command, *, wanted: bool) -> None:
    example = f"Example: {command.example}"
    module = import_module(f"server.cli.commands.{command.module}") if wanted else None
    if module is not None and command.actions:
        group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
        for action in command.actions:
            act = getattr(module, action)
            # the whole line, because Typer would shorten it
            first_line = (act.__doc__ or "").partition("\n")[0]
            called = action.rstrip("_").replace("_", "-")
            group.command(called, short_help=first_line, cls=ListedCommand)(act)
        summary = command.summary
        app.add_typer(group, name=name, help=summary, short_help=summary, epilog=example)
    else:
        act = getattr(module, name, _not_wanted)
        app.command(name, short_help=command.summary, epilog=example, cls=ListedCommand)(act)


def _not_wanted() -> None:
    """Stand in for a command that ``--help`` only lists. This function is never called."""


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - Typer calls it with the flag alone
    if wanted:
        typer.echo(f"marginalia {version('marginalia')}")
        raise typer.Exit


def _marginalia(
    *,
    version_: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Product comments as a GraphQL API over one DynamoDB table.

    Start with 'marginalia serve --demo' and open http://127.0.0.1:8000/graphql.
    """
    del version_
