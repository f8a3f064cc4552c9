"""Products, the comments on them, and their places on leaderboards."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

RATINGS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Product:
    """A product exists for every valid product id."""

    product_id: str
    details: "ProductDetails | None" = field(default=None, compare=False)
    """None unless requested."""


@dataclass(frozen=True, slots=True)
class ProductDetails:
    """The shop's title, picture and page of a product; empty if unset.

    A URL is https, or a path on this server.
    """

    title: str = ""
    picture_url: str = ""
    url: str = ""


class Comment(NamedTuple):
    """A customer's comment on a product. Times are aware and in UTC.

    A named tuple, since pages build many: a frozen dataclass takes four times as long.
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
    """1 for the first; None if not requested or too expensive to count."""
