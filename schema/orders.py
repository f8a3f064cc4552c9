"""The GraphQL types of orders."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, ClassVar

import strawberry

from dal import model
from dal.model.rules import MAX_LINES
from resolvers import orders, products, users
from schema.costs import NOTHING, listed, mutation
from schema.execution.facts import facts
from schema.products import Product
from schema.types import USER_ERRORS, Connection, Edge, Node, UserError, show_enum

show_enum(
    model.OrderStatus,
    "Status of an order.",
    PLACED="Placed, but not yet shipped or cancelled.",
    SHIPPED="Shipped to the user.",
    DELIVERED="Delivered. If the user then comments on a product of the order, the comment has "
    "`verifiedPurchase`.",
    CANCELLED="Cancelled before shipping.",
)


@strawberry.type(description="An amount of money in a currency.")
class Money:
    """The GraphQL type of ``dal.model.Money``."""

    amount: Decimal = strawberry.field(
        description="Amount with the currency's number of decimal places: `12.50` for EUR, `1250` "
        "for JPY."
    )
    currency: orders.CurrencyCode = strawberry.field(
        name="currencyCode", description="Currency of the amount, such as `EUR`."
    )


@strawberry.type(description="An order line: a product, its quantity and unit price.")
class OrderLine:
    """The GraphQL type of ``dal.model.OrderLine``."""

    product_id: strawberry.ID = strawberry.field(description="The shop's product id.")
    product: model.Product = strawberry.field(
        resolver=products.product_of, graphql_type=Product, description="The product ordered."
    )
    quantity: int = strawberry.field(description="Quantity from 1 to 10,000.")
    unit_price: Money = strawberry.field(description="Price of one piece.")


@strawberry.type(description="A user's order. Visible to that user and staff.")
class Order(Node):
    """The GraphQL type of ``dal.model.Order``."""

    shows: ClassVar = model.Order
    order_id: strawberry.ID = strawberry.field(description="Order id.")
    status: model.OrderStatus = strawberry.field(description="Current status.")
    created_at: datetime = strawberry.field(
        description="Time at which the order was placed. Lists of orders are sorted by this time."
    )
    user: model.User = strawberry.field(
        resolver=users.user_of,
        graphql_type=Annotated["User", strawberry.lazy("schema.users")],
        description="The user to whom the order belongs.",
        metadata=facts(below={"name": NOTHING}),
    )
    customer_name: str = strawberry.field(
        description="Display name of the user when the order was placed."
    )
    lines: list[OrderLine] = strawberry.field(
        description="Order lines: 1 to 90, all in one currency.",
        metadata=facts(reads=listed(5, MAX_LINES)),
    )
    total: Money = strawberry.field(
        description="Total price: the sum of quantity times unit price over all lines."
    )


@strawberry.type(description="A page of orders.")
class OrderConnection(Connection[Order]):
    """The GraphQL type of ``dal.query.pagination.Page`` of orders."""


@strawberry.type(description="Result of `placeOrder`.")
class PlaceOrderPayload:
    """The GraphQL type of what ``resolvers.orders.place_order`` returns."""

    order: Order | None = strawberry.field(description="The stored order; null on errors.")
    order_edge: Edge[Order] | None = strawberry.field(
        description="The order's edge. Insert the edge into cached lists instead of reading them "
        "again, because lists may lack the change for a moment. Null on errors.",
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type(description="Result of `setOrderStatus`.")
class SetOrderStatusPayload(PlaceOrderPayload):
    """The GraphQL type of what ``resolvers.orders.set_order_status`` returns."""


@strawberry.type
class OrderMutation:
    """Binds each mutation to its resolver."""

    place_order: PlaceOrderPayload | None = mutation(
        resolver=orders.place_order,
        description="Place an order for a user. Only for staff, so that the shop's server, and not "
        "the customer, sets the prices.",
    )
    set_order_status: SetOrderStatusPayload | None = mutation(
        resolver=orders.set_order_status,
        description="Change an order's status from PLACED to SHIPPED or CANCELLED, or from "
        "SHIPPED to DELIVERED. Only for staff, but users may cancel their own orders.",
    )
