"""The root of all mutations; each subject's module binds its own."""

from __future__ import annotations

import strawberry

from schema.comments import CommentMutation, ProductMutation
from schema.orders import OrderMutation
from schema.organizations import OrganizationMutation
from schema.tickets import TicketMutation
from schema.users import UserMutation


@strawberry.type(
    description="The root of all mutations. `userErrors` of a payload lists every validation error."
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
