"""The root of all mutations; each subject's module binds its own."""

from __future__ import annotations

import strawberry

from schema.comments import CommentMutation, ProductMutation
from schema.orders import OrderMutation
from schema.organizations import OrganizationMutation
from schema.tickets import TicketMutation
from schema.users import UserMutation


@strawberry.type(
    description="What can be changed. Payloads list in `userErrors` what the input has wrong."
)
class Mutation(
    OrganizationMutation,
    TicketMutation,
    CommentMutation,
    ProductMutation,
    OrderMutation,
    UserMutation,
):
    """Binds each mutation to its resolver."""
