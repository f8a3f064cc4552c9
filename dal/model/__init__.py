"""Domain objects: frozen values that the repositories return and the schema shows.

Times are aware and in UTC. ``username`` is the id of the user who owns an object. ``name`` is the
name that this user had when the object was created.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

RATINGS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Product:
    """A product exists for every valid product id."""

    product_id: str
    details: "ProductDetails | None" = field(default=None, compare=False)
    """None unless requested."""


@dataclass(frozen=True, slots=True)
class ProductDetails:
    """The shop's title, picture and page of a product; empty if unset.

    A URL is https, or a path on this server.
    """

    title: str = ""
    picture_url: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The shop's reply to a comment. Only the server's log has the merchant's name."""

    text: str
    created_at: datetime


class Comment(NamedTuple):
    """A customer's comment on a product.

    A named tuple, since pages build many: a frozen dataclass takes four times as long.
    """

    comment_id: str
    product_id: str
    username: str
    rating: int
    language: str
    title: str
    text: str
    created_at: datetime
    updated_at: datetime | None = None
    verified_purchase: bool = False
    name: str | None = None
    """The author's name when the comment was added; None if it is the username."""
    touched_at: datetime | None = None
    """When a moderator or a load last published the comment, or the shop last removed its reply.
    These are no edits, but each makes another version of the comment for listeners."""
    reply: Reply | None = None
    """The shop's reply. It stays while the comment is not published."""
    votes: int = 0
    """The number of users who found the comment helpful, some seconds late."""
    votes_before: int = 0
    """The number of such users of an earlier shop software, as a file gives it."""

    @property
    def author_name(self) -> str:
        """The name that the comment shows."""
        return self.name or self.username

    @property
    def helpful_count(self) -> int:
        """The number of helpful votes that the comment shows."""
        return self.votes + self.votes_before


@dataclass(frozen=True, slots=True)
class ProductRank:
    """A product's place on a leaderboard; ``count`` is the number of its comments rated 5."""

    product: Product
    count: int
    rank: int | None = None
    """1 for the first; None if not requested or too expensive to count."""


class OrderStatus(StrEnum):
    """The status of an order."""

    PLACED = "PLACED"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in an ISO 4217 currency; as text, ``12.50 EUR``."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"


@dataclass(frozen=True, slots=True)
class OrderLine:
    """An order line: a product, its quantity and unit price."""

    product_id: str
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A user's order: 1 to 90 lines in one currency."""

    order_id: str
    username: str
    status: OrderStatus
    created_at: datetime
    lines: tuple[OrderLine, ...]
    name: str | None = None
    """The customer's name when the order was placed; None if it is the username."""

    @property
    def customer_name(self) -> str:
        """The name that the order shows."""
        return self.name or self.username

    @property
    def total(self) -> Money:
        """The sum of all lines."""
        amounts = (line.quantity * line.unit_price.amount for line in self.lines)
        return Money(sum(amounts, Decimal()), self.lines[0].unit_price.currency)


@dataclass(frozen=True, slots=True)
class User:
    """A user exists for every valid user name."""

    username: str
    name: str | None = field(default=None, compare=False)
    """The name in the viewer's JWT, or the customer's name on the order that led here; else
    None."""


@dataclass(frozen=True, slots=True)
class Author:
    """The public part of a user. An author exists for every valid user name."""

    username: str
    name: str | None = field(default=None, compare=False)
    """The author's name on the comment or ticket that led here; else None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A user's profile."""

    full_name: str = ""
    email: str = ""


class UserType(StrEnum):
    """The role of a user in an organisation."""

    MEMBER = "MEMBER"
    ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class Organization:
    """An organisation with a unique name, and its subscription plan."""

    name: str
    subscription_plan: str


@dataclass(frozen=True, slots=True)
class OrganizationUser:
    """A user of an organisation."""

    organization: str
    username: str
    type: UserType = UserType.MEMBER


@dataclass(frozen=True, slots=True)
class Roster:
    """An organisation with its users. User names are unique."""

    organization: Organization
    users: Sequence[OrganizationUser] = ()


class TicketStatus(StrEnum):
    """The status of a ticket."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A support ticket of an organisation's user."""

    ticket_id: str
    organization: str
    username: str
    subject: str
    text: str
    created_at: datetime
    status: TicketStatus = TicketStatus.OPEN
    name: str | None = None
    """The author's name when the ticket was opened; None if it is the username."""

    @property
    def author_name(self) -> str:
        """The name that the ticket shows."""
        return self.name or self.username
