"""The demo's comments: eight products of different sizes and tempers, over three fixed years."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import count
from typing import TypedDict, cast

from dal.model import RATINGS, Comment, ProductDetails
from server.demo.seeded_random import SeededRandom
from server.demo.texts import Author, phrases

_SEED = 20201120
_FIRST_DAY = datetime(2022, 1, 1, tzinfo=UTC)
_DAYS = 1096
_BUSY_DAYS = 20
_BUSY_SHARE = 0.3
"""So many comments know their day only, one of a few: many of a product share an instant."""

_SUFFIXES = ("", "64", "93")


class _Product(TypedDict):
    id: str
    title: str
    picture: str
    comments: int
    ratings: list[int]


class _Shares(TypedDict):
    languages: dict[str, int]
    products: list[_Product]


def demo_comments() -> list[Comment]:
    """Return the 5,000 comments, always the same, with ids ``demo-00001`` and on."""
    shares = _shares()
    random = SeededRandom(_SEED)
    numbers = count(1)
    return [
        comment
        for product in shares["products"]
        for comment in _of_product(random, product, shares["languages"], numbers)
    ]


def demo_size() -> int:
    """Return how many comments there are, without making them."""
    return sum(product["comments"] for product in _shares()["products"])


def demo_products() -> dict[str, ProductDetails]:
    """Return what the shop says of the eight products, by their ids; they have no pages of its."""
    return {
        product["id"]: ProductDetails(
            title=product["title"], picture_url=f"/static/pages/products.svg#{product['picture']}"
        )
        for product in _shares()["products"]
    }


def _shares() -> _Shares:
    file = resources.files("server.demo") / "products.json"
    return cast("_Shares", json.loads(file.read_text("utf-8")))


def _of_product(
    random: SeededRandom, product: _Product, languages: dict[str, int], numbers: Iterator[int]
) -> Iterator[Comment]:
    busy_days = [_FIRST_DAY + timedelta(random.number(0, _DAYS - 1)) for _ in range(_BUSY_DAYS)]
    for _ in range(product["comments"]):
        rating = random.weighted(RATINGS, product["ratings"])
        language = random.weighted(list(languages), list(languages.values()))
        author = Author(random, language, product["id"], rating)
        created_at = _instant(random, busy_days)
        yield Comment(
            comment_id=f"demo-{next(numbers):05}",
            product_id=product["id"],
            username=random.pick(phrases(language)["usernames"]) + random.pick(_SUFFIXES),
            rating=rating,
            language=language,
            title=author.title(),
            text=author.text(),
            created_at=created_at,
            updated_at=created_at + _delay(random) if random.chance(0.04) else None,
            verified_purchase=random.chance(0.55),
        )


def _instant(random: SeededRandom, busy_days: list[datetime]) -> datetime:
    if random.chance(_BUSY_SHARE):
        return random.pick(busy_days)
    return _FIRST_DAY + timedelta(random.number(0, _DAYS - 1)) + _delay(random) % timedelta(1)


def _delay(random: SeededRandom) -> timedelta:
    """Return up to thirty days, to the microsecond for every other one."""
    micro = random.number(0, 999_999) if random.chance(0.5) else 0
    return timedelta(seconds=random.number(60, 30 * 86_400), microseconds=micro)
