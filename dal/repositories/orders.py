"""Orders: pages, look-ups, and writes with conditions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dal import errors
from dal.client.table import Table
from dal.entities.order import OPEN_SHARDS, ORDER, order_key, order_position, purchases
from dal.model import Order, OrderStatus
from dal.query.access_patterns import query_of
from dal.query.executor import Executor
from dal.query.pagination import Edge, Page, PageReader, Slice
from dal.query.plan import Query
from dal.repositories.bulk_write import Outcome, overwrite
from dal.table.items import ABSENT, Item
from dal.table.ranges import between

NEXT = {
    OrderStatus.PLACED: frozenset({OrderStatus.SHIPPED, OrderStatus.CANCELLED}),
    OrderStatus.SHIPPED: frozenset({OrderStatus.DELIVERED}),
    OrderStatus.DELIVERED: frozenset[OrderStatus](),
    OrderStatus.CANCELLED: frozenset[OrderStatus](),
}
"""What may become of an order, by its status."""

OPEN_PAGE_REQUESTS = OPEN_SHARDS
"""A page of open orders reads every shard."""

_OPEN = {"status": frozenset({OrderStatus.PLACED.value})}


@dataclass(frozen=True, slots=True)
class OrderSelection:
    """Which orders of a user: None is any status, or no bound; ``created_before`` is excluded."""

    username: str
    statuses: frozenset[OrderStatus] | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None

    def query(self) -> Query:
        """Return the query of this selection; all four statuses are any status."""
        filters = {"user": frozenset({self.username})}
        statuses = None if self.statuses == frozenset(OrderStatus) else self.statuses
        if statuses is not None:
            filters["status"] = frozenset(status.value for status in statuses)
        within = between(self.created_from, self.created_before)
        return query_of(filters, within, consistent=True)


class OrderRepository:
    """All access to orders."""

    def __init__(self, table: Table) -> None:
        self._table = table
        executor = Executor(table.query, ORDER.indexes)
        self._pages = PageReader(executor, ORDER.decode_row, descending=True)

    async def page(self, selection: OrderSelection, cut: Slice) -> Page[Order]:
        """Return one page of a user's orders, as the latest write left them."""
        return await self._pages.read(selection.query(), cut)

    async def open_page(
        self,
        cut: Slice,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Page[Order]:
        """Return one page of everyone's orders that are PLACED, between dates as in a selection."""
        return await self._pages.read(query_of(_OPEN, between(created_from, created_before)), cut)

    async def get(self, order_id: str) -> Order | None:
        """Return an order with its lines by its id: one Query of an index, which may lag."""
        query = query_of({"order": frozenset({order_id})})
        page = await self._pages.read(query, Slice(limit=1))
        return page.nodes[0] if page.edges else None

    async def place(self, order: Order) -> Edge[Order]:
        """Store a new order once; a second one of its id returns the first.

        Raises IdempotencyKeyReusedError when the second says something else.
        """
        try:
            await self._table.write([{"Put": {"Item": ORDER.encode(order), **ABSENT}}])
        except errors.ConditionFailedError:
            order = await self._placed_before(order)
        return Edge(order, order_position(order))

    async def set_status(
        self, order_id: str, status: OrderStatus, *, owner: str | None
    ) -> Edge[Order]:
        """Take an order to its next status, in one conditional write.

        Only an order of the user ``owner`` is looked for, or anybody's for None: by an index then,
        which may lag. Raises NotFoundError when there is no such order, InvalidArgumentError for a
        step that orders do not take, and ConflictError when another writer was faster.
        """
        item = await self._find(order_id, owner)
        if item is None:
            raise errors.NotFoundError("There is no such order.")
        old = ORDER.decode(item)
        if status not in NEXT[old.status]:
            raise errors.InvalidArgumentError(
                "status", f"status cannot become {status}: the order is {old.status}."
            )
        new = replace(old, status=status)
        try:
            await self._table.write(_step(item, new))
        except errors.ConditionFailedError:
            raise errors.ConflictError(
                "Somebody else changed this order meanwhile: look at it again."
            ) from None
        return Edge(new, order_position(new))

    async def put_many(self, orders: Sequence[Order]) -> Outcome:
        """Write orders over what their users and ids hold; of two with one id the last counts.

        A purchase that an earlier version of an order left stays. An id is one user's for good:
        this does not look for it among the orders of others.
        """
        items = [[ORDER.encode(order), *purchases(order)] for order in orders]
        return await overwrite(self._table, items)

    async def _find(self, order_id: str, owner: str | None) -> Item | None:
        """Return the item of an order of ``owner``, or of anybody, as the latest write left it."""
        if owner is None:
            found = await self.get(order_id)
            if found is None:
                return None
            owner = found.username
        return await self._table.get(order_key(owner, order_id))

    async def _placed_before(self, order: Order) -> Order:
        """Return the order that an earlier attempt of the same placing stored."""
        item = await self._table.get(order_key(order.username, order.order_id))
        stored = None if item is None else ORDER.decode(item)
        if stored is None or stored.lines != order.lines:
            raise errors.IdempotencyKeyReusedError(
                "This idempotency key was used for another order: choose a new key for a new order."
            )
        return stored


def _step(item: Item, order: Order) -> list[dict[str, Any]]:
    """Return the transaction that puts ``order`` in the place of what was read as ``item``.

    The new item has another composite key, and ``PlacedId`` only if it is PLACED.
    """
    condition = ORDER.unchanged(item)
    put = {"Put": {"Item": ORDER.encode(order), **condition}}
    return [put, *({"Put": {"Item": purchase}} for purchase in purchases(order))]
