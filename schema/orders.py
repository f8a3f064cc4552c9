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
from schema.errors import USER_ERRORS, UserError


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

    product_id: str = strawberry.field(description="The shop's own id of what was ordered.")
    product: model.Product = strawberry.field(
        resolver=products.product_of, graphql_type=Product, description="What was ordered."
    )
    quantity: int = strawberry.field(description="How many pieces, from 1 to 10,000.")
    unit_price: Money = strawberry.field(description="What one piece costs.")


@strawberry.type(description="What a user ordered; seen by that user and by staff.")
class Order(Node):
    """Shows dal.model.Order."""

    shows: ClassVar = model.Order
    order_id: str = strawberry.field(description="Its own id.")
    status: model.OrderStatus = strawberry.field(description="What has become of it so far.")
    created_at: datetime = strawberry.field(description="When it was placed; lists go by this.")
    user: model.User = strawberry.field(
        resolver=users.user_of,
        graphql_type=Annotated["User", strawberry.lazy("schema.users")],  # noqa: F821 - it imports us
        description="Whose order it is.",
    )
    lines: list[OrderLine] = strawberry.field(
        description="What was ordered, 1 to 90 products in one currency."
    )
    total: Money = strawberry.field(
        description="What all lines cost together: each line's price times its quantity."
    )


@strawberry.type(description="One page of a list.")
class OrderConnection(Connection[Order]):
    """Shows dal.query.pagination.Page of orders."""


@strawberry.type(description="What became of a new order.")
class PlaceOrderPayload:
    """Shows resolvers.orders.OrderPayload."""

    order: Order | None = strawberry.field(description="As it is stored; null if it is not.")
    order_edge: Edge[Order] | None = strawberry.field(description="Ready to be put in a list.")
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="What became of a step of an order.")
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
