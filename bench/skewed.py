"""A product of which 70 % of the comments are rated 5: the shape that real shops have."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dal.model import RATINGS, Comment

PRODUCT = "skewed"
COUNT = 3_000

_START = datetime(2022, 1, 1, tzinfo=UTC)
_WEIGHTS = (6, 4, 7, 13, 70)
_LANGUAGES = {"en": 60, "de": 25, "fr": 15}
_SENTENCE = "the kettle boils fast and pours well but its lid is loose and the cord is short"
_WORDS = tuple(_SENTENCE.split())


def skewed_comments() -> Iterator[Comment]:
    """Yield the same comments each time, oldest first; sizes follow those of the demo data."""
    chance = random.Random(70)  # noqa: S311 - data, not secrets
    for number in range(COUNT):
        yield Comment(
            comment_id=f"skewed-{number:05}",
            product_id=PRODUCT,
            username=f"user{number % 400}",
            rating=chance.choices(RATINGS, _WEIGHTS)[0],
            language=chance.choices(list(_LANGUAGES), list(_LANGUAGES.values()))[0],
            title=" ".join(chance.choices(_WORDS, k=3)),
            text=" ".join(chance.choices(_WORDS, k=chance.randint(5, 90))),
            created_at=_START + timedelta(hours=number // 2 * 2),
        )
