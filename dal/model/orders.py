"""Users, their profiles, and their orders."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


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
