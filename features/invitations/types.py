"""The GraphQL types of links and invitations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from dal import model
from dal.model import submissions
from features.invitations import model as invitations
from features.invitations import resolvers
from features.invitations.model import MOST_PRODUCTS
from schema.comments import Comment
from schema.costs import listed
from schema.execution.facts import Reads, facts
from schema.products import Product


@strawberry.type(description="A product of a link, and the comment that was written by the link.")
class InvitationEntry:
    """The GraphQL type of ``features.invitations.model.Entry``."""

    id: strawberry.ID = strawberry.field(
        resolver=resolvers.entry_id,
        description="Id of the entry, for caches. It is not an id for `node`.",
    )
    product: model.Product = strawberry.field(
        resolver=resolvers.product, graphql_type=Product, description="The product."
    )
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
    order_id: strawberry.ID = strawberry.field(
        resolver=resolvers.order_id, description="The shop's order id."
    )
    expires_at: datetime = strawberry.field(
        resolver=resolvers.expires_at, description="Time at which the link expires."
    )
    incentive: str | None = strawberry.field(
        resolver=resolvers.incentive,
        description="What the customer receives for a comment, in the shop's words; null if "
        "nothing. Each comment shows it.",
    )
    entries: list[invitations.Entry] = strawberry.field(
        graphql_type=list[InvitationEntry],
        description="Products of the link. Maximum 20.",
        metadata=facts(reads=listed(3, MOST_PRODUCTS)),
    )


INVITATION = strawberry.field(
    resolver=resolvers.invitation,
    graphql_type=Invitation | None,
    description="The link of the request, from its JWT; null without a link. If the shop has "
    "revoked the link or cancelled the order, an error has the code INVITATION_REVOKED.",
    metadata=facts(reads=Reads(unit=5)),
)
"""The field ``invitation`` of the root."""
