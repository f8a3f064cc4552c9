"""``marginalia backup``: the embedded engine's data in one file, while servers go on."""

from pathlib import Path
from typing import Annotated

import typer

from server.cli import options
from server.engine.backup import back_up
from server.engine.data_directory import DataDirectory
from server.errors import CommandError
from server.settings import Settings


def backup(
    file: Annotated[Path, typer.Argument(help="Where the backup goes.", show_default=False)],
    *,
    force: Annotated[
        bool,
        typer.Option(
            "--force", envvar="MARGINALIA_FORCE", help="Replace a file that is there already."
        ),
    ] = False,
    data_dir: options.DataDir = options.DEFAULTS.data_dir,
    endpoint_url: options.EndpointUrl = None,
    aws: options.Aws = False,
) -> None:
    """Write the embedded engine's data to one file, as it is at this moment.

    Servers may run and write meanwhile. The file holds every write that was acknowledged before
    the command began. It appears once it is whole, checked and on the disk.

    Copying the data file by hand loses or damages rows. The secret that signs JWTs is not in the
    backup.
    """
    check_embedded(Settings(data_dir=data_dir, endpoint_url=endpoint_url, aws=aws))
    directory = DataDirectory(data_dir)
    items = back_up(directory, file, force=force)
    typer.echo(f"{file}: {items:,} items of {directory.database}.")


def check_embedded(settings: Settings) -> None:
    """Raise CommandError unless the store is the embedded engine's file."""
    if not settings.embedded:
        raise CommandError(
            "Only the embedded engine's data is backed up and restored here: DynamoDB has backups "
            "of its own, on demand and to any point in time."
        )
