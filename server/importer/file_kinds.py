"""The kinds of rows that files contain: their fields, and the objects that are stored.

``load`` parses rows by these declarations, and ``export`` writes them. A new kind is a new entry of
``FILE_KINDS`` and ``FileKindName``.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from dal.client.table import Table
from dal.model import (
    Comment,
    Order,
    OrderStatus,
    Organization,
    OrganizationUser,
    ProductDetails,
    Profile,
    Roster,
    Ticket,
    TicketStatus,
    rules,
)
from dal.repositories.bulk_write import Outcome
from dal.stores import Stores
from server.importer import field_parsers

Thing = TypeVar("Thing")

Put = Callable[[Sequence[Thing]], Awaitable[Outcome]]
"""Writes objects with distinct ids, replaces those that are stored, and returns what changed;
raises DalError."""

_INSTANT = "TIMESTAMPTZ"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a row: its parser, whether a row must have it, and its type in Parquet."""

    name: str
    parse: Callable[[str, object], object]
    required: bool = True
    parquet: str = "VARCHAR"


@dataclass(frozen=True, slots=True)
class FileKind(Generic[Thing]):
    """One kind of rows; of two rows with the same ``identity`` the later one is kept."""

    name: str
    fields: tuple[Field, ...]
    make: Callable[[Mapping[str, Any]], Thing]
    """Returns the object of a row's values."""
    cells: Callable[[Thing], Iterable[object]]
    """Returns the values of an object, in the order of the fields."""
    identity: Callable[[Thing], str]
    put: Callable[[Table], Put[Thing]]


def _owned(
    model: Callable[..., Thing], model_id: str, name: str, **absent: Any
) -> Callable[[Mapping[str, Any]], Thing]:
    """Return a function that makes a ``model`` of a row.

    The row's ``id`` becomes the attribute ``model_id``. The field called ``name`` has the owner's
    name, which becomes the attribute ``name``.
    """

    def make(values: Mapping[str, Any]) -> Thing:
        fields = {**absent, **values}
        shown = rules.name_unless(fields["username"], fields.pop(name, None))
        return model(**{model_id: fields.pop("id")}, name=shown, **fields)

    return make


def _keyed(
    model: Callable[..., Thing], key: str
) -> Callable[[Mapping[str, Any]], tuple[str, Thing]]:
    """Return a function that makes a pair of a row: the value of the field ``key``, a ``model``."""

    def make(values: Mapping[str, Any]) -> tuple[str, Thing]:
        fields = {**values}
        return fields.pop(key), model(**fields)

    return make


def _comment_cells(one: Comment) -> Iterable[object]:
    """Return a comment's fields without the time of its approval, which a load keeps."""
    return (value for name, value in one._asdict().items() if name != "published_at")


COMMENTS = FileKind(
    name="comments",
    fields=(
        Field("id", field_parsers.identifier),
        Field("product_id", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("rating", field_parsers.rating, parquet="INTEGER"),
        Field("language", field_parsers.language),
        Field("title", field_parsers.title, required=False),
        Field("text", field_parsers.review),
        Field("created_at", field_parsers.instant, parquet=_INSTANT),
        Field("updated_at", field_parsers.instant, required=False, parquet=_INSTANT),
        Field("verified_purchase", field_parsers.boolean, required=False, parquet="BOOLEAN"),
        Field("author_name", field_parsers.name, required=False),
    ),
    make=_owned(Comment, "comment_id", "author_name", title=""),
    cells=_comment_cells,
    identity=lambda comment: comment.comment_id,
    put=lambda table: Stores(table).comments.put_many,
)


def _order_cells(one: Order) -> Iterable[object]:
    return (one.order_id, one.username, one.status, one.created_at, one.lines, one.name)


ORDERS = FileKind(
    name="orders",
    fields=(
        Field("id", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("status", field_parsers.choice(OrderStatus)),
        Field("created_at", field_parsers.instant, parquet=_INSTANT),
        Field(
            "lines",
            field_parsers.order_lines,
            parquet="STRUCT(product_id VARCHAR, quantity INTEGER, unit_price VARCHAR)[]",
        ),
        Field("customer_name", field_parsers.name, required=False),
    ),
    make=_owned(Order, "order_id", "customer_name"),
    cells=_order_cells,
    identity=lambda order: order.order_id,
    put=lambda table: Stores(table).orders.put_many,
)


def _roster(values: Mapping[str, Any]) -> Roster:
    organization = Organization(values["name"], values["subscription_plan"])
    users = [OrganizationUser(organization.name, *one) for one in values["users"].items()]
    return Roster(organization, users)


def _roster_cells(roster: Roster) -> Iterable[object]:
    users = [{"username": user.username, "type": user.type} for user in roster.users]
    return (roster.organization.name, roster.organization.subscription_plan, users)


ORGANIZATIONS = FileKind(
    name="organizations",
    fields=(
        Field("name", field_parsers.identifier),
        Field("subscription_plan", field_parsers.title),
        Field("users", field_parsers.users, parquet='STRUCT(username VARCHAR, "type" VARCHAR)[]'),
    ),
    make=_roster,
    cells=_roster_cells,
    identity=lambda roster: roster.organization.name,
    put=lambda table: Stores(table).organizations.put_many,
)


def _ticket_cells(one: Ticket) -> Iterable[object]:
    owner = (one.ticket_id, one.organization, one.username)
    return (*owner, one.subject, one.text, one.status, one.created_at, one.name)


TICKETS = FileKind(
    name="tickets",
    fields=(
        Field("id", field_parsers.identifier),
        Field("organization", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("subject", field_parsers.subject),
        Field("text", field_parsers.body),
        Field("status", field_parsers.choice(TicketStatus)),
        Field("created_at", field_parsers.instant, parquet=_INSTANT),
        Field("author_name", field_parsers.name, required=False),
    ),
    make=_owned(Ticket, "ticket_id", "author_name"),
    cells=_ticket_cells,
    identity=lambda ticket: ticket.ticket_id,
    put=lambda table: Stores(table).tickets.put_many,
)


def _put_profiles(table: Table) -> Put[tuple[str, Profile]]:
    users = Stores(table).users
    return lambda profiles: users.put_profiles(dict(profiles))


PROFILES = FileKind(
    name="profiles",
    fields=(
        Field("username", field_parsers.identifier),
        Field("full_name", field_parsers.title, required=False),
        Field("email", field_parsers.email, required=False),
    ),
    make=_keyed(Profile, "username"),
    cells=lambda pair: (pair[0], pair[1].full_name, pair[1].email),
    identity=lambda pair: pair[0],
    put=_put_profiles,
)


def _put_products(table: Table) -> Put[tuple[str, ProductDetails]]:
    products = Stores(table).products
    return lambda details: products.put_many(dict(details))


PRODUCTS = FileKind(
    name="products",
    fields=(
        Field("id", field_parsers.identifier),
        Field("title", field_parsers.title, required=False),
        Field("picture_url", field_parsers.address, required=False),
        Field("url", field_parsers.address, required=False),
    ),
    make=_keyed(ProductDetails, "id"),
    cells=lambda pair: (pair[0], pair[1].title, pair[1].picture_url, pair[1].url),
    identity=lambda pair: pair[0],
    put=_put_products,
)

FileKindName = Literal["comments", "orders", "organizations", "tickets", "profiles", "products"]

FILE_KINDS: Mapping[FileKindName, FileKind[Any]] = {
    "comments": COMMENTS,
    "orders": ORDERS,
    "organizations": ORGANIZATIONS,
    "tickets": TICKETS,
    "profiles": PROFILES,
    "products": PRODUCTS,
}
