"""What a file may hold: each kind's fields, and where its objects go.

A new kind is a new entry of ``FILE_KINDS`` and ``FileKindName``.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
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
)
from dal.repositories.bulk_write import Outcome
from dal.stores import Stores
from server.importer import field_parsers

Thing = TypeVar("Thing")

Put = Callable[[Sequence[Thing]], Awaitable[Outcome]]
"""Writes objects of distinct identity over what is there, and tells what became of that; raises
DalError."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a row: how its cell is parsed, and whether a row can do without it."""

    name: str
    parse: Callable[[str, object], object]
    required: bool = True


@dataclass(frozen=True, slots=True)
class FileKind(Generic[Thing]):
    """What each row of a file is; of two rows with the same ``identity`` the later one stays."""

    name: str
    fields: tuple[Field, ...]
    make: Callable[[Mapping[str, Any]], Thing]
    identity: Callable[[Thing], str]
    put: Callable[[Table], Put[Thing]]


def _with_id(
    model: Callable[..., Thing], name: str, **absent: Any
) -> Callable[[Mapping[str, Any]], Thing]:
    """Return what makes a ``model`` of a row, whose ``id`` is its field ``name``."""

    def make(values: Mapping[str, Any]) -> Thing:
        fields = {**absent, **values}
        return model(**{name: fields.pop("id")}, **fields)

    return make


COMMENTS = FileKind(
    name="comments",
    fields=(
        Field("id", field_parsers.identifier),
        Field("product_id", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("rating", field_parsers.rating),
        Field("language", field_parsers.language),
        Field("title", field_parsers.title, required=False),
        Field("text", field_parsers.review),
        Field("created_at", field_parsers.instant),
        Field("updated_at", field_parsers.instant, required=False),
        Field("verified_purchase", field_parsers.boolean, required=False),
    ),
    make=_with_id(Comment, "comment_id", title=""),
    identity=lambda comment: comment.comment_id,
    put=lambda table: Stores(table).comments.put_many,
)


ORDERS = FileKind(
    name="orders",
    fields=(
        Field("id", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("status", field_parsers.choice(OrderStatus)),
        Field("created_at", field_parsers.instant),
        Field("lines", field_parsers.order_lines),
    ),
    make=_with_id(Order, "order_id"),
    identity=lambda order: order.order_id,
    put=lambda table: Stores(table).orders.put_many,
)


def _roster(values: Mapping[str, Any]) -> Roster:
    organization = Organization(values["name"], values["subscription_plan"])
    users = [OrganizationUser(organization.name, *one) for one in values["users"].items()]
    return Roster(organization, users)


ORGANIZATIONS = FileKind(
    name="organizations",
    fields=(
        Field("name", field_parsers.identifier),
        Field("subscription_plan", field_parsers.title),
        Field("users", field_parsers.users),
    ),
    make=_roster,
    identity=lambda roster: roster.organization.name,
    put=lambda table: Stores(table).organizations.put_many,
)


TICKETS = FileKind(
    name="tickets",
    fields=(
        Field("id", field_parsers.identifier),
        Field("organization", field_parsers.identifier),
        Field("username", field_parsers.identifier),
        Field("subject", field_parsers.subject),
        Field("text", field_parsers.body),
        Field("status", field_parsers.choice(TicketStatus)),
        Field("created_at", field_parsers.instant),
    ),
    make=_with_id(Ticket, "ticket_id"),
    identity=lambda ticket: ticket.ticket_id,
    put=lambda table: Stores(table).tickets.put_many,
)


def _profile(values: Mapping[str, Any]) -> tuple[str, Profile]:
    return values["username"], Profile(
        full_name=values.get("full_name", ""), email=values.get("email", "")
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
    make=_profile,
    identity=lambda pair: pair[0],
    put=_put_profiles,
)


def _product(values: Mapping[str, Any]) -> tuple[str, ProductDetails]:
    said = {name: text for name, text in values.items() if name != "id"}
    return values["id"], ProductDetails(**said)


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
    make=_product,
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
