"""Object types of users and their orders, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from dal import model, pages
from resolvers import node_ids, orders, products, users
from schema.types import Connection, Node, Product


@strawberry.type(description="So many of one product.")
class OrderLine:
    """Shows dal.model.OrderLine."""

    product_id: str
    product: model.Product = strawberry.field(resolver=products.product_of, graphql_type=Product)
    quantity: int
    unit_price: str = strawberry.field(
        resolver=orders.unit_price,
        description="What one costs: an amount and a currency such as `12.50 EUR`.",
    )


@strawberry.type(description="What a user ordered; seen by that user and by staff.")
class Order(Node):
    """Shows dal.model.Order."""

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell the Node interface whose object ``value`` is."""
        return isinstance(value, model.Order)

    id: strawberry.ID = strawberry.field(resolver=node_ids.order_node_id)
    order_id: str
    status: model.OrderStatus
    created_at: datetime
    user: model.User = strawberry.field(
        resolver=orders.user_of, graphql_type=Annotated["User", strawberry.lazy(__name__)]
    )
    lines: list[OrderLine]
    total: str = strawberry.field(
        resolver=orders.total, description="What all lines cost together, such as `25.00 EUR`."
    )


@strawberry.type(description="One page of a list.")
class OrderConnection(Connection[Order]):
    """Shows dal.pages.Page of orders."""


@strawberry.type(description="What a user says of themselves.")
class UserProfile:
    """Shows dal.model.Profile."""

    full_name: str
    email: str


@strawberry.type(
    description="A user exists by name: any well-formed identifier answers. Seen by that user and "
    "by staff."
)
class User(Node):
    """Shows dal.model.User."""

    @classmethod
    def is_type_of(cls, value: object, _: object) -> bool:
        """Tell the Node interface whose object ``value`` is."""
        return isinstance(value, model.User)

    id: strawberry.ID = strawberry.field(resolver=node_ids.user_node_id)
    username: str
    profile: model.Profile | None = strawberry.field(
        resolver=users.profile, graphql_type=UserProfile | None
    )
    orders: pages.Page[model.Order] = strawberry.field(
        resolver=orders.orders,
        graphql_type=OrderConnection,
        description="The user's orders, newest first; `createdFrom` is included, `createdBefore` "
        "is not, and an empty list of statuses selects nothing.",
    )
