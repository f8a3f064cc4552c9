"""Export: every object that can be loaded again, by a parallel scan.

Reads are strongly consistent. An item that exists during the whole scan is exported once, in one
of its states; an item that is added or deleted during the scan may be exported or not.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dal.client.scan import scan_pages
from dal.client.table import Table
from dal.entities.comment import COMMENT, is_comment, is_tombstone
from dal.entities.entity import UNREADABLE
from dal.entities.order import ORDER, is_order
from dal.entities.organization import decode_organization, is_organization
from dal.entities.product import decode_details, is_details
from dal.entities.ticket import TICKET, is_ticket
from dal.model import Organization, OrganizationUser, Roster
from dal.query.pagination import Slice
from dal.repositories.users import decode_profile, is_profile
from dal.stores import Stores
from dal.table.items import Item

_USERS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class _Kind:
    """The items of a kind, and how to decode them."""

    holds: Callable[[Item], bool]
    decode: Callable[[Item], Any]


_KINDS: Mapping[str, _Kind] = {
    "comments": _Kind(lambda item: is_comment(item) and not is_tombstone(item), COMMENT.decode),
    "orders": _Kind(is_order, ORDER.decode),
    "organizations": _Kind(is_organization, decode_organization),
    "tickets": _Kind(is_ticket, TICKET.decode),
    "profiles": _Kind(is_profile, decode_profile),
    "products": _Kind(is_details, decode_details),
}


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Some objects of one scan segment by kind: rosters of organisations, pairs of profiles."""

    objects: Mapping[str, Sequence[Any]]
    unreadable: Mapping[str, int]
    """Number of items with a kind's keys that could not be decoded."""
    items: int
    """Number of scanned items of any kind."""


class ExportRepository:
    """Reads the whole table, for maintenance only."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._organizations = Stores(table).organizations

    async def pages(self, segment: int, kinds: Collection[str]) -> AsyncIterator[ExportPage]:
        """Yield the objects of ``kinds`` in one scan segment; raises DalError.

        The users of an organisation are read when its own item is met.
        """
        chosen = {name: kind for name, kind in _KINDS.items() if name in kinds}
        async for items, _ in scan_pages(self._table, segment):
            objects, unreadable = _decoded(items, chosen)
            if found := objects.get("organizations"):
                rosters = [await self._roster(one) for one in found]
                objects["organizations"] = [one for one in rosters if one is not None]
                unreadable["organizations"] += rosters.count(None)
            yield ExportPage(objects, unreadable, len(items))

    async def _roster(self, organization: Organization) -> Roster | None:
        try:
            return Roster(organization, await self._users(organization.name))
        except UNREADABLE:
            return None

    async def _users(self, organization: str) -> list[OrganizationUser]:
        users: list[OrganizationUser] = []
        after = None
        while True:
            cut = Slice(_USERS_AT_ONCE, after=after, next_page=True)
            page = await self._organizations.users(organization, cut)
            users += page.nodes
            if not page.page_info.has_next_page:
                return users
            after = page.edges[-1].position


def _decoded(
    items: Sequence[Item], kinds: Mapping[str, _Kind]
) -> tuple[dict[str, list[Any]], dict[str, int]]:
    objects: dict[str, list[Any]] = {name: [] for name in kinds}
    unreadable = dict.fromkeys(kinds, 0)
    for item in items:
        for name, kind in kinds.items():
            if kind.holds(item):
                try:
                    objects[name].append(kind.decode(item))
                except UNREADABLE:
                    unreadable[name] += 1
                break
    return objects, unreadable
