"""Orders: a user's orders, all open orders, an order by its id, and mutations of orders."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, NewType, Unpack

import strawberry

from dal.model import Money, Order, OrderLine, OrderStatus, User, rules
from dal.query.pagination import Page
from dal.repositories.orders import OrderSelection
from resolvers.authorization import (
    STAFF,
    is_staff,
    may_set_status,
    require_role,
    require_viewer,
    sees_own,
)
from resolvers.mutations import Fields, Rule, checked, checked_each, new_id, reported
from resolvers.node_ids import own_id_of, plain_account, plain_id
from resolvers.selection import (
    DatedArguments,
    Info,
    Input,
    Statuses,
    dated_slice,
    with_arguments,
)

CurrencyCode = NewType("CurrencyCode", str)
"""A GraphQL scalar: three capital letters."""


@strawberry.input(description="An amount of money in a currency.")
class MoneyInput:
    """An amount of money in a currency."""

    amount: Decimal = strawberry.field(
        description="Amount of 0 or more. It must not have more decimal places than the currency."
    )
    currency_code: CurrencyCode = strawberry.field(
        description="ISO 4217 code of the currency, such as `EUR`."
    )


@strawberry.input(description="An order line: a product, its quantity and unit price.")
class OrderLineInput:
    """An order line: a product, its quantity and unit price."""

    product_id: strawberry.ID = strawberry.field(description="The shop's product id.")
    quantity: int = strawberry.field(description="Quantity from 1 to 10,000.")
    unit_price: MoneyInput = strawberry.field(description="Price of one piece.")


@strawberry.input(description="A new order of a user, sent by the shop's server.")
class PlaceOrderInput:
    """Input of ``placeOrder``: an order of a user, with prices from the shop."""

    username: str = strawberry.field(
        description="User name of the customer, which is the user's id."
    )
    name: str | None = strawberry.field(
        default=None, description="Display name of the customer. Default: `username`."
    )
    lines: list[OrderLineInput] = strawberry.field(
        description="Order lines: 1 to 90, all in one currency."
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Text that identifies the order in retries. If several requests for a user "
        "have the same key, only one order is placed.",
    )


@strawberry.input(description="A change of an order's status.")
class SetOrderStatusInput:
    """An order and its new status."""

    id: strawberry.ID = strawberry.field(description="Global `id` of the order.")
    status: OrderStatus = strawberry.field(description="New status.")


async def order(
    info: Info, order_id: Annotated[strawberry.ID, strawberry.argument(description="Order id.")]
) -> Order | None:
    """Return the order with this id; None if it is missing or the viewer may not see the order."""
    return await load(info, plain_id("orderId", order_id))


async def load(info: Info, order_id: str) -> Order | None:
    """Return the order with this id, for ``node``, which has checked the id."""
    viewer = require_viewer(info.context)
    found = await info.context.stores.orders.get(order_id)
    return found if found is not None and sees_own(viewer, found.username) else None


@with_arguments
async def orders(
    root: strawberry.Parent[User],
    info: Info,
    status: Statuses[OrderStatus] = None,
    **given: Unpack[DatedArguments],
) -> Page[Order]:
    """Return a page of the user's orders."""
    period, cut = dated_slice(info, **given)
    return await info.context.stores.orders.page(
        OrderSelection(root.username, status, *period), cut
    )


@with_arguments
async def open_orders(info: Info, **given: Unpack[DatedArguments]) -> Page[Order]:
    """Return a page of all users' open orders. For staff."""
    require_role(info.context, STAFF, "see everyone's orders")
    period, cut = dated_slice(info, **given)
    return await info.context.stores.orders.open_page(cut, *period)


@reported(order=None, order_edge=None)
async def place_order(info: Info, input: Input[PlaceOrderInput]) -> Fields:
    """Store a new order of a user, with prices from the shop's server. For staff."""
    require_role(
        info.context,
        STAFF,
        "place orders: the shop's server places orders for its customers",
    )
    stated = checked(input, _NEW)
    key = stated.pop("idempotency_key", None)
    username, name = stated["username"], stated.pop("name", None)
    new = Order(
        order_id=new_id(key, username),
        name=rules.name_unless(username, name),
        status=OrderStatus.PLACED,
        created_at=datetime.now(UTC),
        **stated,
    )
    edge = await info.context.stores.orders.place(new)
    return {"order": edge.node, "order_edge": edge}


@reported(order=None, order_edge=None)
async def set_order_status(info: Info, input: Input[SetOrderStatusInput]) -> Fields:
    """Change an order's status, if the new status may follow the present status.

    Staff may change every order. Other users may only cancel their own orders.
    """
    viewer = require_viewer(info.context)
    may_set_status(viewer, input.status)
    order_id = checked(input, {"id": own_id_of("Order")})["id"]
    owner = None if is_staff(viewer) else viewer.user_id
    edge = await info.context.stores.orders.set_status(order_id, input.status, owner=owner)
    return {"order": edge.node, "order_edge": edge}


def _lines(argument: str, given: Sequence[OrderLineInput]) -> tuple[OrderLine, ...]:
    lines = checked_each(argument, rules.line_count(argument, given), _LINE)
    return rules.order_lines(argument, [OrderLine(**one) for one in lines])


def _money(argument: str, given: MoneyInput) -> Money:
    currency = rules.currency(f"{argument}.currencyCode", given.currency_code)
    return Money(rules.amount(f"{argument}.amount", given.amount, currency), currency)


_LINE: Mapping[str, Rule] = {
    "product_id": plain_id,
    "quantity": rules.quantity,
    "unit_price": _money,
}
_NEW: Mapping[str, Rule] = {
    "username": plain_account,
    "name": rules.name,
    "lines": _lines,
    "idempotency_key": rules.identifier,
}
