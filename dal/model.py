"""Domain objects: frozen dataclasses that the stores return and the schema shows."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

RATINGS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Product:
    """A product exists by name: any well-formed identifier is one."""

    product_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """What one person said of one product; instants are aware and in UTC."""

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


class OrderStatus(StrEnum):
    """What became of an order."""

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
    """So many of one product, and what one of them costs."""

    product_id: str
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one person ordered: 1 to 90 lines of one currency; the instant is aware and in UTC."""

    order_id: str
    username: str
    status: OrderStatus
    created_at: datetime
    lines: tuple[OrderLine, ...]

    @property
    def total(self) -> Money:
        """What all lines cost together."""
        amounts = (line.quantity * line.unit_price.amount for line in self.lines)
        return Money(sum(amounts, Decimal()), self.lines[0].unit_price.currency)


@dataclass(frozen=True, slots=True)
class User:
    """A user exists by name, as a product does."""

    username: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a user says of themselves."""

    full_name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class ProductRank:
    """A product's place on a leaderboard; ``count`` is of its comments rated 5."""

    product: Product
    count: int
    rank: int | None = None
    """1 for the first; None when it was not asked for."""
