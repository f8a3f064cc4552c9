"""Reads what a link may do, and what was written by it."""

from collections.abc import Iterable
from dataclasses import replace

from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.entities.order import ORDER, is_order, order_key
from dal.entities.standing import permission_in, standing_key
from dal.entities.submission import stored
from dal.errors import GrantRevokedError
from dal.model import Comment, OrderStatus
from dal.model.standings import Permission
from dal.table.items import Item
from features.invitations.entity import comment_id_of, invitation_in, invitation_key
from features.invitations.model import Entry, Link, OpenedLink


class InvitationRepository:
    """Reads and writes invitations."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def permission(self, link: Link) -> Permission:
        """Return what a link's customer may write, by one BatchGetItem.

        The read is eventually consistent, so a revocation takes effect some moments later. The
        purchase is not read, because the shop proves it by the link. Raises GrantRevokedError if
        the shop has revoked the link or cancelled the order.
        """
        keys = [standing_key(link.username), *_state_keys(link)]
        items = await self._table.get_many(keys, consistent=False)
        _require_valid(link, items)
        return replace(permission_in(items), bought=True)

    async def open(self, link: Link) -> OpenedLink:
        """Return a link with the comments that it has written, by one BatchGetItem.

        Raises GrantRevokedError as ``permission`` does.
        """
        ids = {product: comment_id_of(link, product) for product in link.products}
        items = await self._table.get_many([*_state_keys(link), *map(comment_key, ids.values())])
        _require_valid(link, items)
        there = {one.comment_id: one for one in map(stored, items) if one is not None}
        entries = []
        for product_id, comment_id in ids.items():
            one = there.get(comment_id)
            if one is None or one.username != link.username:  # not the customer's since an erasure
                entries.append(Entry(product_id, comment_id))
            elif isinstance(one, Comment):
                entries.append(Entry(product_id, comment_id, comment=one))
            else:
                entries.append(Entry(product_id, comment_id, submission=one))
        return OpenedLink(link, entries)


def _state_keys(link: Link) -> list[Item]:
    """Return the keys of the items that can end a link: its invitation and its order."""
    names = link.username, link.order_id
    return [invitation_key(*names), order_key(*names)]


def _require_valid(link: Link, items: Iterable[Item]) -> None:
    """Raise GrantRevokedError if the link was revoked or its order cancelled."""
    for item in items:
        invitation = invitation_in(item)
        if invitation is not None and invitation.ends(link):
            raise GrantRevokedError
        if is_order(item) and ORDER.decode(item).status is OrderStatus.CANCELLED:
            raise GrantRevokedError
