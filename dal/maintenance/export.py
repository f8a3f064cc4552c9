"""Export: scans the table, and decodes all objects that an exported file can contain.

Reads are strongly consistent. An object that exists during the whole scan is exported once, as it
is when the scan reads it. An object that is added or deleted during the scan may be missing.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dal.dynamodb.scan import scan_pages
from dal.dynamodb.table import Table
from dal.kinds.item_kind import FileItems
from dal.model import Organization, OrganizationUser, Roster
from dal.query.pagination import Slice
from dal.repositories.organizations import OrganizationRepository
from dal.table.entity import UNREADABLE
from dal.table.items import Item

_USERS_AT_ONCE = 1_000


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
    table: Table, segment: int, kinds: Sequence[FileItems], *, all_states: bool = False
) -> AsyncIterator[ExportPage]:
    """Yield the objects of ``kinds`` for each page of one scan segment. Raises DalError.

    By default, only published comments are exported. With ``all_states``, submissions (unpublished
    comments) are exported too. For each organisation that the scan finds, the organisation's users
    are read too.
    """
    async for items, _ in scan_pages(table, segment):
        left_out = 0
        if not all_states:
            left_out = sum(kind.unpublished(item) for kind in kinds for item in items)
        objects: dict[str, list[Any]] = {kind.name: [] for kind in kinds}
        page = ExportPage(objects, dict.fromkeys(objects, 0), left_out, len(items))
        for item in items:
            kind = next((one for one in kinds if _contains(one, item, all_states)), None)
            if kind is None:
                continue
            try:
                decoded = kind.decode(item)
                if kind.complete is not None:
                    decoded = await kind.complete(table, decoded)
            except UNREADABLE:
                decoded = None
            if decoded is None:
                page.unreadable[kind.name] += 1
            else:
                page.objects[kind.name].append(decoded)
        yield page


def _contains(kind: FileItems, item: Item, all_states: bool) -> bool:  # noqa: FBT001 - called here only
    return kind.holds(item) or (all_states and kind.unpublished(item))


async def with_users(table: Table, organization: Organization) -> Roster:
    """Return an organisation with its users."""
    users = await _users(OrganizationRepository(table), organization.name)
    return Roster(organization, users)


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
