"""Orders, shown straight from the domain objects."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, ClassVar

import strawberry

from dal import model
from resolvers import orders, products, users
from schema.comments import Product
from schema.connections import Connection, Edge, Node
from schema.errors import UserError


@strawberry.type(description="An amount of one currency.")
class Money:
    """Shows dal.model.Money."""

    amount: Decimal = strawberry.field(
        description="In as many decimal places as the currency has: `12.50` of EUR, `1250` of JPY."
    )
    currency: orders.CurrencyCode = strawberry.field(
        name="currencyCode", description="What the amount is of, such as `EUR`."
    )


@strawberry.type(description="So many of one product.")
class OrderLine:
    """Shows dal.model.OrderLine."""

    product_id: str
    product: model.Product = strawberry.field(resolver=products.product_of, graphql_type=Product)
    quantity: int
    unit_price: Money = strawberry.field(description="What one piece costs.")


@strawberry.type(description="What a user ordered; seen by that user and by staff.")
class Order(Node):
    """Shows dal.model.Order."""

    shows: ClassVar = model.Order
    order_id: str
    status: model.OrderStatus
    created_at: datetime
    user: model.User = strawberry.field(
        resolver=users.user_of,
        graphql_type=Annotated["User", strawberry.lazy("schema.users")],  # noqa: F821 - it imports us
    )
    lines: list[OrderLine]
    total: Money = strawberry.field(
        description="What all lines cost together: each line's price times its quantity."
    )


@strawberry.type(description="One page of a list.")
class OrderConnection(Connection[Order]):
    """Shows dal.query.pagination.Page of orders."""


@strawberry.type
class PlaceOrderPayload:
    """Shows resolvers.orders.OrderPayload."""

    order: Order | None
    order_edge: Edge[Order] | None = strawberry.field(description="Ready to be put in a list.")
    user_errors: list[UserError]


@strawberry.type
class SetOrderStatusPayload(PlaceOrderPayload):
    """Shows resolvers.orders.OrderPayload."""


@strawberry.type
class OrderMutation:
    """Binds each mutation to its resolver."""

    place_order: orders.OrderPayload | None = strawberry.mutation(
        resolver=orders.place_order,
        graphql_type=PlaceOrderPayload | None,
        description="Place an order of a user, as staff: prices are the shop's word, so this "
        "is for its own server and not for a browser.",
    )
    set_order_status: orders.OrderPayload | None = strawberry.mutation(
        resolver=orders.set_order_status,
        graphql_type=SetOrderStatusPayload | None,
        description="From PLACED to SHIPPED to DELIVERED, or from PLACED to CANCELLED. Customers "
        "may cancel their own orders; the rest is up to staff.",
    )
