"""The kinds of rows that a file may hold: each one's fields, and where its objects go.

A new kind is a new entry of ``KINDS`` and ``KindName``.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from dal.comments import CommentStore
from dal.dynamodb import Table
from dal.model import Comment, Order
from dal.orders import OrderStore
from dal.organization_model import Organization, OrganizationUser, Roster, Ticket, TicketStatus
from dal.organizations import OrganizationStore
from dal.tickets import TicketStore
from server.load import cells, order_cells, organization_cells
from server.load.instants import instant

Thing = TypeVar("Thing")

Put = Callable[[Sequence[Thing]], Awaitable[None]]
"""Writes objects of distinct identity over what is there; raises DalError."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a row: how its cell is read, and whether a row can do without it."""

    name: str
    read: Callable[[str, object], object]
    required: bool = True


@dataclass(frozen=True, slots=True)
class Kind(Generic[Thing]):
    """One kind of rows; of two rows with the same ``identity`` the later one stays."""

    name: str
    fields: tuple[Field, ...]
    make: Callable[[Mapping[str, Any]], Thing]
    identity: Callable[[Thing], str]
    put: Callable[[Table], Put[Thing]]


def _comment(values: Mapping[str, Any]) -> Comment:
    values = {"title": "", **values}
    return Comment(comment_id=values.pop("id"), **values)


COMMENTS = Kind(
    name="comments",
    fields=(
        Field("id", cells.identifier),
        Field("product_id", cells.identifier),
        Field("username", cells.identifier),
        Field("rating", cells.rating),
        Field("language", cells.language),
        Field("title", cells.title, required=False),
        Field("text", cells.body),
        Field("created_at", instant),
        Field("updated_at", instant, required=False),
        Field("verified_purchase", cells.boolean, required=False),
    ),
    make=_comment,
    identity=lambda comment: comment.comment_id,
    put=lambda table: CommentStore(table).put_many,
)


def _order(values: Mapping[str, Any]) -> Order:
    values = dict(values)
    return Order(order_id=values.pop("id"), **values)


ORDERS = Kind(
    name="orders",
    fields=(
        Field("id", cells.identifier),
        Field("username", cells.identifier),
        Field("status", order_cells.status),
        Field("created_at", instant),
        Field("lines", order_cells.lines),
    ),
    make=_order,
    identity=lambda order: order.order_id,
    put=lambda table: OrderStore(table).put_many,
)


def _roster(values: Mapping[str, Any]) -> Roster:
    organization = Organization(values["name"], values["plan"])
    users = [OrganizationUser(organization.name, *one) for one in values["users"].items()]
    return Roster(organization, users)


ORGANIZATIONS = Kind(
    name="organizations",
    fields=(
        Field("name", cells.identifier),
        Field("plan", cells.title),
        Field("users", organization_cells.users),
    ),
    make=_roster,
    identity=lambda roster: roster.organization.name,
    put=lambda table: OrganizationStore(table).put_many,
)


def _ticket(values: Mapping[str, Any]) -> Ticket:
    values = dict(values)
    return Ticket(ticket_id=values.pop("id"), **values)


TICKETS = Kind(
    name="tickets",
    fields=(
        Field("id", cells.identifier),
        Field("organization", cells.identifier),
        Field("username", cells.identifier),
        Field("subject", cells.title),
        Field("text", cells.body),
        Field("status", cells.choice(TicketStatus)),
        Field("created_at", instant),
    ),
    make=_ticket,
    identity=lambda ticket: ticket.ticket_id,
    put=lambda table: TicketStore(table).put_many,
)

KindName = Literal["comments", "orders", "organizations", "tickets"]

KINDS: Mapping[KindName, Kind[Any]] = {
    "comments": COMMENTS,
    "orders": ORDERS,
    "organizations": ORGANIZATIONS,
    "tickets": TICKETS,
}
