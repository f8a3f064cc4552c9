"""Users, their profiles, and their orders."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


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
    """A user's order: 1 to 90 lines in one currency. The time is aware and in UTC."""

    order_id: str
    username: str
    status: OrderStatus
    created_at: datetime
    lines: tuple[OrderLine, ...]

    @property
    def total(self) -> Money:
        """The sum of all lines."""
        amounts = (line.quantity * line.unit_price.amount for line in self.lines)
        return Money(sum(amounts, Decimal()), self.lines[0].unit_price.currency)


@dataclass(frozen=True, slots=True)
class User:
    """A user exists for every valid user name."""

    username: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A user's profile."""

    full_name: str = ""
    email: str = ""
