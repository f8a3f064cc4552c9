"""``marginalia backup`` and ``marginalia restore``: the embedded engine's data in one file."""

from pathlib import Path
from typing import Annotated

import typer

from server.cli.options import takes
from server.engine import backup as engine_backup
from server.engine.data_directory import DataDirectory
from server.errors import CommandError
from server.settings import Settings

_PLACE = ("data_dir", "endpoint_url", "aws")


@takes(*_PLACE)
def backup(
    file: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    settings: Settings,
) -> None:
    """Write the embedded engine's data to one file, as it is at this moment.

    Servers may run and write meanwhile. The file holds every write that was acknowledged before
    the command started. It appears when it is complete, checked and on the disk.

    Do not copy the data file by hand: the copy would lose or damage rows. The backup does not hold
    the secret that signs JWTs.
    """
    directory = _embedded(settings)
    items = engine_backup.back_up(directory, file, force=force)
    typer.echo(f"{file}: {items:,} items of {directory.database}.")


@takes(*_PLACE)
def restore(
    file: Annotated[
        Path, typer.Argument(help="File that 'marginalia backup' wrote.", show_default=False)
    ],
    *,
    settings: Settings,
) -> None:
    """Replace the embedded engine's data by a backup.

    Stop the server of the data directory first. The command checks the backup before it changes
    anything, and keeps the previous data next to the new, from where you can restore it. If the
    command is interrupted, run it again.
    """
    directory = _embedded(settings)
    items, kept = engine_backup.restore(directory, file)
    typer.echo(f"{directory.database}: {items:,} items of {file}.")
    if kept is not None:
        typer.echo(f"The previous data is in {kept}.")


def _embedded(settings: Settings) -> DataDirectory:
    """Return the embedded engine's directory. Raise CommandError if the store is DynamoDB."""
    if not settings.embedded:
        raise CommandError(
            "Only the embedded engine's data is backed up and restored here: use DynamoDB's own "
            "backups, on demand or to a point in time."
        )
    return DataDirectory(settings.data_dir)
