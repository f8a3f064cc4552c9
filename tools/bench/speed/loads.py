"""The rows of a measurement, and the loads, which are the requests that clients send.

A load is the same for every server. The server's dialect turns the load into HTTP requests.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

from dal.entities.comment import comment_position
from dal.model import RATINGS, Comment

LARGEST = "p1"

SIZES = {LARGEST: 20_000, "p2": 3_000, "p3": 1_500, "p4": 1_000, "p5": 700, "p6": 400, "p7": 250}
SIZES |= {"p8": 150}
"""The number of comments of each product."""

LANGUAGES = {"en": 55, "de": 15, "fr": 12, "es": 9, "ja": 5, "pt": 4}
"""The percentage of comments in each language."""

_RATINGS = (7, 5, 9, 21, 58)
"""The percentage of comments with each rating, from 1 to 5."""

_START = datetime(2020, 1, 1, tzinfo=UTC)
_SPAN = 4 * 365 * 86_400
MIDDLE = _START + timedelta(seconds=_SPAN / 2)
"""About half of the comments are older than this time."""
_TEXT = (200, 40)
"""Characters of a text: the mean and the standard deviation."""
_SENTENCE = """the kettle pours well and stays warm after two years of daily use but its lid is
loose when it boils we would buy one again for friends because colour and weight fit our small
kitchen while für très año 良い não come from elsewhere"""
_WORDS = tuple(_SENTENCE.split())

NAMES = ("first", "three", "deep", "mixed", "one", "add", "html")

FIRST = 20
"""Number of comments on a page."""

DEEP = 15_000
"""Number of rows before the deep page."""

_SEED = 12
_FROM_THE_START = 0.2
"""In the load ``mixed``, the fraction of requests for the first page of a list."""
_TRIPLES = 9
"""Number of sets of three ratings in the load ``mixed``. The load also has all sets of two ratings
and of one rating, and lists of all ratings."""


def comments_of(product: str, count: int) -> Iterator[Comment]:
    """Yield the comments of a product, not sorted. Each call yields the same comments."""
    chance = random.Random(product)  # noqa: S311 - data, not secrets
    for number in range(count):
        # Do not change the order of random draws: with other rows, new figures could not be
        # compared with old ones.
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


@dataclass(frozen=True, slots=True)
class PageAsked:
    """A request for a page of a product's comments.

    The page starts after the position ``after``, or at the list's start.
    """

    product: str
    ratings: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    after: str | None = None


@dataclass(frozen=True, slots=True)
class CommentAsked:
    """A request for one comment by its id."""

    comment_id: str


@dataclass(frozen=True, slots=True)
class CommentAdded:
    """A request that adds a comment."""

    product: str
    rating: int
    language: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class HtmlAsked:
    """A request for a product's HTML page, as a browser sends it."""

    product: str


Asked = PageAsked | CommentAsked | CommentAdded | HtmlAsked


@dataclass(frozen=True, slots=True)
class Load:
    """Requests under a name, in the order in which they are sent."""

    name: str
    title: str
    asked: Sequence[Asked]


def all_loads(comments: Iterable[Comment], count: int, deep: int = DEEP) -> list[Load]:
    """Return every load for some rows, in the order of the report. The same rows give equal loads.

    ``count`` is the number of requests in each of the loads ``mixed``, ``one`` and ``add``. Each
    other load has one request. The deep page begins after row ``deep`` of the largest product. If
    the product has fewer rows, the deep page begins after the last row.
    """
    rows = sorted(comments, key=comment_position, reverse=True)
    chance = random.Random(_SEED)  # noqa: S311 - loads, not secrets
    mixed = _mixed(rows, count, chance)
    position = _positions(rows, PageAsked(LARGEST))[:deep][-1]
    chosen = chance.choices(rows, k=count)
    return [
        Load("first", "First page", [PageAsked(LARGEST)]),
        Load("three", "Ratings 1, 3, 5", [PageAsked(LARGEST, (1, 3, 5))]),
        Load("deep", "Deep page", [PageAsked(LARGEST, after=position)]),
        Load("mixed", "Mixed", mixed),
        Load("one", "Comment by id", [CommentAsked(row.comment_id) for row in chosen]),
        Load(
            "add",
            "addComment",
            [
                CommentAdded(f"new-{row.product_id}", row.rating, row.language, row.title, row.text)
                for row in chosen
            ],
        ),
        Load("html", "HTML page", [HtmlAsked(LARGEST)]),
    ]


def _mixed(rows: list[Comment], count: int, chance: random.Random) -> list[PageAsked]:
    """Return ``count`` pages, some of them first pages and the others at a random depth.

    Lists are chosen by Zipf's law: the second list half as often as the first, the third a third as
    often, and so on.
    """
    lists = lists_asked()
    chance.shuffle(lists)
    weights = [1 / rank for rank in range(1, len(lists) + 1)]
    positions: dict[PageAsked, list[str]] = {}
    mixed = []
    for one in chance.choices(lists, weights, k=count):
        if one not in positions:
            positions[one] = _positions(rows, one)
        held = positions[one]
        first = not held or chance.random() < _FROM_THE_START
        mixed.append(replace(one, after=None if first else chance.choice(held)))
    return mixed


def _positions(rows: list[Comment], page: PageAsked) -> list[str]:
    return [
        comment_position(row)
        for row in rows
        if row.product_id == page.product
        and (not page.ratings or row.rating in page.ratings)
        and (not page.languages or row.language in page.languages)
    ]


def lists_asked() -> list[PageAsked]:
    """Return the lists of the load ``mixed``.

    They are all combinations of a product, a set of ratings (see ``_TRIPLES``), and one language or
    all languages.
    """
    sets = [chosen for size in range(3) for chosen in combinations(RATINGS, size)]
    sets += list(combinations(RATINGS, 3))[:_TRIPLES]
    languages = [(), *((language,) for language in LANGUAGES)]
    return [
        PageAsked(product, ratings, chosen)
        for product in SIZES
        for ratings in sets
        for chosen in languages
    ]
