"""Orders: the lists of a user's and of open ones, a look-up by id, and the two mutations."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import strawberry

from dal.model import Order, OrderLine, OrderStatus, User, rules
from dal.query.pagination import Edge, Page
from dal.repositories.orders import OrderSelection
from resolvers.connections import slice_of
from resolvers.mutations import UserError, new_id, reported
from resolvers.node_ids import parse_node_id
from resolvers.request.authorization import may_see, may_set_status, require_staff, require_viewer
from resolvers.request.selection import Info

strawberry.enum(OrderStatus, description="What became of an order.")


@strawberry.input
class OrderLineInput:
    """So many of one product."""

    product_id: str
    quantity: int = strawberry.field(description="From 1 to 10,000.")
    unit_price: str = strawberry.field(
        description="What one costs: an amount and a currency such as `12.50 EUR`."
    )


@strawberry.input(description="A new order of the user of the JWT.")
class PlaceOrderInput:
    """An order as its user states it."""

    lines: list[OrderLineInput] = strawberry.field(
        description="From 1 to 90 lines, all in one currency."
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Send the same key again when no answer came: the order is placed once.",
    )


@strawberry.input
class SetOrderStatusInput:
    """Which order becomes what."""

    id: strawberry.ID
    status: OrderStatus


@dataclass(frozen=True, slots=True)
class OrderPayload:
    """An order as it stands now with its edge, ready to be inserted in a list."""

    order_edge: Edge[Order] | None = None
    user_errors: list[UserError] = field(default_factory=list)

    @property
    def order(self) -> Order | None:
        """The order itself."""
        return self.order_edge.node if self.order_edge else None


async def order(info: Info, order_id: str) -> Order | None:
    """Return an order by its own id."""
    return await load(info, rules.identifier("orderId", order_id))


async def load(info: Info, order_id: str) -> Order | None:
    """Return an order that the viewer may see."""
    viewer = require_viewer(info.context)
    info.context.budget.spend()
    found = await info.context.stores.orders.get(order_id)
    if found is not None:
        may_see(viewer, found.username)
    return found


async def orders(  # noqa: PLR0913, PLR0917 - the field's arguments
    root: strawberry.Parent[User],
    info: Info,
    status: list[OrderStatus] | None = None,
    created_from: datetime | None = None,
    created_before: datetime | None = None,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> Page[Order]:
    """Return a page of the user's orders, newest first."""
    statuses = None if status is None else frozenset(status)
    period = rules.period(created_from, created_before)
    cut = slice_of(info, first, after, last, before)
    info.context.budget.spend()
    return await info.context.stores.orders.page(
        OrderSelection(root.username, statuses, *period), cut
    )


async def open_orders(
    info: Info,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> Page[Order]:
    """Return a page of everyone's open orders, newest first; for staff."""
    require_staff(require_viewer(info.context))
    cut = slice_of(info, first, after, last, before)
    info.context.budget.spend()
    return await info.context.stores.orders.open_page(cut)


def user_of(root: strawberry.Parent[Order]) -> User:
    """Return who ordered; whoever may see the order may see its user."""
    return User(root.username)


def unit_price(root: strawberry.Parent[OrderLine]) -> str:
    """Return what one piece costs, as ``12.50 EUR``."""
    return str(root.unit_price)


def total(root: strawberry.Parent[Order]) -> str:
    """Return what the whole order costs, as ``12.50 EUR``."""
    return str(root.total)


@reported(OrderPayload)
async def place_order(info: Info, input: PlaceOrderInput) -> OrderPayload:  # noqa: A002
    """Store an order of the viewer's."""
    viewer = require_viewer(info.context)
    new = Order(
        order_id=new_id(input.idempotency_key, viewer.username),
        username=viewer.username,
        status=OrderStatus.PLACED,
        created_at=datetime.now(UTC),
        lines=rules.order_lines("lines", [_line(*one) for one in enumerate(input.lines)]),
    )
    return OrderPayload(await info.context.stores.orders.place(new))


@reported(OrderPayload)
async def set_order_status(info: Info, input: SetOrderStatusInput) -> OrderPayload:  # noqa: A002
    """Take an order a step further: any legal one as staff, or to cancel the viewer's own."""
    viewer = require_viewer(info.context)
    _, order_id = parse_node_id("id", input.id, "Order")
    check = partial(may_set_status, viewer, input.status)
    edge = await info.context.stores.orders.set_status(
        order_id, input.status, check, guess=viewer.username
    )
    return OrderPayload(edge)


def _line(number: int, given: OrderLineInput) -> OrderLine:
    place = f"lines.{number}"
    return OrderLine(
        product_id=rules.identifier(f"{place}.productId", given.product_id),
        quantity=rules.quantity(f"{place}.quantity", given.quantity),
        unit_price=rules.money(f"{place}.unitPrice", given.unit_price),
    )
