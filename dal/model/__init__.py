"""Domain objects: immutable values that repositories return and the GraphQL schema exposes.

Times have the time zone UTC. ``username`` is the id of the user who owns an object. An object with
a ``username`` can also have a ``name``: the display name of this user when the object was created.
``own_id`` is unique among the objects of a class.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from dal.table.key_parts import escape

RATINGS = (1, 2, 3, 4, 5)

POSITIVE, NEGATIVE = frozenset({4, 5}), frozenset({1, 2})
"""The ratings of positive and of critical comments."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product. Every valid product id has a product, even if the table has no data about it."""

    product_id: str
    details: "ProductDetails | None" = field(default=None, compare=False)
    """None if the request did not read the details."""

    own_id = property(attrgetter("product_id"))
    """The object's id."""


@dataclass(frozen=True, slots=True)
class ProductDetails:
    """A product's title, picture, page in the shop, group, and identifiers in trade.

    A value that is not set is empty.

    ``picture_url`` and ``url`` are https URLs or paths on this server.
    """

    title: str = ""
    picture_url: str = ""
    url: str = ""
    group: str | None = ""
    """The id of the product's group; empty if the product has no group. None occurs only in rows of
    loaded files: a load then keeps the product's stored group."""
    gtin: str = ""
    """The Global Trade Item Number, the digits of the barcode."""
    brand: str = ""
    mpn: str = ""
    """The manufacturer's part number."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The shop's reply to a comment. Only the server's log names the merchant who wrote it."""

    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Photo:
    """A customer's photo of a product: an https URL, and a text for users who cannot see photos."""

    url: str
    alt: str = ""


class CommentSource(StrEnum):
    """Where a comment comes from."""

    SITE = "SITE"
    INVITATION = "INVITATION"
    IMPORT = "IMPORT"


@dataclass(frozen=True, slots=True)
class AspectRating:
    """A customer's rating of one aspect of a product, such as ``fit``, from 1 to 5."""

    name: str
    rating: int


class Comment(NamedTuple):
    """A customer's comment on a product.

    The class is a named tuple, because the server creates many of these objects for each page.
    Creating a frozen dataclass takes four times as long.
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
    """The author's display name when the comment was added; None if it equals the username."""
    touched_at: datetime | None = None
    """The time of the last change that subscriptions must send, although it is neither an edit nor
    a reply: a moderator or a load published the comment, or the shop's reply was removed. None if
    there was no such change."""
    reply: Reply | None = None
    """The shop's reply. The server keeps the reply while the comment is not published."""
    votes: int = 0
    """The number of users who found the comment helpful. The number may be some seconds old."""
    votes_before: int = 0
    """The number of helpful votes that the comment had in the shop's earlier software. This number
    comes from a loaded file."""
    photos: tuple[Photo, ...] = ()
    source: CommentSource = CommentSource.SITE
    incentive: str | None = None
    """What the author received for writing the comment, in the shop's words. Empty if only the fact
    is known. None without an incentive."""
    aspects: tuple[AspectRating, ...] = ()
    """The ratings of aspects, with different names."""

    @property
    def own_id(self) -> str:
        """The object's id."""
        return self.comment_id

    @property
    def incentivized(self) -> bool:
        """Whether the author received something for writing the comment."""
        return self.incentive is not None

    @property
    def content(self) -> object:
        """The content on which a moderator decides: title, text and photos."""
        return self.title, self.text, self.photos

    @property
    def author_name(self) -> str:
        """The author's name as shown with the comment."""
        return self.name or self.username

    @property
    def helpful_count(self) -> int:
        """The number of helpful votes that the comment shows."""
        return self.votes + self.votes_before


@dataclass(frozen=True, slots=True)
class ProductRank:
    """A product's place on a leaderboard. ``count`` is the product's number of 5-star comments."""

    product: Product
    count: int
    rank: int | None = None
    """1 for the first product. None if the client did not request the rank, or if counting the
    products before this one would cost too much."""


class OrderStatus(StrEnum):
    """The status of an order."""

    PLACED = "PLACED"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of money in an ISO 4217 currency. ``str`` returns a text such as ``12.50 EUR``."""

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
    """A user's order of 1 to 90 lines in one currency."""

    order_id: str
    username: str
    status: OrderStatus
    created_at: datetime
    lines: tuple[OrderLine, ...]
    name: str | None = None
    """The customer's display name when the order was placed; None if it equals the username."""

    own_id = property(attrgetter("order_id"))
    """The object's id."""

    @property
    def customer_name(self) -> str:
        """The customer's name as shown with the order."""
        return self.name or self.username

    @property
    def total(self) -> Money:
        """The sum of all lines."""
        amounts = (line.quantity * line.unit_price.amount for line in self.lines)
        return Money(sum(amounts, Decimal()), self.lines[0].unit_price.currency)


@dataclass(frozen=True, slots=True)
class User:
    """A user. Every valid user name has a user, even if the table has no data about the user."""

    username: str
    name: str | None = field(default=None, compare=False)
    """The display name. The viewer's name is from the JWT, and the name of an order's customer is
    from the order. All other users have None."""

    own_id = property(attrgetter("username"))
    """The object's id."""


@dataclass(frozen=True, slots=True)
class Author:
    """The public part of a user. Every valid user name has an author."""

    username: str
    name: str | None = field(default=None, compare=False)
    """The display name from the comment or ticket through which the client reached the author. None
    if the client read the author by id."""

    own_id = property(attrgetter("username"))
    """The object's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A user's full name and e-mail address. A value that is not set is empty."""

    full_name: str = ""
    email: str = ""


class UserType(StrEnum):
    """The role of a user in an organisation."""

    MEMBER = "MEMBER"
    ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class Organization:
    """An organisation: a unique name and a subscription plan."""

    name: str
    subscription_plan: str

    own_id = property(attrgetter("name"))
    """The object's id."""


@dataclass(frozen=True, slots=True)
class OrganizationUser:
    """A user's membership in an organisation, with the user's role."""

    organization: str
    username: str
    type: UserType = UserType.MEMBER

    @property
    def own_id(self) -> str:
        """Organisation and username, each percent-encoded."""
        return f"{escape(self.organization)}/{escape(self.username)}"


@dataclass(frozen=True, slots=True)
class Roster:
    """An organisation and its users. The users' names are distinct."""

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
    """The author's display name when the ticket was opened; None if it equals the username."""

    own_id = property(attrgetter("ticket_id"))
    """The object's id."""

    @property
    def author_name(self) -> str:
        """The author's name as shown with the ticket."""
        return self.name or self.username
