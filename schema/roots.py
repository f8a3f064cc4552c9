"""The root types: every query and mutation, each with its resolver."""

from math import ceil
from typing import Any, ClassVar

import strawberry

from dal import model
from dal.query import pagination
from dal.repositories.leaderboard import RANKS_BYTES
from dal.repositories.orders import OPEN_PAGE_REQUESTS
from features.analytics import questions
from features.analytics import resolvers as analytics
from features.analytics.types import Movers
from features.aspects.resolvers import Aspect
from features.aspects.types import ASPECTS
from features.groups import resolvers as groups
from features.invitations.model import OpenedLink
from features.invitations.types import DUE_INVITATIONS, INVITATION, InvitationMutation
from features.moderation import resolvers as moderation
from features.moderation.block_types import BLOCKED_USERS, BlockMutation
from features.moderation.types import QUEUE, ModerationMutation
from features.photos.types import PhotoMutation
from features.votes.types import VoteMutation
from resolvers import comments, leaderboard, orders, organizations, tickets, users
from resolvers import products as product_resolvers
from resolvers.nodes import Nodes
from schema.comments import Author, Comment, CommentMutation
from schema.costs import KEY, NOTHING, QUESTION, ROW, SEARCH, TWO_KEYS, public
from schema.execution.cost import UNIT_BYTES
from schema.execution.facts import Reads, facts
from schema.leaderboard import LeaderboardConnection
from schema.orders import Order, OrderConnection, OrderMutation
from schema.organizations import Organization, OrganizationMutation
from schema.products import Product, ProductConnection, ProductMutation
from schema.tickets import Ticket, TicketConnection, TicketMutation
from schema.types import Node
from schema.users import User, UserMutation

NODES = Nodes(
    {
        "Product": product_resolvers.load,
        "ProductGroup": groups.load_group,
        "Comment": comments.load,
        "Submission": moderation.submission,
        "Author": users.load_author,
        "User": users.load,
        "Order": orders.load,
        "Organization": organizations.load,
        "OrganizationUser": organizations.load_user,
        "Ticket": tickets.load,
    }
)
"""Loads objects by their global ids."""


