"""The root of all queries."""

from __future__ import annotations

import strawberry

from analytics import questions
from dal import model
from dal.query import pagination
from resolvers import (
    analytics,
    authors,
    comments,
    leaderboard,
    orders,
    organizations,
    products,
    tickets,
    users,
)
from resolvers import nodes as node_resolvers
from schema.analytics import Movers
from schema.comments import Author, Comment, Product
from schema.connections import Node
from schema.leaderboard import LeaderboardConnection
from schema.orders import Order, OrderConnection
from schema.organizations import Organization
from schema.tickets import Ticket
from schema.users import User


@strawberry.type(description="What can be read.")
class Query:
    """Binds each root field to its resolver."""

    node: node_resolvers.AnyNode | None = strawberry.field(
        resolver=node_resolvers.node,
        graphql_type=Node | None,
        description="Any object by its global id.",
    )
    nodes: list[node_resolvers.Found] | None = strawberry.field(
        resolver=node_resolvers.nodes,
        graphql_type=list[Node | None] | None,
        description="Objects by their global ids, in the same order; null for a miss.",
    )
    product: model.Product | None = strawberry.field(
        resolver=products.product,
        graphql_type=Product | None,
        description="A product with its comments. It need not be known here: any id answers.",
    )
    comment: model.Comment | None = strawberry.field(
        resolver=comments.comment,
        graphql_type=Comment | None,
        description="A comment by its own id; null if it is not there.",
    )
    author: model.User | None = strawberry.field(
        resolver=authors.author,
        graphql_type=Author | None,
        description="Somebody who comments. Nobody need have commented under a name: any answers.",
    )
    leaderboard: pagination.Page[model.ProductRank] | None = strawberry.field(
        resolver=leaderboard.leaderboard,
        graphql_type=LeaderboardConnection | None,
        description="The products with the most comments rated 5, in one language or in any. It "
        "follows what is written within seconds.",
    )
    viewer: model.User | None = strawberry.field(
        resolver=users.viewer,
        graphql_type=User | None,
        description="Whoever the JWT of the request names; null where it has none.",
    )
    user: model.User | None = strawberry.field(
        resolver=users.user,
        graphql_type=User | None,
        description="A user, for that user and for staff.",
    )
    order: model.Order | None = strawberry.field(
        resolver=orders.order,
        graphql_type=Order | None,
        description="An order with its lines, for its user and for staff.",
    )
    open_orders: pagination.Page[model.Order] | None = strawberry.field(
        resolver=orders.open_orders,
        graphql_type=OrderConnection | None,
        description="Everyone's orders that are PLACED; for staff.",
    )
    organization: model.Organization | None = strawberry.field(
        resolver=organizations.organization,
        graphql_type=Organization | None,
        description="An organisation, for its users and for staff.",
    )
    ticket: model.Ticket | None = strawberry.field(
        resolver=tickets.ticket,
        graphql_type=Ticket | None,
        description="A ticket, for who opened it, for admins of the organisation and for staff.",
    )
    movers: questions.Movers | None = strawberry.field(
        resolver=analytics.movers,
        graphql_type=Movers | None,
        description="The products whose comments changed most between two periods, from the "
        "analytics store; for staff.",
    )
