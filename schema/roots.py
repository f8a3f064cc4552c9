"""The roots: every query, mutation and subscription, each bound to its resolver."""

from __future__ import annotations

from collections.abc import AsyncIterator

import strawberry

from dal import model
from dal.analytics import questions
from dal.live import changes
from dal.query import pagination
from resolvers import (
    analytics,
    comments,
    orders,
    organizations,
    products,
    tickets,
    users,
)
from resolvers import nodes as node_resolvers
from schema.analytics import Movers
from schema.comments import (
    Author,
    Comment,
    CommentEvent,
    CommentMutation,
    LeaderboardConnection,
    Product,
    ProductMutation,
)
from schema.orders import Order, OrderConnection, OrderMutation
from schema.organizations import Organization, OrganizationMutation
from schema.tickets import Ticket, TicketMutation
from schema.types import Node
from schema.users import User, UserMutation


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
        description="Look up objects by global id, in the same order; null for each that does not "
        "exist.",
    )
    product: model.Product | None = strawberry.field(
        resolver=products.product,
        graphql_type=Product | None,
        description="Look up a product and its comments. Every valid product id returns a product.",
    )
    comment: model.Comment | None = strawberry.field(
        resolver=comments.comment,
        graphql_type=Comment | None,
        description="Look up a comment by comment id; null if it does not exist.",
    )
    author: model.User | None = strawberry.field(
        resolver=users.author,
        graphql_type=Author | None,
        description="Look up an author and their comments. Every valid user name returns an "
        "author.",
    )
    leaderboard: pagination.Page[model.ProductRank] | None = strawberry.field(
        resolver=products.leaderboard,
        graphql_type=LeaderboardConnection | None,
        description="Products with the most comments rated 5, in one language or in all. Lags "
        "writes by seconds.",
    )
    viewer: model.User | None = strawberry.field(
        resolver=users.viewer,
        graphql_type=User | None,
        description="The JWT's user; null without a JWT.",
    )
    user: model.User | None = strawberry.field(
        resolver=users.user,
        graphql_type=User | None,
        description="Look up a user. For that user and staff.",
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
        description="Look up a ticket. For its author, the organisation's admins and staff.",
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
        description="Changes of the list `Product.comments` with the same arguments, from now on "
        "or after the event `after`. Served by WebSocket (graphql-transport-ws) and server-sent "
        "events.",
    )
