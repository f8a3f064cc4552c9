"""``marginalia backup`` and ``marginalia restore``: back up the embedded engine's data."""

from pathlib import Path
from typing import Annotated

import typer

from server.cli.options import takes
from server.errors import CommandError
from server.local_engine import backup as engine_backup
from server.local_engine.data_directory import DataDirectory
from server.settings import Settings

_PLACE = ("data_dir", "endpoint_url", "aws")


@takes(*_PLACE)
def backup(
    file: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    settings: Settings,
) -> None:
    """Write the embedded engine's data to one file.

    Servers may run and write meanwhile. The file contains every write that was acknowledged before
    the command started. The file appears only after it is complete and checked.

    Do not copy the data file yourself: rows could be missing or damaged in the copy. The backup
    does not contain the secret that signs JWTs.
    """
    directory = _embedded(settings)
    items = engine_backup.back_up(directory, file, force=force)
    typer.echo(f"{file}: {items:,} items of {directory.database}.")


@takes(*_PLACE)
def restore(
    file: Annotated[
        Path, typer.Argument(help="Backup file from 'marginalia backup'.", show_default=False)
    ],
    *,
    settings: Settings,
) -> None:
    """Replace the embedded engine's data with a backup.

    Stop the server of the data directory first. The command checks the backup before it changes
    anything. It keeps the previous data in another file, which you can also restore. If the command
    is interrupted, run it again.
    """
    directory = _embedded(settings)
    items, kept = engine_backup.restore(directory, file)
    typer.echo(f"{directory.database}: {items:,} items of {file}.")
    if kept is not None:
        typer.echo(f"The previous data is in {kept}.")


def _embedded(settings: Settings) -> DataDirectory:
    """Return the embedded engine's data directory. Raise CommandError if the store is DynamoDB."""
    if not settings.embedded:
        raise CommandError(
            "This command is only for the embedded engine: use DynamoDB's on-demand backups or its "
            "point-in-time recovery."
        )
    return DataDirectory(settings.data_dir)
