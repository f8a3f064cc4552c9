"""The bill: the capacity that each operation consumes, and the price of a million operations.

The repositories do each operation once on a temporary engine. Its capacity is computed from the
declared table (``tools.bench.capacity``), and compared with the engine's own figure.
"""

import asyncio
import tempfile
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dal.client.table import Table
from dal.client.transport import Service
from dal.entities import idempotency
from dal.entities.comment import ALL, COMMENT, comment_position
from dal.model import (
    RATINGS,
    Comment,
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Organization,
    OrganizationUser,
    Roster,
    Ticket,
)
from dal.query.pagination import Slice
from dal.repositories.comments import AuthorSelection, Selection
from dal.repositories.orders import OrderSelection
from dal.statistics.mode import MaintenanceMode
from dal.stores import Stores
from server.engine.storage import open_table
from server.errors import CommandError
from server.settings import Settings
from tools.bench.capacity import Consumed, Meter, size_of
from tools.bench.report import Section, tell

PRICES = Path(__file__).with_name("prices.toml")

PRODUCT = "B000G6RYNE"
LOADED = 90
"""Comments of one load: one transaction holds them and their counters."""

_START = datetime(2024, 5, 1, tzinfo=UTC)
_SENTENCE = "The kettle boils fast and pours well, but its lid is loose and the cord is short. "
_TEXT_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million units, where and when."""

    place: str
    date: date
    currency: str
    write_units: float
    read_units: float

    def of(self, consumed: Consumed) -> float:
        """Return what a million of what consumed that cost."""
        return self.write_units * consumed.wcu + self.read_units * consumed.rcu


def read_prices(path: Path) -> Prices:
    """Return the prices of a TOML file; OSError, TypeError or ValueError where it has none."""
    return Prices(**tomllib.loads(path.read_text("utf-8")))


@dataclass(frozen=True, slots=True)
class Line:
    """One operation, its computed capacity, and the capacity that the engine reported."""

    section: str
    operation: str
    consumed: Consumed
    reported: Consumed


Act: TypeAlias = Callable[[Stores], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that an application does; ``before`` is done first and not counted.

    ``times`` is how many are done at once: the bill shows one.
    """

    name: str
    act: Act
    before: Act | None = None
    times: int = 1


