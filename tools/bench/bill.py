"""The bill: the capacity that each operation consumes, and the price of a million operations.

The repositories execute each operation on a temporary storage engine. ``tools.bench.capacity``
computes the operation's capacity by DynamoDB's rules, and the engine reports its own figure. The
bill fails if the two figures differ.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlencode

import orjson
import typer

from dal.counts.mode import Maintenance, MaintenanceMode
from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import ALL, COMMENT, comment_position
from dal.entities.order import purchase_key
from dal.errors import NotFoundError
from dal.model import (
    RATINGS,
    AspectRating,
    Comment,
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Organization,
    OrganizationUser,
    Photo,
    ProductDetails,
    Roster,
    Ticket,
)
from dal.model.standings import Permission
from dal.query.pagination import Slice
from dal.repositories.comments import AuthorSelection, Selection
from dal.repositories.orders import OrderSelection
from dal.repositories.tickets import TicketSelection
from dal.stores import Stores
from dal.writes.comments import Hold
from features.demo.demo_data import demo_comments
from features.loading.kind import COMMENTS
from features.moderation.model import ReportReason
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation
from features.one_per_person.model import OnePerPerson, extras
from features.stream_counting import lambda_handler
from features.stream_counting.applier import Record
from pages.addresses import product_path
from pages.page_documents import id_of
from server.local_engine.storage import open_table
from server.settings import Settings
from tools.bench.capacity import PER_ITEM, Consumed, Meter, size_of, stored_size
from tools.bench.month import LOADS, Use, formulas, month_section, rounded_up
from tools.bench.orders import votes_of
from tools.bench.prices import PRICES, Prices, read_prices
from tools.bench.report import Section, write_report
from tools.bench.visitor import Visit, Visitor

PRODUCT, _VIEWED = "B000G6RYNE", "B000G6RYNF"
_VARIANT, _BOUGHT = "B000G6RYNR", "B000G6RYNS"
"""Two products of a group. The user of the bill's comments has bought one of them."""
LOADED = 90
"""Number of comments that one call of ``put_many`` loads, or one call of the Lambda handler counts.
This number of comments fits into one transaction together with their counters."""

_START = datetime(2024, 5, 1, tzinfo=UTC)
_SENTENCE = "The kettle boils fast and pours well, but its lid is loose and the cord is short. "
_TEXT_LENGTH = 400
TEXT_LENGTHS = (300, 759, 1_000, 3_000, 10_000)
"""Lengths of comments' texts in characters, up to the longest allowed text. With 759 characters,
the comment's item and its row in one index exceed 1 KB, the size of a write unit. Its rows in the
other indexes do not."""


