"""``marginalia bench scale``: which of DynamoDB's limits a large shop meets first, simulated."""

from typing import Annotated

import typer

from bench.scale.findings import QUESTIONS, Effort, sections
from server.cli.commands.bench.measuring import tell
from server.progress import ProgressBar


def scale(
    *,
    servers: Annotated[
        int,
        typer.Option(envvar="MARGINALIA_SERVERS", min=1, help="How many processes write."),
    ] = 8,
    seed: Annotated[
        int,
        typer.Option(envvar="MARGINALIA_SEED", help="Of chance: the same figures each time."),
    ] = 9,
    write: Annotated[
        bool,
        typer.Option(
            "--write", envvar="MARGINALIA_WRITE", help="Make the tables of docs/scaling.md anew."
        ),
    ] = False,
) -> None:
    """Simulate ten million products with a billion comments at Amazon's documented limits.

    It asks no engine and no AWS account, and takes about a minute.
    """
    with ProgressBar("Simulating", QUESTIONS) as progress:
        found = list(sections(Effort(servers, seed=seed), progress.advance))
    notes = [f"Seed {seed}; {servers} processes write where a line does not say one."]
    tell("scale", found, notes, write=write, page="scaling.md")