def comment(name: str, rating: int, language: str = "en", number: int = 0) -> Comment:
    """Return a comment of about the size that comments have."""
    text = (_SENTENCE * (_TEXT_LENGTH // len(_SENTENCE) + 1))[:_TEXT_LENGTH]
    return Comment(
        comment_id=f"{name}-{number:04}".rjust(32, "0"),
        product_id=PRODUCT,
        username=f"user{number:04}",
        rating=rating,
        language=language,
        title="Good for the price",
        text=text,
        created_at=_START + timedelta(minutes=number),
    )


def item_bytes() -> tuple[int, int]:
    """Return the size of the comments that the bill is of: the item's, and an index row's."""
    item = COMMENT.encode(comment("size", 3))
    return size_of(item), size_of({name: item[name] for name in ALL.attributes})


_LINES = tuple(OrderLine(f"B000G6RY{n:02}", 1, Money(Decimal("19.90"), "EUR")) for n in range(3))
_ORDER = Order(
    order_id="0" * 32, username="ann", status=OrderStatus.PLACED, created_at=_START, lines=_LINES
)
_TICKET = Ticket(
    ticket_id="0" * 32,
    organization="acme",
    username="ann",
    subject="The lid is loose",
    text=_SENTENCE,
    created_at=_START,
)
_A, _B, _C, _D = comment("a", 3), comment("b", 5), comment("c", 3), comment("d", 5)
_E, _F = comment("e", 3), comment("f", 5)
_KEYED = _C._replace(comment_id=idempotency.comment_id(_C.username, "c"))
_ANY, _ONE, _TWO = (
    Selection(PRODUCT),
    Selection(PRODUCT, frozenset({5}), frozenset({"en"})),
    Selection(PRODUCT, frozenset({1, 2})),
)
_FROM_THE_MIDDLE = Slice(20, after=comment_position(comment("stored", 1, number=400)))


def _anybody(_: Comment) -> None:
    """Allow every change."""


def _edit(of: Comment, **changes: object) -> Act:
    return lambda one: one.comments.update(of.comment_id, changes, _anybody)


def _delete(of: Comment) -> Act:
    return lambda one: one.comments.delete(of.comment_id, _anybody)


def _read(selection: Selection) -> Act:
    return lambda one: one.comments.page(selection, _FROM_THE_MIDDLE)


def _first(selection: Selection) -> Act:
    """Read another page first, so that the product's statistics are cached."""
    return lambda one: one.comments.page(selection, Slice(2))


async def _move_and_add_a_five(stores: Stores) -> None:
    await stores.boards.correct([PRODUCT])
    await stores.comments.add(comment("moved", 5))


async def _leave_counters_to_the_stream(stores: Stores) -> None:
    maintenance = stores.maintenance
    await maintenance.announce(await maintenance.read(), mode=MaintenanceMode.STREAM)
    await maintenance.current()


OPERATIONS: Mapping[str, Sequence[Operation]] = {
    "Comments are written": (
        Operation("add one rated 1 to 4", lambda one: one.comments.add(_A)),
        Operation("add one rated 5", lambda one: one.comments.add(_B)),
        Operation("add one rated 1 to 4 under a key", lambda one: one.comments.add(_C, "c")),
        Operation("add one rated 5 under a key", lambda one: one.comments.add(_D, "d")),
        Operation("edit a text", _edit(_A, text="The lid is loose.")),
        Operation("edit a rating, 3 to 4", _edit(_A, rating=4)),
        Operation("edit a rating, 4 to 5", _edit(_A, rating=5)),
        Operation("edit the language of one rated 5", _edit(_A, language="de")),
        Operation("delete one rated 1 to 4 of a key", _delete(_KEYED)),
        Operation("delete one rated 5", _delete(_B)),
        Operation(
            "move a product on two leaderboards",
            lambda one: one.boards.correct([PRODUCT]),
            _move_and_add_a_five,
        ),
        Operation(
            f"load a row, {LOADED} of a product at once",
            lambda one: one.comments.put_many(stored("loaded", LOADED)),
            times=LOADED,
        ),
    ),
    "Comments are read": (
        Operation("a page of 20", _read(_ANY), _first(_ANY)),
        Operation("a page of 20 of one language and rating", _read(_ONE), _first(_ONE)),
        Operation("a page of 20 of two ratings", _read(_TWO), _first(_TWO)),
        Operation("how many there are", lambda one: one.comments.total(_ANY)),
        Operation(
            "a page of 20 of an author",
            lambda one: one.comments.page_of_author(AuthorSelection("ann"), Slice(20)),
            lambda one: one.comments.put_many(
                [each._replace(username="ann") for each in stored("ann", 40)]
            ),
        ),
        Operation("a comment by its id", lambda one: one.comments.get(_A.comment_id)),
        Operation(
            "the statistics of a product",
            lambda one: one.statistics.read(PRODUCT, consistent=True),
        ),
        Operation(
            "10 products of the leaderboard",
            lambda one: one.leaderboard.page(None, Slice(10), ranked=True),
        ),
    ),
    "Orders and tickets": (
        Operation("place an order of three lines", lambda one: one.orders.place(_ORDER)),
        Operation(
            "ship an order",
            lambda one: one.orders.set_status(_ORDER.order_id, OrderStatus.SHIPPED, owner="ann"),
        ),
        Operation(
            "deliver an order",
            lambda one: one.orders.set_status(_ORDER.order_id, OrderStatus.DELIVERED, owner="ann"),
        ),
        Operation(
            "a page of a user's orders",
            lambda one: one.orders.page(OrderSelection("ann"), Slice(20)),
        ),
        Operation("an order by its id", lambda one: one.orders.get(_ORDER.order_id)),
        Operation("a page of open orders", lambda one: one.orders.open_page(Slice(20))),
        Operation("open a ticket", lambda one: one.tickets.create(_TICKET)),
        Operation("close a ticket", lambda one: one.tickets.close(_TICKET)),
        Operation(
            "a user with a page of tickets",
            lambda one: one.tickets.with_user("acme", "ann", Slice(20)),
        ),
        Operation("a ticket by its id", lambda one: one.tickets.get(_TICKET.ticket_id)),
        Operation(
            "edit a profile", lambda one: one.users.update_profile("ann", {"full_name": "A"})
        ),
        Operation("a profile", lambda one: one.users.profile("ann")),
        Operation(
            "edit a product's details", lambda one: one.products.update(PRODUCT, {"title": "A"})
        ),
        Operation("a product's details", lambda one: one.products.details([PRODUCT])),
    ),
    "Comments are written, counters kept from the stream": (
        Operation(
            "add one rated 1 to 4", lambda one: one.comments.add(_E), _leave_counters_to_the_stream
        ),
        Operation("add one rated 5", lambda one: one.comments.add(_F)),
        Operation("add one under a key", lambda one: one.comments.add(comment("g", 3), "g")),
        Operation("edit a rating, 3 to 4", _edit(_E, rating=4)),
        Operation("delete one", _delete(_E)),
    ),
}


def stored(name: str, count: int) -> list[Comment]:
    """Return comments of all ratings in two languages."""
    languages = ("en", "de")
    return [comment(name, RATINGS[n % 5], languages[n // 5 % 2], n) for n in range(count)]


async def measure(table: Table) -> AsyncIterator[Line]:
    """Do every operation on an empty table, and yield what each has consumed."""
    await _fill(Stores(table))
    meter: list[Meter] = []

    def put_before(service: Service) -> Meter:
        meter.append(Meter(service))
        return meter[0]

    metered = table.through(put_before)
    stores = Stores(metered)
    for section, operations in OPERATIONS.items():
        for one in operations:
            if one.before is not None:
                await one.before(stores)
            await stores.maintenance.current()
            meter[0].reset()
            await one.act(stores)
            yield Line(section, one.name, *meter[0].counted(one.times))


async def _fill(stores: Stores) -> None:
    await stores.comments.put_many(stored("stored", 500))
    user = OrganizationUser("acme", "ann")
    await stores.organizations.create(Roster(Organization("acme", "PRO"), [user]))
    await stores.users.update_profile("ann", {"full_name": "Ann"})
    await stores.products.update(PRODUCT, {"title": "Kettle"})


def sections(lines: Iterable[Line], prices: Prices) -> list[Section]:
    """Return a table for each kind of operations."""
    columns = ("operation", "requests", "WCU", "RCU", f"{prices.currency} a million")
    return [
        Section(name, columns, [_cells(line, prices) for line in of_one])
        for name, of_one in groupby(lines, key=lambda line: line.section)
    ]


def _cells(line: Line, prices: Prices) -> Sequence[str]:
    consumed = line.consumed
    units = (consumed.requests, consumed.wcu, consumed.rcu)
    shown = [f"{number:.2f}".rstrip("0").rstrip(".") for number in units]
    return [line.operation, *shown, f"{prices.of(consumed):.2f}"]


def notes(prices: Prices) -> list[str]:
    """Return notes on the items' sizes and the prices."""
    item, row = item_bytes()
    return [
        f"Comments of {item} bytes, {row} of them in each index.",
        f"Prices of {prices.place}, of {prices.date:%Y-%m-%d}.",
        f"A million write units are {prices.write_units:g}, read units {prices.read_units:g}.",
    ]


def bill(
    *,
    prices: Annotated[
        Path,
        typer.Option(
            help="A TOML file of prices: see tools/bench/prices.toml.",
            show_default="on demand in us-east-1",
        ),
    ] = PRICES,
    write: Annotated[
        bool,
        typer.Option("--write", help="Write the tables into docs/costs.md."),
    ] = False,
) -> None:
    """Show the capacity that each operation consumes on DynamoDB, on a temporary engine.

    WCU and RCU are computed from the declared table, and compared with the engine's figures.

    Exit code 1 if they differ.
    """
    try:
        asked = read_prices(prices)
    except (OSError, TypeError, ValueError) as error:
        raise CommandError(
            f"{prices} holds no prices ({error}): write it as tools/bench/prices.toml is."
        ) from error
    lines = asyncio.run(_measured())
    tell("bill", sections(lines, asked), notes(asked), write=write, file="costs.md")
    differing = [line.operation for line in lines if line.consumed != line.reported]
    if differing:
        typer.echo(f"The engine reports other figures for: {', '.join(differing)}.", err=True)
        raise typer.Exit(1)


async def _measured() -> list[Line]:
    with tempfile.TemporaryDirectory() as directory:
        async with open_table(Settings(data_dir=Path(directory)), share=False) as table:
            return [line async for line in measure(table)]
