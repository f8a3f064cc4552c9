"""Products, the comments on them, and their places on leaderboards."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

RATINGS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Product:
    """A product exists by name: any well-formed identifier is one."""

    product_id: str
    details: "ProductDetails | None" = field(default=None, compare=False)
    """None until they are asked for."""


@dataclass(frozen=True, slots=True)
class ProductDetails:
    """What a shop says of a product; empty is not said.

    An address is absolute (https), or starts with a slash and is below this site's root.
    """

    title: str = ""
    picture_url: str = ""
    url: str = ""


class Comment(NamedTuple):
    """What one person said of one product; instants are aware and in UTC.

    Pages make many: a named tuple takes a quarter of the time that a frozen dataclass takes.
    """

    comment_id: str
    product_id: str
    username: str
    rating: int
    language: str
    title: str
    text: str
    created_at: datetime
    updated_at: datetime | None = None
    verified_purchase: bool = False


@dataclass(frozen=True, slots=True)
class ProductRank:
    """A product's place on a leaderboard; ``count`` is of its comments rated 5."""

    product: Product
    count: int
    rank: int | None = None
    """1 for the first; None when it was not asked for, or takes too much to count."""
