"""Export: scans the table, and decodes all objects that an exported file can contain.

Reads are strongly consistent. An object that exists during the whole scan is exported once, as it
is when the scan reads it. An object that is added or deleted during the scan may be missing.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dal.dynamodb.scan import scan_pages
from dal.dynamodb.table import Table
from dal.kinds.item_kind import ItemKind, kind_of
from dal.table.entity import UNREADABLE
from features.loading.kind import files_of


@dataclass(slots=True)
class ExportPage:
    """The objects in one page of a scan segment, by kind of file."""

    objects: Mapping[str, list[Any]]
    unreadable: dict[str, int]
    """For each kind, the number of items that have the keys of this kind but cannot be decoded."""
    items: int
    """Number of scanned items of any kind."""
    left_out: int = 0
    """The number of unpublished comments that are not exported."""


async def export_pages(
    table: Table, segment: int, kinds: Sequence[ItemKind], *, all_states: bool = False
) -> AsyncIterator[ExportPage]:
    """Yield the objects of files of ``kinds``, for each page of a scan segment. Raises DalError.

    By default, only published comments are exported. With ``all_states``, submissions (unpublished
    comments) are exported too. For each organisation that the scan finds, the organisation's users
    are read too.
    """
    files = files_of(kinds)
    async for items, _ in scan_pages(table, segment):
        page = ExportPage({name: [] for name in files}, dict.fromkeys(files, 0), items=len(items))
        for item in items:
            kind = kind_of(item, kinds)
            if kind is None or (file := kind.file) is None:
                continue
            if not file.contains(item):
                unpublished = file.unpublished(item)
                if not (all_states and unpublished):
                    page.left_out += unpublished
                    continue
            try:
                decoded = (file.decode or kind.decode)(item)
                if file.complete is not None:
                    decoded = await file.complete(table, decoded)
            except UNREADABLE:
                decoded = None
            if decoded is None:
                page.unreadable[file.name] += 1
            else:
                page.objects[file.name].append(decoded)
        yield page
