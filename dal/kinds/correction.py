"""Corrections: what ``stats verify`` corrects after its scan."""

from collections.abc import Collection, Sequence
from typing import Protocol

from dal.dynamodb.table import Table
from dal.model import Comment
from dal.table.items import Item


class Correction(Protocol):
    """Corrects data that a killed process has left incomplete or wrong.

    A scan of the table passes all items. Then all corrections run, one after another. By default, a
    correction needs no items of the scan, and has no suspects.
    """

    corrects: str = ""
    """What the correction corrects, for the help of the command. Empty for nothing."""
    removes: str = ""
    """What may be left of deleted comments and the scan finds, for the help. Empty for nothing."""

    def __init__(self, table: Table) -> None: ...

    def scanned(self, items: Sequence[Item], comments: Sequence[Comment]) -> None:
        """Add a page of the scan. ``comments`` are the published comments in ``items``."""
        del items, comments

    def suspects(self) -> Collection[str]:
        """Return the ids of comments for which the scan has found items that may be wrong."""
        return ()

    async def correct(self, suspects: Collection[str]) -> None:
        """Correct the data. ``suspects`` are the suspects of all corrections. Raises DalError."""

    def report(self) -> str:
        """Return sentences for the operator; an empty text if nothing has changed."""
