"""``marginalia``: the command line, and how its faults are told."""

import gc
import logging
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from dal.errors import DalError
from server.errors import INTERRUPTED, CommandError, exit_code

_NOWHERE = logging.NullHandler()


@dataclass(frozen=True, slots=True)
class Command:
    """One command: what it does, an example of it, and the module of the same name.

    With ``actions`` it is a group, and each of these functions one of its commands; an underscore
    at the end of a name keeps it apart from Python's own.
    """

    summary: str
    example: str
    actions: tuple[str, ...] = ()


COMMANDS = {
    "serve": Command(
        "Serve GraphQL and GraphiQL, with storage of its own or over any DynamoDB API.",
        "marginalia serve --demo --explain",
    ),
    "load": Command(
        "Load comments, products, orders, organisations, tickets or profiles from a file.",
        "marginalia load reviews.csv --map product_id=ProductId --set language=en",
    ),
    "export": Command(
        "Export what is stored to JSONL, CSV or Parquet, which load takes as they are.",
        "marginalia export --output shop-monday",
    ),
    "explain": Command(
        "Show how a page would be read: index, key ranges, cost.",
        "marginalia explain B000G6RYNE --rating 4 --rating 5 --language en",
    ),
    "token": Command(
        "Print a JWT to write with.",
        "marginalia token --user ana --role moderator",
    ),
    "documents": Command(
        "Register documents that clients ask for by id, or list them.",
        "marginalia documents add persisted_queries.json",
        ("add", "list_"),
    ),
    "table": Command(
        "Create, upgrade or describe the table, or print its data model.",
        "marginalia table workbench > marginalia.json",
        ("create", "upgrade", "describe", "workbench"),
    ),
    "stats": Command(
        "Rebuild, verify or follow the counts by rating and language.",
        "marginalia stats verify",
        ("rebuild", "verify", "follow"),
    ),
    "analytics": Command(
        "Fill the store of trends and movers, or print what it answers.",
        "marginalia analytics trend B000G6RYNE --interval month",
        ("refresh", "trend", "movers"),
    ),
    "backup": Command(
        "Write the embedded engine's data to one file, also while a server runs.",
        "marginalia backup marginalia-monday.db",
    ),
    "restore": Command(
        "Put a backup in the place of the embedded engine's data.",
        "marginalia restore marginalia-monday.db",
    ),
    "schema": Command(
        "Print the GraphQL schema.",
        "marginalia schema > schema.graphql",
    ),
}


def build(arguments: list[str]) -> typer.Typer:
    """Return the application; only the modules of commands among ``arguments`` are imported.

    The SDK and the GraphQL engine take most of a second to import, and ``--help`` needs neither.
    """
    app = typer.Typer(
        callback=_marginalia,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        epilog="'marginalia COMMAND --help' shows more; each option is also a variable, "
        "such as MARGINALIA_PORT. Exit codes: 0 done, 1 something differs or was not loaded, "
        "2 usage, 3 the store cannot be used, 130 Ctrl-C.",
    )
    for name, command in COMMANDS.items():
        _register(app, name, command, wanted=name in arguments)
    return app


def main() -> None:
    """Run the command line; expected faults end it with one sentence and an exit code.

    The files of all commands and of the processes that they start hold customers' data: their owner
    alone may read them.
    """
    os.umask(0o077)
    # What failed on the way is for a server's log, which takes it from here all the same.
    logging.getLogger("dal").addHandler(_NOWHERE)
    try:
        _built(sys.argv[1:])()
    except (CommandError, DalError) as error:
        sentence = " ".join(str(error).split())
        print(f"marginalia: {sentence}", file=sys.stderr)  # noqa: T201 - a command's output
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _built(arguments: list[str]) -> typer.Typer:
    """Build without collecting garbage, and never look through what was imported for any again.

    There is none, and to look takes a sixth of the time.
    """
    gc.disable()
    app = build(arguments)
    gc.freeze()
    gc.enable()
    return app


def _register(app: typer.Typer, name: str, command: Command, *, wanted: bool) -> None:
    example = f"Example: {command.example}"
    module = import_module(f"server.cli.commands.{name}") if wanted else None
    if module is not None and command.actions:
        group = typer.Typer(no_args_is_help=True)
        for action in command.actions:
            group.command(action.rstrip("_"))(getattr(module, action))
        app.add_typer(group, name=name, help=command.summary, epilog=example)
    else:
        act = getattr(module, name, _not_wanted)
        app.command(name, short_help=command.summary, epilog=example)(act)


def _not_wanted() -> None:
    """Stand in a list of commands for one that is not run."""


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
