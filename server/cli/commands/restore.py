"""``marginalia restore``: a backup in the place of the embedded engine's data."""

from pathlib import Path
from typing import Annotated

import typer

from server.cli import options
from server.cli.commands.backup import check_embedded
from server.engine.backup import restore as restore_backup
from server.engine.data_directory import DataDirectory
from server.settings import Settings


def restore(
    file: Annotated[
        Path, typer.Argument(help="What 'marginalia backup' has written.", show_default=False)
    ],
    *,
    data_dir: options.DataDir = options.DEFAULTS.data_dir,
    endpoint_url: options.EndpointUrl = None,
    aws: options.Aws = False,
) -> None:
    """Put a backup in the place of the embedded engine's data.

    No server may run on the data directory. The backup is checked first. The data from before is
    kept beside the new, and can be restored in turn. An interrupted restore is run again.
    """
    check_embedded(Settings(data_dir=data_dir, endpoint_url=endpoint_url, aws=aws))
    directory = DataDirectory(data_dir)
    items, kept = restore_backup(directory, file)
    typer.echo(f"{directory.database}: {items:,} items of {file}.")
    if kept is not None:
        typer.echo(f"What was there before is kept in {kept}.")
