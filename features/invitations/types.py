"""The GraphQL types of links and invitations."""

from datetime import datetime
from typing import Annotated, Any

import strawberry

from dal import model
from dal.model import submissions
from dal.model.rules import MAX_LINES
from features.invitations import resolvers
from features.invitations.model import MOST_PRODUCTS
from features.invitations.repository import QUEUE_REQUESTS
from schema.comments import Comment
from schema.costs import listed, mutation
from schema.execution.facts import Reads, facts
from schema.products import Product
from schema.types import USER_ERRORS, Connection, UserError


@strawberry.type(description="A product of a link, and the comment that was written by the link.")
class InvitationEntry:
    """The GraphQL type of ``features.invitations.model.Entry``."""

    id: strawberry.ID = strawberry.field(
        resolver=resolvers.entry_id,
        description="Id of the entry, for caches. It is not an id for `node`.",
    )
    product: Product = strawberry.field(description="The product.")
    comment: Comment | None = strawberry.field(
        description="The published comment; null if it is not written or not published."
    )
    submission: submissions.Submission | None = strawberry.field(
        graphql_type=Annotated["Submission", strawberry.lazy("features.moderation.types")] | None,
        description="The unpublished comment, which `updateComment` can edit; null if it is not "
        "written, or is published.",
    )


@strawberry.type(
    description="A link that permits one comment on each of its products, without an account."
)
class Invitation:
    """The GraphQL type of ``features.invitations.model.OpenedLink``."""

    id: strawberry.ID = strawberry.field(
        resolver=resolvers.invitation_id,
        description="Id of the invitation, for caches. It is not an id for `node`.",
    )
    order_id: strawberry.ID = strawberry.field(description="The shop's order id.")
    expires_at: datetime = strawberry.field(description="Time at which the link expires.")
    incentive: str | None = strawberry.field(
        description="What the customer receives for a comment, in the shop's words; null if "
        "nothing. Each comment shows it.",
    )
    entries: list[InvitationEntry] = strawberry.field(
        description="Products of the link. Maximum 20.",
        metadata=facts(reads=listed(3, MOST_PRODUCTS)),
    )


@strawberry.type(description="A delivered order whose customer waits for a link.")
class DueInvitation:
    """The GraphQL type of ``features.invitations.model.Invitation``."""

    id: strawberry.ID = strawberry.field(
        resolver=resolvers.due_id,
        description="Id of the row, for caches. Payloads return it as `dueInvitationId`. It is "
        "not an id for `node`.",
    )
    order_id: strawberry.ID = strawberry.field(description="Order id.")
    username: str = strawberry.field(description="User name of the customer.")
    products: list[model.Product] = strawberry.field(
        resolver=resolvers.products,
        graphql_type=list[Product],
        description="Products of the order, each once.",
        metadata=facts(reads=listed(3, MAX_LINES)),
    )
    delivered_at: datetime = strawberry.field(
        description="Time of the delivery, at which the row was created. The list is sorted by "
        "this time."
    )


@strawberry.type(description="A page of due invitations.")
class DueInvitationConnection(Connection[DueInvitation]):
    """The GraphQL type of ``dal.query.pagination.Page`` of invitations."""


@strawberry.type(
    description="An address that the shop sends to a customer. It permits one comment on each of "
    "its products, without an account."
)
class InvitationLink:
    """The GraphQL type of ``features.invitations.links.SignedLink``."""

    url: str = strawberry.field(
        description="Address of the page `/review`. Every visitor with the address can use it, so "
        "send it only to the customer."
    )
    products: list[model.Product] = strawberry.field(
        resolver=resolvers.products,
        graphql_type=list[Product],
        description="Products of the link. Maximum 20.",
        metadata=facts(reads=listed(3, MOST_PRODUCTS)),
    )
    expires_at: datetime = strawberry.field(description="Time at which the link expires.")


_DUE_INVITATION_ID = (
    "`id` of the order's row in `dueInvitations`. Remove the row from cached lists. Null on errors."
)


@strawberry.type(description="Result of `createInvitation`.")
class CreateInvitationPayload:
    """The GraphQL type of what ``features.invitations.resolvers.create_invitation`` returns."""

    links: list[InvitationLink] = strawberry.field(
        description="Links for all products of the order: one for each 20 products, or more if ids "
        "are long. Empty on errors.",
        metadata=facts(reads=listed(1, MAX_LINES)),
    )
    due_invitation_id: strawberry.ID | None = strawberry.field(description=_DUE_INVITATION_ID)
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `revokeInvitation`.")
class RevokeInvitationPayload:
    """The GraphQL type of what ``features.invitations.resolvers.revoke_invitation`` returns."""

    due_invitation_id: strawberry.ID | None = strawberry.field(description=_DUE_INVITATION_ID)
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class InvitationMutation:
    """Binds each mutation to its resolver."""

    create_invitation: CreateInvitationPayload | None = mutation(
        resolver=resolvers.create_invitation,
        description="Make links with which the customer of an order comments on its products "
        "without an account, and remove the order from `dueInvitations`. The server sends no mail. "
        "Earlier links of the order stay valid. Only for staff.",
    )
    revoke_invitation: RevokeInvitationPayload | None = mutation(
        resolver=resolvers.revoke_invitation,
        description="End all links of an order that were made until now, and remove the order "
        "from `dueInvitations`. Comments that the links have written stay. Only for staff.",
    )


DUE_INVITATIONS: Any = strawberry.field(
    resolver=resolvers.due_invitations,
    graphql_type=DueInvitationConnection | None,
    description="Delivered orders whose customers wait for a link, longest waiting first. A new "
    "row may be missing for a moment. Only for staff.",
    metadata=facts(reads=Reads(QUEUE_REQUESTS, 0.5, paged=True)),
)
"""The field ``dueInvitations`` of the root."""

INVITATION = strawberry.field(
    resolver=resolvers.invitation,
    graphql_type=Invitation | None,
    description="The link of the request, from its JWT; null without a link. If the shop has "
    "revoked the link or cancelled the order, an error has the code INVITATION_REVOKED.",
    metadata=facts(reads=Reads(unit=6)),
)
"""The field ``invitation`` of the root."""
