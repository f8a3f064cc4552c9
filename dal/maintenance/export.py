"""Export: scans the table, and decodes all objects that an exported file can contain.

Reads are strongly consistent. An object that exists during the whole scan is exported once, as it
is when the scan reads it. An object that is added or deleted during the scan may be missing.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dal.dynamodb.scan import scan_pages
from dal.dynamodb.table import Table
from dal.entities.case import case_in, decode_report, is_case, is_report
from dal.entities.comment import STATE, comment_in, is_comment, is_tombstone
from dal.entities.order import ORDER, is_order
from dal.entities.organization import decode_organization, is_organization
from dal.entities.product import PRODUCT_DETAILS, is_details
from dal.entities.submission import stored
from dal.entities.ticket import TICKET, is_ticket
from dal.entities.vote import decode_vote, is_counted, is_vote
from dal.model import OrganizationUser, Roster
from dal.query.pagination import Slice
from dal.repositories.organizations import OrganizationRepository
from dal.repositories.users import decode_profile, is_profile
from dal.table.entity import UNREADABLE
from dal.table.items import Item

_USERS_AT_ONCE = 1_000


def _is_published(item: Item) -> bool:
    return is_comment(item) and STATE not in item and not is_tombstone(item)


def _is_held(item: Item) -> bool:
    return is_comment(item) and STATE in item


_KINDS: Mapping[str, tuple[Callable[[Item], bool], Callable[[Item], Any]]] = {
    "comments": (_is_published, comment_in),
    "orders": (is_order, ORDER.decode),
    "organizations": (is_organization, decode_organization),
    "tickets": (is_ticket, TICKET.decode),
    "profiles": (is_profile, decode_profile),
    "products": (is_details, PRODUCT_DETAILS.decode),
    "reports": (is_report, decode_report),
    "cases": (is_case, case_in),
    "votes": (lambda item: is_vote(item) and is_counted(item), decode_vote),
}
"""Two functions for each kind of object. The first returns whether an item is of this kind. The
second decodes the item, and returns None for a comment that cannot be decoded."""

_ALL_STATES = {
    **_KINDS,
    "comments": (lambda item: _is_published(item) or _is_held(item), stored),
}
"""``_KINDS``, but ``comments`` also include unpublished comments."""


@dataclass(frozen=True, slots=True)
class ExportPage:
    """The objects in one page of a scan segment, by kind."""

    objects: Mapping[str, list[Any]]
    unreadable: dict[str, int]
    """For each kind, the number of items that have the keys of this kind but cannot be decoded."""
    left_out: int
    """The number of unpublished comments that are not exported."""
    items: int
    """Number of scanned items of any kind."""


async def export_pages(
    table: Table, segment: int, kinds: Collection[str], *, all_states: bool = False
) -> AsyncIterator[ExportPage]:
    """Yield the objects of ``kinds`` for each page of one scan segment. Raises DalError.

    By default, only published comments are exported. With ``all_states``, submissions (unpublished
    comments) are exported too. For each organisation that the scan finds, the organisation's users
    are read too.
    """
    organizations = OrganizationRepository(table)
    known = _ALL_STATES if all_states else _KINDS
    async for items, _ in scan_pages(table, segment):
        left_out = 0 if all_states else sum(map(_is_held, items))
        none = dict.fromkeys(kinds, 0)
        page = ExportPage({kind: [] for kind in kinds}, none, left_out, len(items))
        for item in items:
            kind = next((kind for kind in page.objects if known[kind][0](item)), None)
            if kind is None:
                continue
            try:
                decoded = known[kind][1](item)
                if kind == "organizations":
                    decoded = Roster(decoded, await _users(organizations, decoded.name))
            except UNREADABLE:
                decoded = None
            if decoded is None:
                page.unreadable[kind] += 1
            else:
                page.objects[kind].append(decoded)
        yield page


async def _users(
    organizations: OrganizationRepository, organization: str
) -> list[OrganizationUser]:
    users: list[OrganizationUser] = []
    after = None
    while True:
        cut = Slice(_USERS_AT_ONCE, after=after, next_page=True)
        page = await organizations.users(organization, cut)
        users += page.nodes
        if not page.page_info.has_next_page:
            return users
        after = page.edges[-1].position
