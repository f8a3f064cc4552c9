"""Strategies for tables with objects of every kind."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from dal.dynamodb.scan import scan_all
from dal.dynamodb.table import Table
from dal.dynamodb.wire import Service
from dal.model import (
    Comment,
    CommentSource,
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Organization,
    OrganizationUser,
    Photo,
    ProductDetails,
    Profile,
    Reply,
    Roster,
    Ticket,
    TicketStatus,
    UserType,
    rules,
)
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.table.items import Item, contents
from features.loading.loaded import CommentRow, CommentState, LoadedComment, loaded
from features.moderation.cases import put_cases, put_reports
from features.moderation.model import Case, Decision, Report, ReportReason
from features.votes.model import Vote
from tests.features.loading.bulk import load_rows
from tests.putting import put_orders, put_profiles, put_rosters, put_tickets
from tests.strategies import aspects, in_identifiers

_WRITTEN = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_TEXTS = (
    _WRITTEN | st.sampled_from(['"', "a,b\r\nc", "\r", '""\n', " x ", "\u2028,\x85", "=1+1"])
).map(lambda text: rules.text("text", text))
_STATED = _TEXTS.map(lambda text: f"{text}.")
_IDS = st.text(in_identifiers, max_size=12).map(rules.trimmed).filter(bool)
_INSTANTS = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)
_NAMES = st.none() | st.sampled_from(["Ana Pérez", 'Z, "é" 🙂', "=1+1"])
_LANGUAGES = st.sampled_from(["en", "de", "pt-BR", "zh-Hant", "ar"])

_PHOTOS = st.builds(
    Photo,
    st.sampled_from(["https://p.example/1.jpg", "https://p.example/w_1,h_1;2.jpg?a=%7C"]),
    _TEXTS.map(lambda text: rules.alternative_text("alt", text)),
)

comments = st.builds(
    Comment,
    _IDS,
    _IDS,
    _IDS,
    st.integers(1, 5),
    _LANGUAGES,
    _TEXTS,
    _TEXTS.map(lambda text: rules.optional_text("text", text)),
    _INSTANTS,
    st.none() | _INSTANTS,
    st.booleans(),
    _NAMES,
    st.none(),  # an export does not contain the time of a publication by a moderator
    st.none() | st.builds(Reply, _STATED, _INSTANTS),
    votes=st.just(0),  # the votes below determine this number
    votes_before=st.integers(0, 3),
    photos=st.lists(_PHOTOS, max_size=3).map(tuple),
    source=st.sampled_from(CommentSource),
    incentive=st.sampled_from([None, "", '10 %, "é" 🙂', "=1+1"]),
    aspects=aspects,
)


@st.composite
def rows(draw: st.DrawFn) -> CommentRow:
    """Draw a comment in any state, with a decision that this state allows."""
    one = draw(comments)
    given: dict[str, Any] = {
        "state": draw(st.sampled_from(CommentState)),
        "reply": one.reply,
        "photos": one.photos,
        "aspects": one.aspects,
        "votes_before": one.votes_before,
        "source": one.source,
        "incentive": one.incentive,
    }
    if given["state"] is not CommentState.PUBLISHED:
        given |= {"queued_at": draw(_INSTANTS), "cause": draw(st.sampled_from(ReviewCause))}
    if given["state"] is CommentState.REJECTED:
        given["cause"] = draw(st.none() | st.just(given["cause"]))
        given |= {"reason": draw(st.none() | _STATED), "decided_at": draw(st.none() | _INSTANTS)}
    return LoadedComment(one, given)


@st.composite
def orders(draw: st.DrawFn) -> Order:
    currency, places = draw(st.sampled_from([("EUR", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4)]))
    prices = st.decimals(0, 10**9, places=places, allow_nan=False)
    lines = st.builds(
        OrderLine,
        _IDS,
        st.integers(1, 10_000),
        prices.map(lambda amount: Money(round(Decimal(amount), places), currency)),
    )
    return Order(
        order_id=draw(_IDS),
        username=draw(_IDS),
        status=draw(st.sampled_from(OrderStatus)),
        created_at=draw(_INSTANTS),
        lines=tuple(draw(st.lists(lines, min_size=1, max_size=4))),
        name=draw(_NAMES),
    )


@st.composite
def rosters(draw: st.DrawFn) -> Roster:
    name = draw(_IDS)
    members = draw(st.dictionaries(_IDS, st.sampled_from(UserType), max_size=5))
    users = [OrganizationUser(name, username, type_) for username, type_ in members.items()]
    return Roster(Organization(name, draw(_TEXTS.map(str))), users)


tickets = st.builds(
    Ticket,
    ticket_id=_IDS,
    organization=_IDS,
    username=_IDS,
    subject=_STATED,
    text=_STATED,
    created_at=_INSTANTS,
    status=st.sampled_from(TicketStatus),
    name=_NAMES,
)
profiles = st.builds(
    Profile, full_name=_TEXTS, email=st.sampled_from(["", "ana@b.org", "\N{SNOWMAN}@x"])
)
_TRADE_NAMES = st.sampled_from(["", "4711", "007-B", "\N{SNOWMAN} & Söhne"])
_ADDRESSES = st.sampled_from(["", "/a.svg", "https://shop.example:8443/%C3%A9?a=1,2&b#c"])
products = st.builds(
    ProductDetails,
    title=_TEXTS,
    picture_url=_ADDRESSES,
    url=_ADDRESSES,
    gtin=st.sampled_from(["", "4006381333931", "96385074"]),
    brand=_TRADE_NAMES,
    mpn=_TRADE_NAMES,
)


@dataclass(frozen=True)
class Stock:
    """The objects of one table. The ids of each kind are distinct."""

    comments: list[CommentRow]
    orders: list[Order]
    rosters: list[Roster]
    tickets: list[Ticket]
    profiles: dict[str, Profile]
    products: dict[str, ProductDetails]
    reports: list[Report]
    cases: list[Case]
    votes: list[Vote]

    async def fill(self, table: Table) -> None:
        stores = Stores(table)
        await load_rows(stores.comments, self.comments)
        await put_orders(stores.table, self.orders)
        await put_rosters(stores.table, self.rosters)
        await put_tickets(stores.table, self.tickets)
        await put_profiles(stores.table, self.profiles)
        await stores.products.put_many(self.products)
        await put_reports(table, self.reports)
        await put_cases(table, self.cases)
        await stores.votes.put_many(self.votes)
        await table.drain()  # waits until the leaderboards are up to date


@st.composite
def stocks(draw: st.DrawFn) -> Stock:
    """Draw tables with objects of every kind. Reports, cases and votes belong to the comments."""
    of_all = st.lists(rows(), max_size=30, unique_by=lambda one: loaded(one).comment.comment_id)
    there = draw(of_all)
    comments_there = [loaded(one).comment for one in there]
    ids = [one.comment_id for one in comments_there]
    voted = st.sampled_from(comments_there) if comments_there else st.nothing()
    votes = st.builds(lambda of, who: Vote(of.comment_id, of.product_id, who), voted, _IDS)
    some = st.sampled_from(ids) if ids else st.nothing()
    reports = st.builds(Report, some, _IDS, _IDS, st.sampled_from(ReportReason), _TEXTS, _INSTANTS)
    decisions = st.builds(Decision, st.none() | _IDS, _INSTANTS, _INSTANTS, st.none() | _STATED)
    opened_at = reported_at = st.none() | _INSTANTS
    decided = st.none() | decisions
    cases = st.builds(Case, some, opened_at, decided, st.just(False), reported_at)
    return Stock(
        there,
        draw(st.lists(orders(), max_size=12, unique_by=lambda one: one.order_id)),
        draw(st.lists(rosters(), max_size=6, unique_by=lambda one: one.organization.name)),
        draw(st.lists(tickets, max_size=12, unique_by=lambda one: one.ticket_id)),
        draw(st.dictionaries(_IDS, profiles, max_size=8)),
        draw(st.dictionaries(_IDS, products, max_size=8)),
        draw(st.lists(reports, max_size=12, unique_by=lambda one: (one.comment_id, one.username))),
        draw(st.lists(cases, max_size=8, unique_by=lambda one: one.comment_id)),
        draw(st.lists(votes, max_size=12, unique_by=lambda one: (one.comment_id, one.username))),
    )


async def everything(table: Table) -> dict[tuple[str, str], Item]:
    """Return the items of a table by key, without the maintenance mode and random versions."""
    items: list[Item] = []
    await scan_all(table, lambda _: None, items.extend)
    found = {(one["PK"]["S"], one["SK"]["S"]): one for one in items}
    assert len(found) == len(items)
    return {key: contents(one) for key, one in found.items() if key[0] != "COUNTING"}


class SmallPages(Service):
    """A service whose Scans return only a few items each. It calls ``before`` before each Scan."""

    def __init__(self, table: Table, limit: int, before: Any = None) -> None:
        self._client = table.service
        self.endpoint_url = table.service.endpoint_url
        self._limit = limit
        self._before = before
        self.scans = 0

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation == "scan":
            arguments = {**arguments, "Limit": self._limit}
            self.scans += 1
            if self._before is not None:
                await self._before(self.scans)
        return await self._client.call(operation, arguments)