_HOLD = partial(
    ModeratedPublication(Moderation(before_publishing=True)).added,
    Permission(blocked=False, erasing=False, bought=False),
    moderator=False,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One operation, its computed capacity, and the capacity that the engine reported."""

    section: str
    operation: str
    consumed: Consumed
    reported: Consumed
    visit: Visit | None = None
    """The sizes of the response, if the operation requests a page."""


class MeteredStores(Stores):
    """The repositories over a table that measures each request's capacity.

    Operations that request pages call ``visitor``.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.visitor = Visitor(table)


Act: TypeAlias = Callable[[MeteredStores], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation whose capacity the bill shows. ``act`` executes the operation.

    ``before`` prepares the operation, and its capacity is not counted. If ``act`` executes the
    operation for several comments, ``times`` is their number, and the bill shows the average.
    """

    name: str
    act: Act
    before: Act | None = None
    times: int = 1


def comment(
    name: str, rating: int, language: str = "en", number: int = 0, length: int = _TEXT_LENGTH
) -> Comment:
    """Return a comment with a text of ``length`` characters. The default is a typical length."""
    text = (_SENTENCE * (length // len(_SENTENCE) + 1))[:length]
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
_A, _B, _C, _D = comment("a", 3), comment("b", 5), comment("c", 3), comment("d", 3)
_E, _F, _G = comment("e", 3), comment("f", 3), comment("g", 3)
_H, _I = comment("h", 3, number=8_000), comment("i", 3, number=9_000)
_Q = comment("q", 3, number=8_500)
_J = comment("j", 3)._replace(verified_purchase=True)
_O = comment("o", 3)._replace(product_id=_VARIANT, verified_purchase=True)
_P = comment("p", 3)._replace(photos=(Photo("https://cdn.shop.example/1.jpg", "On my stove"),))
_T = comment("t", 3)._replace(
    aspects=tuple([AspectRating(f"aspect_{number}", 5) for number in range(6)])
)
_R = comment("r", 3)._replace(language="en-GB")
_K, _L, _M = comment("k", 3), comment("l", 3), comment("m", 3)
_N = comment("n", 3)
_S = comment("s", 3)
_REPORTED = comment("reported", 3).comment_id
_SEEN = (_F.comment_id, _F.created_at)
_KEYED = _C._replace(comment_id=idempotency.comment_id(_C.username, "c"))
_ANY, _ONE, _TWO = (
    Selection(PRODUCT),
    Selection(PRODUCT, frozenset({5}), frozenset({"en"})),
    Selection(PRODUCT, frozenset({1, 2})),
)
_FROM_THE_MIDDLE = Slice(20, after=comment_position(comment("stored", 1, number=400)))


def _anybody(_: object) -> None:
    """Allow every change. The bill's operations use this function as their permission check."""


def _add(added: Comment, key: str | None = None, hold: Hold | None = None) -> Act:
    """Return an act that adds a comment, after the server's read of what its author may write."""

    async def act(stores: MeteredStores) -> None:
        await stores.standings.permission(added.username, added.product_id)
        await stores.comments.add(added, key, hold=hold)

    return act


def _mutation(act: Act) -> Act:
    """Return an act that first reads what the user may write, as the server does.

    Votes and reports need no such act, because they read it together with the comment.
    """

    async def mutation(stores: MeteredStores) -> None:
        await stores.standings.permission("ann")
        await act(stores)

    return mutation


def _edit(of: Comment, **changes: object) -> Act:
    return _mutation(lambda one: one.comments.update(of.comment_id, changes, _anybody))


def _delete(of: Comment) -> Act:
    return _mutation(lambda one: one.comments.delete(of.comment_id, _anybody))


def _hold(added: Comment) -> Act:
    return _add(added, hold=_HOLD)


async def _hold_many(stores: Stores) -> None:
    for each in stored("held", 40):
        added = each._replace(username="ann")
        await stores.comments.add(added, hold=_HOLD)


def _report(person: str, of: Comment | None = None, review_at: int = 9) -> Act:
    comment_id = (of or _K).comment_id
    return lambda one: one.reports.report(comment_id, person, ReportReason.SPAM, "", review_at)


def _vote(*people: str) -> Act:
    async def act(stores: MeteredStores) -> None:
        for person in people:  # one after another, because a vote counts the earlier votes
            await stores.votes.mark(_N.comment_id, person)

    return act


async def _fold(stores: MeteredStores) -> None:
    """Count a comment's votes, and write their number into the comment."""
    await stores.folds.correct([_N.comment_id])


async def _vote_and_fold(stores: MeteredStores) -> None:
    await _vote(*(f"voter{number}" for number in range(100)))(stores)
    await _fold(stores)


async def _open_ticket(stores: MeteredStores) -> None:
    await stores.organizations.get_user("acme", "ann")
    await stores.tickets.create(_TICKET)


async def _ticket(stores: MeteredStores) -> Ticket:
    """Return a ticket, after the check that the user belongs to the ticket's organisation."""
    found = await stores.tickets.get(_TICKET.ticket_id)
    assert found is not None  # noqa: S101 - an earlier operation has opened it
    await stores.organizations.get_user("acme", "ann")
    return found


async def _close_ticket(stores: MeteredStores) -> None:
    await stores.tickets.close(await _ticket(stores))


def _refused(act: Act) -> Act:
    async def refused(stores: MeteredStores) -> None:
        with suppress(NotFoundError):
            await act(stores)

    return refused


def _add_and_report(added: Comment, *people: str) -> Act:
    async def act(stores: MeteredStores) -> None:
        await stores.comments.add(added)
        for person in people or ("ann",):
            await _report(person, added)(stores)

    return act


async def _report_many(stores: MeteredStores) -> None:
    for each in stored("reported", 40):
        await _add_and_report(each)(stores)


async def _block_many(stores: MeteredStores) -> None:
    for number in range(40):
        await stores.blocks.block(f"user{number:04}", "Spam", "mo")


def _read(selection: Selection) -> Act:
    return lambda one: one.comments.page(selection, _FROM_THE_MIDDLE)


def _first(selection: Selection) -> Act:
    """Return an act that reads a page of 2 rows.

    The process then has the product's statistics in its cache, and the measured read does not read
    them again.
    """
    return lambda one: one.comments.page(selection, Slice(2))


async def _move_and_add_a_five(stores: Stores) -> None:
    await stores.boards.correct([PRODUCT])
    await stores.comments.add(comment("moved", 5))


def _add_and_count(name: str, count: int) -> Act:
    """Return an act that adds comments, and counts them by one call of the Lambda handler."""

    async def act(stores: MeteredStores) -> None:
        added = [comment(f"{name}{number}", 3) for number in range(count)]
        for one in added:
            await _add(one)(stores)
        await lambda_handler.apply(stores.table, [_record(one) for one in added])

    return act


def _record(added: Comment) -> Record:
    """Return the stream record of an added comment, with the fields that the handler reads."""
    item = COMMENT.encode(added)
    return {
        "eventID": added.comment_id,
        "eventSourceARN": "arn:aws:dynamodb:local:0:table/t/stream/2026-01-01T00:00:00.000",
        "dynamodb": {
            "Keys": {"PK": item["PK"], "SK": item["SK"]},
            "NewImage": item,
            "SequenceNumber": "1",
        },
    }


def _visit(address: str) -> Act:
    return lambda one: one.visitor.get(address)


def _widget(product_id: str) -> str:
    """Return the address at which the widget of a product requests its first page."""
    variables = orjson.dumps({"productId": product_id, "first": 20}).decode()
    document = {"documentId": id_of("widget"), "variables": variables}
    return f"/graphql?{urlencode(document)}"


def _viewed(count: int) -> list[Comment]:
    """Return comments on the viewed product, with different texts. 30 % have helpful votes."""
    texts = " ".join(one.text for one in demo_comments() if one.language == "en")
    return [
        one._replace(
            product_id=_VIEWED,
            text=texts[_TEXT_LENGTH * n : _TEXT_LENGTH * (n + 1)].strip(),
            votes_before=votes_of(n),
        )
        for n, one in enumerate(stored("viewed", count))
    ]


def _of_length(length: int) -> Operation:
    added = comment(f"long{length}", 3, length=length)
    return Operation(f"{length:,} characters", _add(added))


async def _leave_counters_to_the_stream(stores: Stores) -> None:
    maintenance = stores.maintenance
    await maintenance.announce(await maintenance.read(), mode=MaintenanceMode.STREAM)
    await maintenance.current()


async def _begin_rebuild(stores: Stores) -> None:
    """Announce a rebuild. It never runs, but writes count as they do during one."""
    maintenance = stores.maintenance
    read = await maintenance.read()
    await maintenance.announce(read, generation=read.generation + 1, rebuilding=True)


async def _end_rebuild(stores: Stores) -> None:
    maintenance = stores.maintenance
    await maintenance.announce(await maintenance.read(), rebuilding=False)


async def _allow_one_per_person(stores: Stores) -> None:
    maintenance = stores.maintenance
    await maintenance.announce(
        await maintenance.read(),
        mode=MaintenanceMode.TRANSACTIONAL,
        extras=extras(Maintenance(), OnePerPerson.ON),
    )
    await maintenance.current()


ONLY_PRINTED = frozenset(
    {
        "read a page of 20 unpublished comments of a user",
        "read the highlights of a product",
        "read a user's votes on a product",
        "block a user",
        "add a user to an organisation",
        "read a page of a user's orders",
        "read a page of an organisation's tickets",
        "edit a product's title",
        "delete a comment with 4 reports",
        "close a ticket",
        "add a comment with an idempotency key",
        "edit a comment's language",
        "remove a reply",
        "delete a comment that was added with an idempotency key",
        "edit a waiting comment",
        "delete a waiting comment",
        "reject a waiting comment",
        "report a comment that others have reported",
        "report a comment again",
        "report a comment that is not published",
        "approve a published comment with reports",
        "read the reports of a comment",
        "look up what a user may write",
        "read a page of 20 blocked users",
        "unblock a user",
        "read a page of 20 comments of one language and rating",
        "read the number of comments",
        "read an order by its id",
        "read a page of a user's organisations",
        "read a page of open tickets",
        "read a ticket by its id",
        "edit a profile",
        "read a profile",
        "set a product's title",
        "edit a product's picture",
        "read a product's details",
        "759 characters",
        "3,000 characters",
        "read a page of 20 comments of two ratings",
        "read a page of 20 comments of an author",
        "ship an order",
        "read a user with a page of tickets",
        "edit a product's title of four words into one of three",
        "add a comment, and count it with 9 others of its product",
        "edit a comment's rating, without counting it",
        "delete a comment, without counting it",
    }
)
"""Operations that the command prints and docs/costs.md omits, because they are rare or cost the
same as another operation."""

VIEW, ADD, MOVE = "view a product's page", "add a comment", "move a product on two leaderboards"
"""The operations from which the bill of a month is computed: see ``tools.bench.month``."""

OPERATIONS: Mapping[str, Sequence[Operation]] = {
    "Pages are viewed": (
        Operation(VIEW, _visit(product_path(_VIEWED)), _visit(product_path(PRODUCT))),
        Operation("view the widget's page of 20 comments", _visit(_widget(_VIEWED))),
    ),
    "Comments are written": (
        Operation(ADD, _add(_A)),
        Operation("add a comment with an idempotency key", _add(_C, "c")),
        Operation("add a buyer's comment", _add(_J)),
        Operation("add a comment on a variant of a product that the user bought", _add(_O)),
        Operation("add a comment in a language with a region", _add(_R)),
        Operation("add a comment with photos", _add(_P)),
        Operation("add a comment with ratings of six aspects", _add(_T)),
        Operation("edit a comment's text", _edit(_A, text="The lid is loose.")),
        Operation("edit a comment's ratings of aspects", _edit(_T, aspects=_T.aspects[:5])),
        Operation("edit a comment's rating", _edit(_A, rating=4)),
        Operation("edit a comment's language", _edit(_A, language="de")),
        Operation(
            "reply to a comment",
            _mutation(lambda one: one.comments.reply(_A.comment_id, _SENTENCE)),
        ),
        Operation("remove a reply", _mutation(lambda one: one.comments.reply(_A.comment_id, None))),
        Operation("delete a comment that was added with an idempotency key", _delete(_KEYED)),
        Operation("delete a comment", _delete(_B), _add(_B)),
        Operation(
            MOVE,
            lambda one: one.boards.correct([PRODUCT]),
            _move_and_add_a_five,
        ),
        Operation(
            f"load {LOADED} comments on a product in one call (cost per comment)",
            lambda one: COMMENTS.put(one)(stored("loaded", LOADED)),
            times=LOADED,
        ),
        Operation("add a comment during `stats rebuild`", _add(_S), _begin_rebuild),
    ),
    "Comments are reviewed": (
        Operation("add a comment that waits for review", _hold(_E), _end_rebuild),
        Operation(
            "approve a waiting comment",
            _mutation(lambda one: one.moderation.approve(*_SEEN, "mo")),
            _hold(_F),
        ),
        Operation(
            "reject a published comment",
            _mutation(lambda one: one.moderation.reject(*_SEEN, "mo", "No.")),
        ),
        Operation("edit a waiting comment", _edit(_E, text="The lid is loose.")),
        Operation("delete a waiting comment", _delete(_E)),
        Operation(
            "reject a waiting comment",
            _mutation(lambda one: one.moderation.reject(_G.comment_id, _G.created_at, "mo", "No.")),
            _hold(_G),
        ),
        Operation(
            "read a page of 20 unpublished comments of a user",
            lambda one: one.moderation.page("ann", Slice(20)),
            _hold_many,
        ),
        Operation(
            "read 20 comments of the review queue", lambda one: one.moderation.queue(Slice(20))
        ),
    ),
    "Comments get helpful votes": (
        Operation("vote for one comment", _vote("ann"), _add(_N)),
        Operation("fold the first vote for a comment", _fold),
        Operation("fold a later vote", _fold, _vote("bob")),
        Operation("100 votes for a comment in two seconds, with their fold", _vote_and_fold),
        Operation(
            "read a user's votes on a product", lambda one: one.votes.marked("ann", [_N, _M])
        ),
        Operation("read the highlights of a product", lambda one: one.votes.highlights(PRODUCT)),
    ),
    "Comments are reported, and users blocked": (
        Operation("report a comment", _report("ann"), _add(_K)),
        Operation("report a comment that others have reported", _report("bob")),
        Operation("report a comment again", _report("bob")),
        Operation("report a comment, and send it to review", _report("cy", review_at=3)),
        Operation("report a comment that is not published", _refused(_report("di"))),
        Operation(
            "approve a published comment with reports",
            _mutation(lambda one: one.moderation.approve(_L.comment_id, _L.created_at, "mo")),
            _add_and_report(_L),
        ),
        Operation(
            "delete a comment with 4 reports",
            _delete(_M),
            _add_and_report(_M, "ann", "bob", "cy", "di"),
        ),
        Operation(
            "read a page of 20 comments with reports",
            lambda one: one.reports.queue(Slice(20)),
            _report_many,
        ),
        Operation("read the reports of a comment", lambda one: one.reports.reports(_REPORTED)),
        Operation(
            "look up what a user may write",
            lambda one: one.standings.permission("ann", PRODUCT),
        ),
        Operation("block a user", _mutation(lambda one: one.blocks.block("bob", "Spam", "mo"))),
        Operation(
            "read a page of 20 blocked users",
            lambda one: one.blocks.page(Slice(20)),
            _block_many,
        ),
        Operation("unblock a user", _mutation(lambda one: one.blocks.unblock("bob"))),
    ),
    "Comments are read": (
        Operation("read a page of 20 comments", _read(_ANY), _first(_ANY)),
        Operation(
            "read a page of 20 comments of one language and rating", _read(_ONE), _first(_ONE)
        ),
        Operation("read a page of 20 comments of two ratings", _read(_TWO), _first(_TWO)),
        Operation("read the number of comments", lambda one: one.comments.total(_ANY)),
        Operation(
            "read a page of 20 comments of an author",
            lambda one: one.comments.page_of_author(AuthorSelection("ann"), Slice(20)),
            lambda one: COMMENTS.put(one)(
                [each._replace(username="ann") for each in stored("ann", 40)]
            ),
        ),
        Operation("read a comment by its id", lambda one: one.comments.get(_A.comment_id)),
        Operation(
            "read the statistics of a product",
            lambda one: one.statistics.read(PRODUCT, consistent=True),
        ),
        Operation(
            "read 10 products of the leaderboard",
            lambda one: one.leaderboard.page(None, Slice(10), ranked=True),
        ),
    ),
    "Orders and tickets": (
        Operation("place an order of three lines", _mutation(lambda one: one.orders.place(_ORDER))),
        Operation(
            "ship an order",
            _mutation(
                lambda one: one.orders.set_status(_ORDER.order_id, OrderStatus.SHIPPED, owner="ann")
            ),
        ),
        Operation(
            "deliver an order",
            _mutation(
                lambda one: one.orders.set_status(
                    _ORDER.order_id, OrderStatus.DELIVERED, owner="ann"
                )
            ),
        ),
        Operation(
            "read a page of a user's orders",
            lambda one: one.orders.page(OrderSelection("ann"), Slice(20)),
        ),
        Operation("read an order by its id", lambda one: one.orders.get(_ORDER.order_id)),
        Operation("read a page of open orders", lambda one: one.orders.open_page(Slice(20))),
        Operation(
            "add a user to an organisation",
            _mutation(
                lambda one: one.organizations.add_user(OrganizationUser("acme", "bob"), by=None)
            ),
        ),
        Operation(
            "read a page of a user's organisations",
            lambda one: one.organizations.of_user("ann", Slice(20)),
        ),
        Operation("open a ticket", _mutation(_open_ticket)),
        Operation("close a ticket", _mutation(_close_ticket)),
        Operation(
            "read a user with a page of tickets",
            lambda one: one.tickets.with_user("acme", "ann", Slice(20)),
        ),
        Operation(
            "read a page of an organisation's tickets",
            lambda one: one.tickets.page(TicketSelection("acme"), Slice(20)),
        ),
        Operation("read a page of open tickets", lambda one: one.tickets.open_page(Slice(20))),
        Operation("read a ticket by its id", _ticket),
        Operation(
            "edit a profile",
            _mutation(lambda one: one.users.update_profile("ann", {"full_name": "A"})),
        ),
        Operation("read a profile", lambda one: one.users.profile("ann")),
        Operation(
            "set a product's title",
            _mutation(lambda one: one.products.update("new", {"title": "Kettle"})),
        ),
        Operation(
            "set a product's title of four words",
            _mutation(lambda one: one.products.update("newer", {"title": "Copper kettle, 1.7 l"})),
        ),
        Operation(
            "edit a product's title",
            _mutation(lambda one: one.products.update(PRODUCT, {"title": "A"})),
        ),
        Operation(
            "edit a product's title of four words into one of three",
            _mutation(lambda one: one.products.update("newer", {"title": "Copper kettle, small"})),
        ),
        Operation(
            "edit a product's picture",
            _mutation(lambda one: one.products.update(PRODUCT, {"picture_url": "/"})),
        ),
        Operation(
            "read a page of products by words of their titles",
            lambda one: one.products.search("a", Slice(20)),
        ),
        Operation("read a product's details", lambda one: one.products.details([PRODUCT])),
    ),
    "Comments are added, by the length of their text": tuple(map(_of_length, TEXT_LENGTHS)),
    "Comments are written, and counters follow the stream": (
        Operation(
            "add a comment, without counting it",
            _add(_D),
            _leave_counters_to_the_stream,
        ),
        Operation("edit a comment's rating, without counting it", _edit(_D, rating=4)),
        Operation("delete a comment, without counting it", _delete(_D)),
        Operation("add a comment, and count it alone", _add_and_count("alone", 1)),
        Operation(
            "add a comment, and count it with 9 others of its product",
            _add_and_count("ten", 10),
            times=10,
        ),
        Operation(
            f"add a comment, and count it with {LOADED - 1} others of its product",
            _add_and_count("many", LOADED),
            times=LOADED,
        ),
    ),
    "A person may have one comment on each product": (
        Operation("add a comment", _add(_H), _allow_one_per_person),
        Operation("edit a comment's text", _edit(_H, text="The lid is loose.")),
        Operation("delete a comment", _delete(_H)),
        Operation("add a comment that waits for review", _hold(_Q)),
        Operation(
            "add a comment, without counting it",
            _add(_I),
            _leave_counters_to_the_stream,
        ),
        Operation("delete a comment, without counting it", _delete(_I)),
    ),
}


def stored(name: str, count: int) -> list[Comment]:
    """Return ``count`` comments on one product, with all ratings and in two languages."""
    languages = ("en", "de")
    return [comment(name, RATINGS[n % 5], languages[n // 5 % 2], n) for n in range(count)]


async def measure(table: Table) -> AsyncIterator[Line]:
    """Fill an empty table, execute all operations on it in order, and yield a line for each."""
    await _fill(Stores(table))
    meter = Meter(table.service)
    stores = MeteredStores(Table(meter, table.name))
    for section, operations in OPERATIONS.items():
        for one in operations:
            if one.before is not None:
                await one.before(stores)
            await stores.maintenance.current()
            meter.reset()
            result = await one.act(stores)
            visit = result if isinstance(result, Visit) else None
            yield Line(section, one.name, *meter.counted(one.times), visit)


async def _fill(stores: Stores) -> None:
    await COMMENTS.put(stores)(stored("stored", 500))
    await COMMENTS.put(stores)(_viewed(500))
    user = OrganizationUser("acme", "ann")
    await stores.organizations.create(Roster(Organization("acme", "PRO"), [user]))
    await stores.users.update_profile("ann", {"full_name": "Ann"})
    await stores.products.update(PRODUCT, {"title": "Kettle"})
    await stores.products.update(_VIEWED, {"title": "Lamp"})
    group = ProductDetails(group="kettles")
    await stores.products.put_many({_VARIANT: group, _BOUGHT: group})
    await stores.table.put_many([purchase_key(_O.username, _BOUGHT)])


def sections(lines: Iterable[Line], prices: Prices) -> list[Section]:
    """Return a table for each section of operations."""
    columns = ("operation", "requests", "WCU", "RCU", f"{prices.currency} a million")
    found = []
    for name, of_one in groupby(lines, key=lambda line: line.section):
        rows = []
        for line in of_one:
            consumed = line.consumed
            units = (consumed.requests, consumed.wcu, consumed.rcu)
            cells = [f"{number:.2f}".rstrip("0").rstrip(".") for number in units]
            rows.append([line.operation, *cells, f"{prices.of(consumed):.2f}"])
        found.append(Section(name, columns, rows))
    return found


def page_sections(lines: Iterable[Line], prices: Prices) -> list[Section]:
    """Return the tables of docs/costs.md. They lack the operations in ``ONLY_PRINTED``."""
    found = []
    for full in (*sections(lines, prices), storage(prices)):
        rows = [row for row in full.rows if row[0] not in ONLY_PRINTED]
        found.append(Section(full.title, full.columns, rows))
    return found


def use_of(lines: Iterable[Line]) -> Use:
    """Return what one view and one new comment consume, from the bill's lines."""
    first: dict[str, Line] = {}
    for line in lines:  # a later section has an operation of the same name
        first.setdefault(line.operation, line)
    visit = first[VIEW].visit
    assert visit is not None  # noqa: S101 - the operation requests a page
    item = COMMENT.encode(comment("size", 3))
    return Use(
        view=first[VIEW].consumed,
        add=first[ADD].consumed,
        move=first[MOVE].consumed,
        # Rounded, because the versions of Python and of brotli change some bytes.
        sent=rounded_up(visit.sent, 1_000),
        logged=rounded_up(visit.logged, 50),
        stored=stored_size(item),
        item=size_of(item) + PER_ITEM,
    )


def storage(prices: Prices) -> Section:
    """Return a table of the storage that a comment needs, by the length of its text."""
    rows = []
    for length in TEXT_LENGTHS:
        item = COMMENT.encode(comment("size", 3, length=length))
        taken = stored_size(item)
        price = prices.storage * taken * 1_000_000 / 2**30
        rows.append([f"{length:,} characters", f"{size_of(item):,}", f"{taken:,}", f"{price:.2f}"])
    columns = (
        "text",
        "bytes",
        "bytes with all indexes",
        f"{prices.currency} a month for a million comments",
    )
    return Section("Comments are stored", columns, rows)


def notes(prices: Prices) -> list[str]:
    """Return notes on the sizes of the items and on the prices."""
    item = COMMENT.encode(comment("size", 3))
    row = {name: item[name] for name in ALL.attributes}
    sizes = f"{size_of(item)} bytes in the table, and {size_of(row)} in each index"
    currency = prices.currency
    return [
        f"A comment with {_TEXT_LENGTH} characters of text has {sizes}.",
        f"The prices are of {prices.date:%Y-%m-%d}, for {prices.place}.",
        (
            f"A million write units cost {prices.write_units:g} {currency}, a million read units "
            f"{prices.read_units:g} {currency}."
        ),
        f"A GB of storage costs {prices.storage:g} {currency} a month.",
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
    views: Annotated[
        int | None,
        typer.Option(min=0, help="Views of product pages in the month of the first table."),
    ] = None,
    adds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="New comments in this month.",
            show_default="one for each hundred views",
        ),
    ] = None,
    write: Annotated[
        bool,
        typer.Option("--write", help="Write the tables into docs/costs.md."),
    ] = False,
) -> None:
    """Show a month's whole bill on Amazon, and the price of each operation on DynamoDB.

    The operations run on a temporary engine. WCU and RCU are computed by DynamoDB's rules, and
    compared with the engine's figures.

    Exit code 1 if the computed figures differ from the engine's.
    """
    if views is None and adds is not None:
        raise typer.BadParameter("--adds needs --views.")
    asked = read_prices(prices)
    lines = asyncio.run(_measured())
    use = use_of(lines)
    mine = LOADS if views is None else [(views, views // 100 if adds is None else adds)]
    write_report(
        "month",
        [month_section(asked, use, mine)],
        formulas(asked, use),
        write=write,
        written=[month_section(asked, use, LOADS)],
        file="costs.md",
    )
    shown = [*sections(lines, asked), storage(asked)]
    written = page_sections(lines, asked)
    write_report("bill", shown, notes(asked), write=write, written=written, file="costs.md")
    differing = [line.operation for line in lines if line.consumed != line.reported]
    if differing:
        typer.echo(
            f"The engine's figures differ from the computed ones for: {', '.join(differing)}.",
            err=True,
        )
        raise typer.Exit(1)


async def _measured() -> list[Line]:
    with tempfile.TemporaryDirectory() as directory:
        async with open_table(Settings(data_dir=Path(directory)), share=False) as table:
            return [line async for line in measure(table)]
