"""The resolver that shows how a page was read."""

from typing import Any

import strawberry

from dal.pages import Page
from dal.reading import Reading
from resolvers.selection import Info


def plan(root: strawberry.Parent[Page[Any]], info: Info) -> Reading | None:
    """Return the account of a page's reading; None unless the server explains."""
    return root.reading if info.context.explain else None
