"""Orders: pages, look-ups, and conditional writes."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from dal.catalogue import query_of
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.table import Table
from dal.entities.order import ORDER, order_key, order_position, purchases
from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.model import Order, OrderStatus
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.query.plan import Query
from dal.table.errors import InvalidArgumentError
from dal.table.index import QUEUE_SHARDS
from dal.table.items import ABSENT, Action, Item
from dal.table.ranges import between

NEXT = {
    OrderStatus.PLACED: frozenset({OrderStatus.SHIPPED, OrderStatus.CANCELLED}),
    OrderStatus.SHIPPED: frozenset({OrderStatus.DELIVERED}),
    OrderStatus.DELIVERED: frozenset[OrderStatus](),
    OrderStatus.CANCELLED: frozenset[OrderStatus](),
}
"""The statuses that may follow each status."""

OPEN_PAGE_REQUESTS = QUEUE_SHARDS
"""The number of Queries for a page of all users' open orders or tickets. Each of these lists has
several partitions (shards), and each partition needs one Query."""

Delivered: TypeAlias = Callable[[Order], Sequence[Item]]
"""Returns the items that a delivery of an order adds to the table. Existing items stay."""

_OPEN = {"status": frozenset({OrderStatus.PLACED.value})}


@dataclass(frozen=True, slots=True)
class OrderSelection:
    """Selects a user's orders by status and dates. A field that is None does not filter.

    ``created_from`` is inclusive, ``created_before`` exclusive.
    """

    username: str
    statuses: Collection[OrderStatus] | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None

    def query(self) -> Query:
        """Return the query of this selection.

        A filter with all four statuses is the same as no filter.
        """
        filters = {"user": frozenset({self.username})}
        statuses = frozenset(OrderStatus if self.statuses is None else self.statuses)
        if statuses != frozenset(OrderStatus):
            filters["status"] = frozenset(status.value for status in statuses)
        within = between(self.created_from, self.created_before)
        return query_of(filters, within, consistent=True)


def nothing_else(_: Order) -> Sequence[Item]:
    """Return no items: see ``Delivered``."""
    return ()


class OrderRepository:
    """Reads and writes orders. ``delivered`` adds items to the transaction of a delivery."""

    def __init__(self, table: Table, delivered: Delivered = nothing_else) -> None:
        self._table = table
        self._delivered = delivered
        executor = Executor(table.query, ORDER.indexes)
        self._pages = PageReader(executor, ORDER.decode_row, descending=True)

    async def page(self, selection: OrderSelection, cut: Slice) -> Page[Order]:
        """Return one page of a user's orders, read consistently."""
        return await self._pages.read(selection.query(), cut)

    async def open_page(
        self,
        cut: Slice,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Page[Order]:
        """Return one page of all users' open (PLACED) orders, optionally between two dates."""
        return await self._pages.read(query_of(_OPEN, between(created_from, created_before)), cut)

    async def get(self, order_id: str) -> Order | None:
        """Return an order with its lines by its id; None if no order is found.

        The read is one Query of a global index, so a new order may be missing for a moment.
        """
        query = query_of({"order": frozenset({order_id})})
        page = await self._pages.read(query, Slice(limit=1))
        return page.nodes[0] if page.edges else None

    async def place(self, order: Order) -> Edge[Order]:
        """Store a new order once. If an order with this id exists, return the stored order.

        Raises IdempotencyKeyReusedError if the stored order has other lines.
        """
        try:
            await self._table.write([{"Put": {"Item": ORDER.encode(order), **ABSENT}}])
        except ConditionFailedError:
            item = await self._table.get(order_key(order.username, order.order_id))
            stored = None if item is None else ORDER.decode(item)
            if stored is None or stored.lines != order.lines:
                raise IdempotencyKeyReusedError(
                    "This idempotency key was used for another order: choose a new key for a new "
                    "order."
                ) from None
            order = stored
        return Edge(order, order_position(order))

    async def set_status(
        self, order_id: str, status: OrderStatus, *, owner: str | None
    ) -> Edge[Order]:
        """Change an order to its next status, by one conditional write.

        ``owner`` is the user of the order. If ``owner`` is None, the order may belong to any user,
        and ``get`` finds its owner. Raises NotFoundError if the order is not found,
        InvalidArgumentError if ``status`` cannot follow the present status, and ConflictError if
        another request changes the order meanwhile. If the order becomes DELIVERED, the same
        transaction stores proofs of purchase, and the items of ``delivered``.
        """
        if owner is None and (found := await self.get(order_id)) is not None:
            owner = found.username
        item = None if owner is None else await self._table.get(order_key(owner, order_id))
        if item is None:
            raise NotFoundError("Order not found.")
        old = ORDER.decode(item)
        if status not in NEXT[old.status]:
            raise InvalidArgumentError(
                "status", f"status cannot become {status}: the order is {old.status}."
            )
        new = replace(old, status=status)
        try:
            # Two index keys change with the status: ``OrderStatusDate``, and ``PlacedId``, which
            # exists only while the order is PLACED. So Put replaces the whole item. The condition
            # compares the whole item, so that Put overwrites no other change.
            put = {"Put": {"Item": ORDER.encode(new), **ORDER.unchanged(item)}}
            bought = [{"Put": {"Item": purchase}} for purchase in purchases(new)]
            await self._write([put, *bought], new)
        except ConditionFailedError:
            raise ConflictError(
                "Another request has changed this order: reload it and try again."
            ) from None
        return Edge(new, order_position(new))

    async def _write(self, actions: Sequence[Action], order: Order) -> None:
        """Write the actions of a change of an order, and the items of a delivery."""
        further: list[Action] = []
        if order.status is OrderStatus.DELIVERED:
            further = [{"Put": {"Item": one, **ABSENT}} for one in self._delivered(order)]
        try:
            await self._table.write([*actions, *further])
        except ConditionFailedError as error:
            if 0 in error.failed:  # the order has changed
                raise
            await self._table.write(actions)  # the further items exist
