"""``marginalia invite``: prints links for delivered orders, for the shop's own mailer."""

import csv
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, TextIO

import typer

from dal.errors import NotFoundError
from dal.model import own_ids, rules
from dal.query.pagination import all_rows
from dal.repositories.orders import OrderRepository
from dal.table.errors import InvalidArgumentError
from features.invitations.links import LinkSigner, SignedLink
from features.invitations.model import DEFAULT_DAYS, MOST_DAYS, Invitation
from features.invitations.order_file import orders_in
from features.invitations.repository import InvitationRepository
from server.auth.authenticator import sign
from server.auth.secret import secret_source
from server.cli.options import STORE, takes
from server.errors import CommandError
from server.local_engine.storage import open_table
from server.sentences import counted
from server.settings import Settings

COLUMNS = ("order", "username", "name", "url", "products", "expires")
"""The columns of the output."""

_ROWS_AT_ONCE = 100


@takes(*STORE, "jwt_secret", "public_url")
async def invite(
    *,
    wait: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="Skip orders delivered later than that.")
    ] = 0,
    order: Annotated[
        list[str] | None,
        typer.Option(
            help="Print links for this stored order, due or not. Repeatable.", show_default=False
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Print links for the orders of a CSV file with the columns order, username, "
            "products (with spaces between them) and name. It needs no table.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        int, typer.Option(min=1, max=MOST_DAYS, help="Days for which the links are valid.")
    ] = DEFAULT_DAYS,
    incentive: Annotated[
        str | None,
        typer.Option(
            help="What customers receive for a comment, such as '10 % off'. Comments show it.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="New file. Default: standard output.", show_default=False
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Print the same orders again the next time.")
    ] = False,
    revoke: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER", help="End the links of an order, and print none.", show_default=False
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            help="The customer of --revoke, if the order is not stored here.", show_default=False
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Print links with which customers comment on the products of an order, as CSV.

    The columns are order, username, name, url, products and expires. An order with many products
    has several rows. Without --order and --from, the command prints the orders that servers with
    --invitations have listed since they were delivered, and takes them from this list. If it is
    interrupted, it may print an order again the next time, but it loses none.
    """
    _check_options(
        {
            "revoke": revoke,
            "from": source,
            "order": order,
            "wait": wait,
            "keep": keep,
            "output": output,
            "user": user,
        }
    )
    if output is not None and output.exists():
        raise CommandError(f"{output} exists: name a new file.")
    if revoke is not None:
        await _revoke(settings, own_ids.own_id("--revoke", revoke), user)
        return
    if incentive is not None:
        incentive = rules.stated_title("--incentive", incentive)
    signer = _signer(settings)

    def make(one: Invitation) -> Sequence[SignedLink]:
        return signer.signed(one.link(incentive, days))

    if source is not None:
        listed = orders_in(source)
        with _written(output) as file:
            await _print(_each(listed), make, file)
        return
    async with open_table(settings, share=True) as table:
        store = InvitationRepository(table, OrderRepository(table))
        ids = dict.fromkeys(own_ids.own_id("--order", one) for one in order or ())
        chosen = [await _of_order(store, one) for one in ids]
        found = _each(chosen) if order else _due(store, wait)
        mark = partial(store.mark, due=not order)
        with _written(output) as file:
            # Links in a file count as made only when the whole file is written.
            now = None if keep or output is not None else mark
            done = await _print(found, make, file, now)
        for one in [] if keep or output is None else done:
            await mark(one)


async def _print(
    found: AsyncIterator[Invitation],
    make: Callable[[Invitation], Sequence[SignedLink]],
    file: TextIO,
    mark: Callable[[Invitation], Awaitable[None]] | None = None,
) -> list[Invitation]:
    """Write the links of each invitation as rows of a CSV file, and return the invitations.

    ``mark`` is called after the rows of an invitation. An order whose ids are too long for a link
    is skipped with a message, because one order must not stop all others.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    links, done = 0, list[Invitation]()
    async for one in found:
        try:
            signed = make(one)
        except InvalidArgumentError as error:
            typer.echo(f"Order {one.order_id[:40]} is skipped: {error}", err=True)
            continue
        names = one.order_id, one.username, one.name or ""
        for link in signed:
            expires = f"{link.expires_at:%Y-%m-%dT%H:%M:%SZ}"
            writer.writerow((*names, link.url, " ".join(link.products), expires))
        file.flush()
        links += len(signed)
        done.append(one)
        if mark is not None:
            await mark(one)
    typer.echo(f"{counted(len(done), 'order')}, {counted(links, 'link')}.", err=True)
    return done


async def _revoke(settings: Settings, order_id: str, user: str | None) -> None:
    username = None if user is None else own_ids.account("--user", user)
    async with open_table(settings, share=True) as table:
        try:
            await InvitationRepository(table, OrderRepository(table)).revoke(order_id, username)
        except NotFoundError as error:
            raise CommandError(
                f"Order {order_id} is not stored: name its customer with --user."
            ) from error
    typer.echo(f"The links of order {order_id} that were made until now are revoked.")


_EXCLUDED: Mapping[str, Sequence[str]] = {
    "revoke": ("from", "order", "wait", "keep", "output"),
    "from": ("order", "wait", "keep"),
    "order": ("wait",),
}
"""The options that cannot be used together with an option."""


def _check_options(given: Mapping[str, object]) -> None:
    """Raise CommandError for options that cannot be used together.

    ``given`` has the values of options by name.
    """
    if given["user"] is not None and given["revoke"] is None:
        raise CommandError("--user names the customer of --revoke: add --revoke, or remove --user.")
    for option, excluded in _EXCLUDED.items():
        for other in excluded:
            if given[option] and given[other]:
                raise CommandError(
                    f"--{option} and --{other} cannot be used together: remove one of them."
                )


def _signer(settings: Settings) -> LinkSigner:
    if settings.public_url is None:
        raise CommandError(
            "--public-url is missing: set it to the address of the pages, such as "
            "https://shop.example."
        )
    secret = secret_source(settings.jwt_secret, settings.data_dir)()
    if secret is None:
        raise CommandError(
            f"{settings.data_dir} has no secret of a server: change --data-dir to the server's "
            "directory, or set MARGINALIA_JWT_SECRET to the server's secret."
        )
    return LinkSigner(partial(sign, secret), settings.public_url)


async def _each(listed: Sequence[Invitation]) -> AsyncIterator[Invitation]:
    for one in listed:
        yield one


async def _due(store: InvitationRepository, wait: int) -> AsyncIterator[Invitation]:
    """Yield the due invitations of orders that were delivered at least ``wait`` days ago."""
    before = datetime.now(UTC) - timedelta(days=wait)
    async for one in all_rows(partial(store.due, delivered_before=before), _ROWS_AT_ONCE):
        # The list may lag behind, so read the invitation itself.
        now = await store.get(one.username, one.order_id)
        if now is not None and now.is_due:
            yield now


async def _of_order(store: InvitationRepository, order_id: str) -> Invitation:
    try:
        return await store.of_order(order_id)
    except NotFoundError as error:
        raise CommandError(f"Order {order_id} is not stored: correct --order.") from error
    except InvalidArgumentError as error:
        raise CommandError(f"Order {order_id} is cancelled: leave it out of --order.") from error


@contextmanager
def _written(output: Path | None) -> Iterator[TextIO]:
    """Yield the file to write. The file ``output`` appears when it is complete."""
    if output is None:
        yield sys.stdout
        return
    part = output.with_name(f"{output.name}.part")
    try:
        # Other users of the machine must not read the links.
        part.touch(mode=0o600, exist_ok=False)
        with part.open("w", encoding="utf-8", newline="") as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                part.rename(output)
            finally:
                part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise CommandError(f"{part} exists: delete it if no other command writes it.") from error
    except OSError as error:
        raise CommandError(f"{output} cannot be written: {error.strerror}.") from error
