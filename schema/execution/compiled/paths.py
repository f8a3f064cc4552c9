"""Where a field or an item stands in a response.

A path is made for every field and item, and looked at after an error alone. Until then it is a
plain tuple of graphql-core's three members.
"""

from typing import Any

from graphql.pyutils import Path

PlainPath = tuple[Any, str | int, str | None]


def path_of(plain: PlainPath) -> Path:
    """Return graphql-core's path."""
    before, key, typename = plain
    return Path(None if before is None else path_of(before), key, typename)
