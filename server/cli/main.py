"""``marginalia``: the list of commands, and the message and the exit code of a failed command."""

import gc
import logging
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from dal.table.errors import DalError
from server.errors import INTERRUPTED, CommandError, exit_code
from server.option import variable_name

_NOWHERE = logging.NullHandler()

_HYPHEN = "\N{NON-BREAKING HYPHEN}"
"""Replaces each hyphen while a help text is broken into lines. With ordinary hyphens, a line could
end inside a name such as --data-dir."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: a summary, an example, and the module with the command's function.

    The function has the name of the command. A command with ``actions`` is a group: for each
    action, the module has a function, and the group has a command. For example, the action
    ``list_`` of ``documents`` is the function ``list_`` and the command ``documents list``. An
    action whose function is in another module has the name of this module before its own. If this
    holds for all actions, ``module`` is empty.
    """

    module: str
    summary: str
    example: str
    actions: tuple[str, ...] = ()


COMMANDS = {
    "serve": Command(
        "server.cli.commands.serve",
        "Run the server: GraphQL, GraphiQL and HTML pages.",
        "marginalia serve --demo",
    ),
    "load": Command(
        "features.loading.load_command",
        "Load comments, products, orders or other rows from a file.",
        "marginalia load reviews.csv --map product_id=ProductId --set language=en",
    ),
    "export": Command(
        "features.loading.export_command",
        "Export rows to JSONL, CSV or Parquet files. 'load' can read the files.",
        "marginalia export --output shop-monday",
    ),
    "explain": Command(
        "features.plans.commands",
        "Read a page of comments, and print the index, key ranges and cost of the read.",
        "marginalia explain B000G6RYNE --rating 4 --rating 5 --language en",
    ),
    "invite": Command(
        "features.invitations.commands",
        "Print links with which customers comment on their orders without an account.",
        "marginalia invite --wait 7 --output links.csv",
    ),
    "token": Command(
        "server.cli.commands.token",
        "Print a JWT. Clients need a JWT to write.",
        "marginalia token --user ana --role moderator",
    ),
    "documents": Command(
        "features.trusted_documents.commands",
        "Register, list or price GraphQL documents, which clients then request by id.",
        "marginalia documents add persisted_queries.json",
        ("add", "list_", "features.trusted_documents.price_command.price"),
    ),
    "table": Command(
        "server.cli.commands.table",
        "Create, upgrade or describe the table, print its data model, or allow only one comment "
        "per person and product.",
        "marginalia table workbench > marginalia.json",
        (
            "create",
            "upgrade",
            "describe",
            "features.one_per_person.commands.one_per_person",
            "features.demo.commands.workbench",
        ),
    ),
    "stats": Command(
        "server.cli.commands.stats",
        "Rebuild or verify the statistics, or update them from the table's stream.",
        "marginalia stats verify",
        ("rebuild", "verify", "features.stream_counting.commands.follow"),
    ),
    "user": Command(
        "",
        "Block or unblock a user, list blocked users, or export or erase a user's data.",
        "marginalia user export bob --output bob.json",
        (
            "features.moderation.commands.block",
            "features.moderation.commands.unblock",
            "features.moderation.commands.blocked",
            "features.privacy.commands.export",
            "features.privacy.commands.erase",
        ),
    ),
    "analytics": Command(
        "features.analytics.commands",
        "Fill the analytics store, or print trends and the products that changed most.",
        "marginalia analytics trend B000G6RYNE --interval month",
        ("refresh", "trend", "movers"),
    ),
    "backup": Command(
        "server.cli.commands.backup",
        "Write the embedded engine's data to one file. Servers may run meanwhile.",
        "marginalia backup marginalia-monday.db",
    ),
    "restore": Command(
        "server.cli.commands.backup",
        "Replace the embedded engine's data with a backup.",
        "marginalia restore marginalia-monday.db",
    ),
    "schema": Command(
        "server.cli.commands.serve",
        "Print the GraphQL schema.",
        "marginalia schema > schema.graphql",
    ),
}


class ListedCommand(TyperCommand):
    """A command that also reads options from environment variables. Its help has groups of options.

    Typer's own help has one of two forms, and both have faults. Panels cut off long options at 80
    columns. Plain lists have no groups, and break lines within a name such as --data-dir. So this
    class groups the plain lists and prevents such line breaks.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.help = (self.help or "").replace("-", _HYPHEN)
        for one in self.params:
            if isinstance(one, TyperOption):
                one.envvar = variable_name(one.opts[0])

    def get_help(self, ctx: Any) -> str:
        """Return the help text, without line breaks inside names such as --data-dir."""
        return super().get_help(ctx).replace(_HYPHEN, "-")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each group of arguments and options as a list with a heading."""
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

    The import of the AWS SDK and of the GraphQL engine takes most of a second, and ``--help`` needs
    neither.
    """
    app = typer.Typer(
        callback=_marginalia,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="'marginalia COMMAND --help' lists a command's options. Each option is also an "
        "environment variable, such as MARGINALIA_PORT. Exit codes: 0 success; 1 wrong statistics, "
        "a dangerous setting, rows not loaded or exported, or an operation over its budget; 2 "
        "wrong usage; 3 the store or the port cannot be used now; 4 the table lacks an index, or a "
        "backup is damaged; 130 Ctrl-C.",
    )
    for name, command in COMMANDS.items():
        _register(app, name, command, wanted=name in arguments)
    return app


def main() -> None:
    """Run the command line. If a command fails, print one sentence and set the exit code.

    The function sets the umask so that only the owner may read the files that commands and their
    child processes write, because the files contain customers' data.
    """
    if sys.platform == "win32":
        sys.exit("marginalia: Windows itself is not supported: use WSL2.")
    os.umask(0o077)
    # This handler ignores the warnings of ``dal``. Without it, Python would print them between the
    # lines of a command's output. The server's log has its own handler and still receives them.
    logging.getLogger("dal").addHandler(_NOWHERE)
    try:
        # Switch garbage collection off during the imports. The collector would find no garbage, but
        # would take a sixth of the imports' time.
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
    if wanted and command.actions:
        group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
        for path in command.actions:
            module, _, action = path.rpartition(".")
            act = getattr(import_module(module or command.module), action)
            # The group's help lists each action with the first line of its docstring. Without
            # short_help, Typer would shorten this line.
            first_line = (act.__doc__ or "").partition("\n")[0]
            called = action.rstrip("_").replace("_", "-")
            group.command(called, short_help=first_line, cls=ListedCommand)(act)
        summary = command.summary
        app.add_typer(group, name=name, help=summary, short_help=summary, epilog=example)
    else:
        act = getattr(import_module(command.module), name) if wanted else _not_wanted
        app.command(name, short_help=command.summary, epilog=example, cls=ListedCommand)(act)


def _not_wanted() -> None:
    """Replace the function of a command whose module is not imported. Never called.

    Typer lists a command in ``--help`` only if the command has a function.
    """


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - Typer passes a positional argument
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - imports the package email

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
