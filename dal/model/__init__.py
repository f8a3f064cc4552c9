"""Domain objects: frozen dataclasses that the repositories return and the schema shows."""

from dal.model.comments import RATINGS, Comment, Product, ProductDetails, ProductRank
from dal.model.orders import Money, Order, OrderLine, OrderStatus, Profile, User
from dal.model.organizations import (
    Organization,
    OrganizationUser,
    Roster,
    Ticket,
    TicketStatus,
    UserType,
)

__all__ = [
    "RATINGS",
    "Comment",
    "Money",
    "Order",
    "OrderLine",
    "OrderStatus",
    "Organization",
    "OrganizationUser",
    "Product",
    "ProductDetails",
    "ProductRank",
    "Profile",
    "Roster",
    "Ticket",
    "TicketStatus",
    "User",
    "UserType",
]
