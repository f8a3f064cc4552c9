"""Reads and writes invitations, and reads what was written by a link."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from dal.catalogue import AccessPattern
from dal.dynamodb.retries import retry_on_change
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.entities.erasure_mark import erased_at, is_mark, mark_key
from dal.entities.order import ORDER, is_order, order_key
from dal.entities.standing import permission_in, standing_key
from dal.entities.submission import stored
from dal.errors import NotFoundError
from dal.model import Comment, Order, OrderStatus, Product
from dal.model.standings import Permission
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.plan import Query
from dal.repositories.orders import Delivered, OrderRepository, nothing_else
from dal.table.errors import InvalidArgumentError
from dal.table.index import QUEUE_SHARDS
from dal.table.items import Item, replacement
from dal.table.ranges import between
from features.invitations.entity import (
    DUE,
    INVITATION,
    comment_id_of,
    invitation_in,
    invitation_key,
    is_invitation,
)
from features.invitations.errors import LinkRevokedError
from features.invitations.model import Entry, Invitation, Link, OpenedLink

QUEUE_REQUESTS = QUEUE_SHARDS
"""The number of Queries for a page of due invitations."""

PATTERN = AccessPattern(
    "A7",
    "delivered orders whose customers wait for a link, longest waiting first",
    DUE,
    "invitation",
    "?",
)


def delivered_of(*, invitations: bool) -> Delivered:
    """Return what a delivery adds to the table, with and without ``--invitations``."""
    return _due_items if invitations else nothing_else


def _due_items(order: Order) -> Sequence[Item]:
    return [INVITATION.encode(replace(invitation_of(order), delivered_at=datetime.now(UTC)))]


def invitation_of(order: Order) -> Invitation:
    """Return a new invitation for an order."""
    products = tuple(dict.fromkeys([line.product_id for line in order.lines]))
    return Invitation(order.order_id, order.username, products, order.name)


class InvitationRepository:
    """Reads and writes invitations."""

    def __init__(self, table: Table, orders: OrderRepository) -> None:
        self._table = table
        self._orders = orders
        executor = Executor(table.query, INVITATION.indexes)
        self._queue = PageReader(executor, INVITATION.decode_row, descending=False)

    async def permission(self, link: Link) -> Permission:
        """Return what a link's customer may write, by one BatchGetItem.

        The read is eventually consistent, so a revocation takes effect some moments later. The
        purchase is not read, because the shop proves it by the link. Raises LinkRevokedError if
        the shop has revoked the link, cancelled the order, or erased the customer's data after it
        made the link.
        """
        keys = [standing_key(link.username), *_state_keys(link)]
        items = await self._table.get_many(keys, consistent=False)
        _require_valid(link, items)
        return replace(permission_in(items), bought=True)

    async def open(self, link: Link) -> OpenedLink:
        """Return a link with the comments that it has written, by one BatchGetItem.

        Raises LinkRevokedError as ``permission`` does.
        """
        ids = {product: comment_id_of(link, product) for product in link.products}
        items = await self._table.get_many([*_state_keys(link), *map(comment_key, ids.values())])
        _require_valid(link, items)
        there = {one.comment_id: one for one in map(stored, items) if one is not None}
        entries = []
        for product_id, comment_id in ids.items():
            one = there.get(comment_id)
            if one is not None and one.username != link.username:
                one = None  # not the customer's since an erasure
            if one is None or isinstance(one, Comment):
                entries.append(Entry(Product(product_id), comment_id, comment=one))
            else:
                entries.append(Entry(Product(product_id), comment_id, submission=one))
        return OpenedLink(**asdict(link), entries=entries)

    async def due(
        self,
        cut: Slice,
        delivered_from: datetime | None = None,
        delivered_before: datetime | None = None,
    ) -> Page[Invitation]:
        """Return one page of the due invitations, longest waiting first.

        The page is eventually consistent.
        """
        within = between(delivered_from, delivered_before)
        return await self._queue.read(Query(PATTERN.name, DUE.covers, within), cut)

    async def get(self, username: str, order_id: str) -> Invitation | None:
        """Return an invitation, read consistently; None if none is stored."""
        return invitation_in(await self._table.get(invitation_key(username, order_id)))

    async def of_order(self, order_id: str) -> Invitation:
        """Return the invitation of a stored order, whether or not it is due.

        Raises NotFoundError if the order is not stored, and InvalidArgumentError if it is
        cancelled.
        """
        order = await self._orders.get(order_id)
        if order is None:
            raise NotFoundError("Order not found.")
        if order.status is OrderStatus.CANCELLED:
            raise InvalidArgumentError("orderId", f"orderId {order_id!r} is a cancelled order.")
        there = await self.get(order.username, order_id)
        ended = None if there is None else there.revoked_at
        return replace(invitation_of(order), revoked_at=ended)

    async def mark(self, invitation: Invitation, *, due: bool = False) -> None:
        """Store that links were made for an order, so that the order is not due any more.

        With ``due``, write nothing if the order is no longer due, for example because the
        customer's data was erased meanwhile.
        """

        def invited(old: Invitation) -> Invitation | None:
            if due and not old.is_due:
                return None
            ours = replace(old, products=invitation.products, name=invitation.name)
            return replace(ours, invited_at=datetime.now(UTC))

        await self._rewrite(invitation.username, invitation.order_id, invited)

    async def revoke(self, order_id: str, username: str | None) -> Invitation:
        """End all links of an order that were made before now.

        Without ``username``, the order must be stored: otherwise NotFoundError is raised.
        """
        if username is None:
            order = await self._orders.get(order_id)
            if order is None:
                raise NotFoundError("Order not found. Name its customer if it is not stored here.")
            username = order.username
        return await self._rewrite(
            username, order_id, lambda old: replace(old, revoked_at=datetime.now(UTC))
        )

    async def _rewrite(
        self, username: str, order_id: str, step: Callable[[Invitation], Invitation | None]
    ) -> Invitation:
        """Replace an invitation by ``step(invitation)``, and return the result.

        If ``step`` returns None, nothing is written. Raises ConflictError if other requests keep
        changing the invitation.
        """

        async def attempt() -> Invitation:
            item = await self._table.get(invitation_key(username, order_id))
            old = invitation_in(item) or Invitation(order_id, username)
            new = step(old)
            if new is None:
                return old
            await self._table.write([replacement(item, INVITATION.encode(new))])
            return new

        return await retry_on_change(attempt, "this order's invitation")


def _state_keys(link: Link) -> list[Item]:
    """Return the keys of the items that can end a link.

    They are its invitation, its order, and the mark of an erasure of its customer.
    """
    names = link.username, link.order_id
    return [invitation_key(*names), order_key(*names), mark_key(link.username)]


def _require_valid(link: Link, items: Iterable[Item]) -> None:
    """Raise LinkRevokedError if one of the items ends the link."""
    for item in items:
        if is_invitation(item):
            invitation = invitation_in(item)
            # An item that cannot be read may be a revocation, so it ends the link.
            if invitation is None or invitation.ends(link):
                raise LinkRevokedError
        erased = is_mark(item) and link.made_at <= erased_at(item)
        if erased or (is_order(item) and ORDER.decode(item).status is OrderStatus.CANCELLED):
            raise LinkRevokedError
