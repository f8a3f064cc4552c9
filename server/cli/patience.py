"""Commands that wait through outages of the store, with a line every ten seconds."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from dal.client.retries import Patience, patient
from dal.errors import DalError
from server.errors import INTERRUPTED


def maintenance(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command wait for the store once the store has answered; Ctrl-C ends the wait."""

    @wraps(command)
    def waiting(**given: Any) -> None:
        try:
            with patient(Patience(_tell)):
                command(**given)
        except KeyboardInterrupt:
            typer.echo("marginalia: stopped; run the same command again.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return waiting


def _tell(seconds: float, error: DalError) -> None:
    typer.echo(
        f"Waiting for the store for {seconds:.0f} s. {error} Ctrl-C ends the wait; run "
        "the same command again later.",
        err=True,
    )
