"""``marginalia table one-per-person``: limits each person to one comment on a product, or not."""

from typing import Annotated, Literal

import typer

from dal.dynamodb.concurrency import Pace
from features.one_per_person.marking import switch_off, switch_on
from server.cli.long_running import ReadUnits, WriteUnits, long_running, scanning, writers_settled
from server.cli.options import STORE, takes
from server.local_engine.storage import open_store
from server.settings import Settings


@long_running
@takes(*STORE)
async def one_per_person(
    switch: Annotated[
        Literal["on", "off"],
        typer.Argument(
            metavar="on|off",
            help="on: one comment per person and product. off: any number of comments.",
        ),
    ],
    *,
    list_: Annotated[
        bool,
        typer.Option(
            "--list",
            help="Print all but the newest comment of each person on each product. Each line has "
            "the product, user name and comment id, separated by tabs.",
        ),
    ] = False,
    write_units: WriteUnits = None,
    read_units: ReadUnits = None,
    settings: Settings,
) -> None:
    """Allow each person only one comment on a product, or any number. Servers may run meanwhile.

    With 'on', the command scans the table and records who has commented on which product. From the
    beginning of the scan, servers refuse a second comment. If the command is interrupted, run it
    again. If a person already has several comments on a product, all of them stay. The command
    prints the number of comments whose author has a newer comment on the same product.
    """
    async with open_store(settings, share=True) as store:
        store.table.pace = Pace(write_units)
        store.table.read_pace = Pace(read_units, reads=True)
        if switch == "off":
            await switch_off(store.table)
            typer.echo(f"Table {settings.table}: a person may have any number of comments.")
            return
        async with scanning(store) as (progress, seen):
            further = await switch_on(store.table, writers_settled(store, progress), seen)
    if list_:
        for one in further:
            typer.echo(f"{one.product_id}\t{one.username}\t{one.comment_id}")
        return
    typer.echo(f"Table {settings.table}: a person may have one comment on each product.")
    if further:
        typer.echo(
            "Comments whose author has a newer comment on the same product: "
            f"{len(further):,}. "
            "They stay. To list them, run `marginalia table one-per-person on --list`."
        )
