"""A table with rows for every field of the schema, for comparisons of two executions."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from dal.dynamodb.table import Table
from dal.model import OrderStatus
from dal.stores import Stores
from tests import bulk, organizations
from tests.moderating import held_for
from tests.strategies import comment, order

COMMENTS = [comment(f"c{n}", rating=1 + n % 5, language="de" if n % 3 else "en") for n in range(9)]


async def fill(table: Table, stores: Stores) -> None:
    """Store comments, orders, organisations and tickets."""
    await bulk.fill(table, COMMENTS)
    await stores.comments.add(comment("held"), hold=held_for())
    await organizations.fill(stores)
    for number in range(3):
        await stores.orders.place(order(order_id=f"o{number}", status=OrderStatus.PLACED))
    await stores.users.update_profile("ann", {"full_name": "Ann", "email": "ann@example.org"})


@contextmanager
def counts_kept() -> Iterator[None]:
    """Let counts stay in their caches for an hour.

    Otherwise plans would change when the counts expire.
    """
    with (
        mock.patch("dal.counts.reader.KEPT_SECONDS", 3600.0),
        mock.patch("dal.counts.mode.KEPT_SECONDS", 3600.0),
    ):
        yield
