"""Domain objects: frozen dataclasses that the repositories return and the schema shows."""

from dal.model.comments import RATINGS, Comment, Product, ProductRank
from dal.model.orders import Money, Order, OrderLine, OrderStatus
from dal.model.organizations import Organization, OrganizationUser, Roster, UserType
from dal.model.tickets import Ticket, TicketStatus
from dal.model.users import Profile, User

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
    "ProductRank",
    "Profile",
    "Roster",
    "Ticket",
    "TicketStatus",
    "User",
    "UserType",
]
