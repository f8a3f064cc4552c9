"""The root types: every query, mutation and subscription, each with its resolver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import strawberry

from dal import model
from dal.analytics import questions
from dal.live import changes
from dal.model import standings
from dal.query import pagination
from resolvers import (
    analytics,
    blocks,
    comments,
    moderation,
    orders,
    organizations,
    tickets,
    users,
)
from resolvers import nodes as node_resolvers
from resolvers import products as product_resolvers
from schema.accounts import (
    Organization,
    OrganizationMutation,
    Ticket,
    TicketConnection,
    TicketMutation,
    User,
    UserMutation,
)
from schema.comments import (
    Author,
    Comment,
    CommentEvent,
    CommentMutation,
    LeaderboardConnection,
    Product,
    ProductConnection,
    ProductMutation,
)
from schema.moderation import BlockedUserConnection, ModerationMutation, ModerationQueueConnection
from schema.orders import Order, OrderConnection, OrderMutation
from schema.photos import PhotoMutation
from schema.statistics import Movers
from schema.types import Node
from schema.votes import VoteMutation


@strawberry.type(description="The root of all queries.")
class Query:
    """Binds each root field to its resolver."""

    node: node_resolvers.AnyNode | None = strawberry.field(
        resolver=node_resolvers.node,
        graphql_type=Node | None,
        description="Look up an object by global id.",
    )
    nodes: list[node_resolvers.Found] | None = strawberry.field(
        resolver=node_resolvers.nodes,
        graphql_type=list[Node | None] | None,
        description="Look up objects by global id, in the order of the ids; null for each object "
        "that does not exist.",
    )
    product: model.Product | None = strawberry.field(
        resolver=product_resolvers.product,
        graphql_type=Product | None,
        description="Look up a product and its comments. Every valid product id returns a product; "
        "see `isKnown`.",
    )
    products: list[model.Product] | None = strawberry.field(
        resolver=product_resolvers.products,
        graphql_type=list[Product] | None,
        description="Look up products, in the order of the ids. Every valid product id returns a "
        "product; see `isKnown`.",
    )
    product_search: pagination.Page[model.Product] | None = strawberry.field(
        resolver=product_resolvers.product_search,
        graphql_type=ProductConnection | None,
        description="Products whose title begins with a text, sorted by title. The search ignores "
        "case, character width and repeated spaces, but not accents. It compares the first 100 "
        "characters. New titles may take a moment to appear.",
    )
    comment: model.Comment | None = strawberry.field(
        resolver=comments.comment,
        graphql_type=Comment | None,
        description="Look up a comment by comment id; null if it does not exist.",
    )
    moderation_queue: pagination.Page[Any] = strawberry.field(
        resolver=moderation.queue,
        graphql_type=ModerationQueueConnection | None,
        description="Comments that wait for a moderator, or have reports, longest waiting first. "
        "For moderators.",
    )
    blocked_users: pagination.Page[standings.Block] | None = strawberry.field(
        resolver=blocks.blocked_users,
        graphql_type=BlockedUserConnection | None,
        description="Blocked users, latest block first. A new block may take a moment to "
        "appear. For moderators.",
    )
    author: model.Author | None = strawberry.field(
        resolver=users.author,
        graphql_type=Author | None,
        description="Look up an author and their comments. Every valid user name returns an "
        "author; see `isKnown`.",
    )
    leaderboard: pagination.Page[model.ProductRank] | None = strawberry.field(
        resolver=product_resolvers.leaderboard,
        graphql_type=LeaderboardConnection | None,
        description="Products with the most comments rated 5, in one language or in all. New "
        "comments may take seconds to appear.",
    )
    viewer: model.User | None = strawberry.field(
        resolver=users.viewer,
        graphql_type=User | None,
        description="The JWT's user; null without a JWT.",
    )
    user: model.User | None = strawberry.field(
        resolver=users.user,
        graphql_type=User | None,
        description="Look up a user. For that user and staff. Every valid user name returns a "
        "user; see `isKnown`.",
    )
    order: model.Order | None = strawberry.field(
        resolver=orders.order,
        graphql_type=Order | None,
        description="Look up an order. For its user and staff.",
    )
    open_orders: pagination.Page[model.Order] | None = strawberry.field(
        resolver=orders.open_orders,
        graphql_type=OrderConnection | None,
        description="All users' orders with status PLACED. For staff.",
    )
    organization: model.Organization | None = strawberry.field(
        resolver=organizations.organization,
        graphql_type=Organization | None,
        description="Look up an organisation. For its users and staff.",
    )
    ticket: model.Ticket | None = strawberry.field(
        resolver=tickets.ticket,
        graphql_type=Ticket | None,
        description="Look up a ticket. For its author, staff, and the organisation's admins.",
    )
    open_tickets: pagination.Page[model.Ticket] | None = strawberry.field(
        resolver=tickets.open_tickets,
        graphql_type=TicketConnection | None,
        description="All users' open tickets. For staff.",
    )
    movers: questions.Movers | None = strawberry.field(
        resolver=analytics.movers,
        graphql_type=Movers | None,
        description="Products with the largest changes between two periods, from the analytics "
        "store. For staff.",
    )


@strawberry.type(
    description="The root of all mutations. `userErrors` of a payload lists every validation error."
)
class Mutation(
    OrganizationMutation,
    TicketMutation,
    CommentMutation,
    ModerationMutation,
    VoteMutation,
    PhotoMutation,
    ProductMutation,
    OrderMutation,
    UserMutation,
):
    """Binds each mutation to its resolver."""


@strawberry.type(description="The root of all subscriptions.")
class Subscription:
    """The root of all subscriptions."""

    comment_events: AsyncIterator[changes.CommentEvent] = strawberry.subscription(
        resolver=comments.comment_events,
        graphql_type=CommentEvent | None,
        description="Changes of the list `Product.comments` with the same arguments. To read the "
        "list only once, pass the first page's `eventCursor` as `after`. Served by WebSocket "
        "(graphql-transport-ws) and server-sent events.",
    )