@strawberry.type(description="The root of all queries.")
class Query:
    """Binds each root field to its resolver."""

    shared: ClassVar = True
    node: object = strawberry.field(
        resolver=NODES.node,
        graphql_type=Node | None,
        description="Look up an object by global id; null if the object does not exist or is "
        "not visible to the user.",
        # An organisation and its users and tickets also read the viewer's membership.
        metadata=facts(reads=Reads(most_requests=2), public=True),
    )
    nodes: list[object] | None = strawberry.field(
        resolver=NODES.nodes,
        graphql_type=list[Node | None] | None,
        description="Look up objects by global id, in the order of `ids`. The list has null for "
        "each object that does not exist or is not visible to the user.",
        metadata=facts(reads=Reads(most_requests=2), public=True, sized="ids"),  # for each id
    )
    product: Product | None = public(
        resolver=product_resolvers.product,
        description="Look up a product by product id. Every valid id returns a product, even if "
        "the server has no data about it: see `isKnown`.",
    )
    products: list[model.Product] | None = strawberry.field(
        resolver=product_resolvers.products,
        graphql_type=list[Product] | None,
        description="Look up products by product id, in the order of `productIds`. Every valid "
        "id returns a product, even if the server has no data about it: see `isKnown`.",
        metadata=facts(public=True, sized="productIds"),
    )
    product_search: "pagination.Page[model.Product] | None" = strawberry.field(
        resolver=product_resolvers.product_search,
        graphql_type=ProductConnection | None,
        description="Products with titles in which the text begins at a word, sorted by title "
        "from this word on. For example, `kettle 1` finds `Copper kettle 1.7 l`. The search finds "
        "the beginning of a title, and its first ten different words. It ignores case, "
        "punctuation, and whether a character is full-width or half-width, but not accents. It "
        "compares at most 100 characters. A new title may be missing for a moment.",
        metadata=facts(reads=SEARCH, public=True),
    )
    comment: model.Comment | None = strawberry.field(
        resolver=comments.comment,
        graphql_type=Comment | None,
        description="Look up a published comment by comment id; null if there is none.",
        metadata=facts(reads=KEY, public=True),
    )
    aspects: list[Aspect] = ASPECTS
    invitation: OpenedLink | None = INVITATION
    due_invitations: "pagination.Page[Any]" = DUE_INVITATIONS
    moderation_queue: "pagination.Page[Any]" = QUEUE
    blocked_users: "pagination.Page[Any] | None" = BLOCKED_USERS
    author: Author | None = public(
        resolver=users.author,
        description="Look up an author by user name. Every valid name returns an author, even "
        "without comments: see `isKnown`.",
    )
    leaderboard: "pagination.Page[model.ProductRank] | None" = strawberry.field(
        resolver=leaderboard.leaderboard,
        graphql_type=LeaderboardConnection | None,
        description="Products sorted by their number of comments rated 5, highest number first. "
        "Counts comments in one language or in all. A new comment may be missing for some seconds.",
        metadata=facts(
            reads=Reads(2, 0.5, paged=True, further=ceil(RANKS_BYTES / UNIT_BYTES)), public=True
        ),
    )
    viewer: model.User | None = strawberry.field(
        resolver=users.viewer,
        graphql_type=User | None,
        description="The signed-in user, from the request's JWT; null without a JWT.",
        metadata=facts(below={"name": NOTHING}),
    )
    user: model.User | None = strawberry.field(
        resolver=users.user,
        graphql_type=User | None,
        description="Look up a user by user name. Visible to that user and staff; null for "
        "others. Every valid name returns a user, even if the server has no data about the "
        "user: see `isKnown`.",
        metadata=facts(reads=NOTHING),
    )
    order: model.Order | None = strawberry.field(
        resolver=orders.order,
        graphql_type=Order | None,
        description="Look up an order by order id. Visible to its user and staff; null for others.",
        metadata=facts(reads=ROW),
    )
    open_orders: "pagination.Page[model.Order] | None" = strawberry.field(
        resolver=orders.open_orders,
        graphql_type=OrderConnection | None,
        description="All users' orders with the status PLACED, sorted by date. Only for staff.",
        metadata=facts(reads=Reads(OPEN_PAGE_REQUESTS, 0.5, paged=True)),
    )
    organization: model.Organization | None = strawberry.field(
        resolver=organizations.organization,
        graphql_type=Organization | None,
        description="Look up an organisation by name. Visible to its users and staff; null for "
        "others.",
        metadata=facts(reads=TWO_KEYS),
    )
    ticket: model.Ticket | None = strawberry.field(
        resolver=tickets.ticket,
        graphql_type=Ticket | None,
        description="Look up a ticket by ticket id. Visible to the user who opened it, staff, "
        "and the organisation's admins; null for others.",
        metadata=facts(reads=TWO_KEYS),
    )
    open_tickets: "pagination.Page[model.Ticket] | None" = strawberry.field(
        resolver=tickets.open_tickets,
        graphql_type=TicketConnection | None,
        description="Open tickets of all users, sorted by date. Only for staff.",
        metadata=facts(reads=Reads(OPEN_PAGE_REQUESTS, 0.5, paged=True)),
    )
    movers: questions.Movers | None = strawberry.field(
        resolver=analytics.movers,
        graphql_type=Movers | None,
        description="Products with the largest change in mean rating or number of comments "
        "between two periods. The data comes from the last export to the analytics store. Only "
        "for staff.",
        metadata=facts(reads=QUESTION),
    )


@strawberry.type(
    description="The root of all mutations. In each payload, `userErrors` lists every error in "
    "the mutation's input."
)
class Mutation(
    OrganizationMutation,
    TicketMutation,
    CommentMutation,
    ModerationMutation,
    BlockMutation,
    VoteMutation,
    PhotoMutation,
    ProductMutation,
    OrderMutation,
    InvitationMutation,
    UserMutation,
):
    """Binds each mutation to its resolver."""
