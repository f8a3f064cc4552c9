"""The rows that every server answers from: a product of many comments, and smaller ones."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dal.model import RATINGS, Comment

LARGEST = "p1"

SIZES = {LARGEST: 20_000, "p2": 3_000, "p3": 1_500, "p4": 1_000, "p5": 700, "p6": 400, "p7": 250}
SIZES |= {"p8": 150}
"""Comments of each product."""

LANGUAGES = {"en": 55, "de": 15, "fr": 12, "es": 9, "ja": 5, "pt-BR": 4}
"""How often each comes, in percent."""

_RATINGS = (7, 5, 9, 21, 58)
_START = datetime(2020, 1, 1, tzinfo=UTC)
_SPAN = 4 * 365 * 86_400
MIDDLE = _START + timedelta(seconds=_SPAN / 2)
"""When about half of the comments were written."""
_TEXT = (200, 40)
"""Characters of a text: the mean, and how far most are from it."""
_SENTENCE = """the kettle pours well and stays warm after two years of daily use but its lid is
loose when it boils we would buy one again for friends because colour and weight fit our small
kitchen while für très año 良い não come from elsewhere"""
_WORDS = tuple(_SENTENCE.split())


def comments_of(product: str, count: int) -> Iterator[Comment]:
    """Yield the comments of a product, always the same, in no order."""
    chance = random.Random(product)  # noqa: S311 - data, not secrets
    for number in range(count):
        yield Comment(
            comment_id=f"{product}-{number:06}",
            product_id=product,
            username=f"user{chance.randrange(5_000)}",
            rating=chance.choices(RATINGS, _RATINGS)[0],
            language=chance.choices(list(LANGUAGES), list(LANGUAGES.values()))[0],
            title=" ".join(chance.choices(_WORDS, k=4)),
            text=_text(chance),
            created_at=_START + timedelta(seconds=chance.random() * _SPAN),
        )


def _text(chance: random.Random) -> str:
    words: list[str] = []
    left = chance.gauss(*_TEXT)
    while left > 0:
        words.append(chance.choice(_WORDS))
        left -= len(words[-1]) + 1
    return " ".join(words)


def all_comments() -> list[Comment]:
    """Return the comments of every product."""
    return [comment for product, size in SIZES.items() for comment in comments_of(product, size)]
