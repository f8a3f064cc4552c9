"""The oracle: computes the correct contents of pages from a sorted list in memory."""

import random
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations, product
from typing import Any, TypeVar

from hypothesis import strategies as st

from dal.catalogue import Order
from dal.entities.comment import comment_position
from dal.model import RATINGS, AspectRating, Comment, Photo
from dal.query.pagination import Page, Slice
from dal.repositories.comments import CommentRepository, Selection

Row = TypeVar("Row")

LANGUAGES = ("en", "de", "fr", "ja", "pt-BR", "ar")
START = datetime(2023, 1, 1, tzinfo=UTC)

RATING_SUBSETS = [
    frozenset(subset) for size in range(1, 6) for subset in combinations(RATINGS, size)
]
LANGUAGE_CHOICES: list[frozenset[str] | None] = [
    None,
    *(frozenset({language}) for language in LANGUAGES),
    frozenset({"en", "ar"}),
    frozenset({"de", "pt-BR"}),
]


TAGS = (
    *("en", "en-US", "en-GB", "en-GB-oxendict", "en-AU", "de", "de-AT", "de-CH-1996"),
    *("zh", "zh-Hant", "zh-Hant-TW", "zh-Hant-HK", "zh-Hans-CN", "zh-TW", "yue", "yue-HK"),
    *("sr", "sr-Latn", "sr-Latn-RS", "sr-RS", "pt", "pt-BR", "es", "es-419", "es-MX"),
    *("no", "no-NO", "nb", "nb-NO", "nn", "nn-NO", "da", "ar", "ar-EG", "arz", "fr-CA", "ja"),
)
"""Tags of twelve languages and their relatives, with regions, scripts and variants."""

tags = st.sampled_from(TAGS)


def found_by(asked: str, tag: str) -> bool:
    """Return whether a range finds a tag: basic filtering in RFC 4647, section 3.3.1.

    A tag in Norwegian is also a tag in Bokmål, and a range of Norwegian is one of both its members.
    """
    primary, dash, rest = asked.partition("-")
    asked_as = [one + dash + rest for one in ("no", "nb", "nn")] if primary == "no" else [asked]
    primary, dash, rest = tag.partition("-")
    tag = ("nb" if primary == "no" else primary) + dash + rest
    return any(tag == one or tag.startswith(f"{one}-") for one in asked_as)


def language_choices(found: Iterable[str]) -> set[str]:
    """Return what visitors can choose between, given the tags of comments.

    These are the languages, and the regions and scripts of each language that has comments in
    several of them. A comment in Norwegian is in Bokmål or in Nynorsk.
    """
    places: dict[str, set[str]] = {}
    for tag in found:
        primary, *others = tag.split("-")
        if primary in {"no", "nb", "nn"}:
            places.setdefault("no", set()).add("nn" if primary == "nn" else "nb")
        else:
            places.setdefault(primary, set()).add("-".join([primary, *others[:1]]))
    several = [one for one in places.values() if len(one) > 1]
    return {*places}.union(*several)


def make_comments(product_id: str, count: int, *, seed: int) -> list[Comment]:
    """Return comments on one product. A third of them have the same time as another comment."""
    chance = random.Random(seed)
    instants = [START + timedelta(hours=hour) for hour in range(count)]
    for position in range(0, count - 1, 6):
        instants[position] = instants[position + 1]
    return [
        Comment(
            comment_id=f"{product_id}/{chance.randrange(10**6):06}#{number}",
            product_id=product_id,
            username=f"user{number % 7}",
            rating=chance.choices(RATINGS, (2, 1, 1, 3, 6))[0],
            language=chance.choices(LANGUAGES, (6, 3, 2, 2, 1, 1))[0],
            title=f"Title {number}",
            text="word " * chance.randrange(1, 60),
            created_at=instant,
        )
        for number, instant in enumerate(instants)
    ]


def voted(comments: Iterable[Comment]) -> list[Comment]:
    """Return the comments with votes. Many have equal numbers of votes."""
    votes = [0, 2, 0, 1, 11]
    return [one._replace(votes_before=votes[n % 5]) for n, one in enumerate(comments)]


PHOTOS = (Photo("https://shop.example/kettle.jpg", "On my stove"),)


def with_photos(comments: Iterable[Comment]) -> list[Comment]:
    """Return the comments. Every fourth has a photo."""
    return [one if n % 4 else one._replace(photos=PHOTOS) for n, one in enumerate(comments)]


RATED_ASPECTS = (
    (),
    (AspectRating("fit", 4),),
    (AspectRating("quality", 1), AspectRating("fit", 5)),
)
"""Ratings of aspects of comments."""


def flagged(comments: Iterable[Comment]) -> list[Comment]:
    """Return the comments. Every fourth has a photo, and every third is by a buyer.

    Two of five have ratings of aspects.
    """
    return [
        one._replace(verified_purchase=n % 3 == 0, aspects=(*RATED_ASPECTS, (), ())[n % 5])
        for n, one in enumerate(with_photos(comments))
    ]


SEARCHES = ("", "word", "title\tword", "1", "22", "word\tzinc", "title 1")
"""Searches for words that all, some, few or none of ``make_comments`` have; "" is no search."""


def newest_first(comments: Iterable[Comment]) -> list[Comment]:
    """Return comments in the order of a product's list."""
    return sorted(comments, key=comment_position, reverse=True)


def position_in(order: Order | None, comment: Comment) -> str:
    """Return the position of a comment in a product's list that is sorted by ``order``."""
    position = comment_position(comment)
    if order is None:
        return position
    ranks = {
        Order.HIGHEST_RATING: f"h{comment.rating}",
        Order.LOWEST_RATING: f"l{6 - comment.rating}",
        Order.MOST_HELPFUL: f"v{comment.helpful_count:012}",
    }
    return f"{ranks[order]}#{position}"


_KEPT_BY: dict[str, Callable[[Comment, Any], bool]] = {
    "product_ids": lambda comment, wanted: comment.product_id in wanted,
    "ratings": lambda comment, wanted: wanted is None or comment.rating in wanted,
    "languages": lambda comment, wanted: (
        wanted is None or any(found_by(one, comment.language) for one in wanted)
    ),
    "verified_only": lambda comment, wanted: not wanted or comment.verified_purchase,
    "has_photos": lambda comment, wanted: not wanted or bool(comment.photos),
    "created_from": lambda comment, wanted: wanted is None or comment.created_at >= wanted,
    "created_before": lambda comment, wanted: wanted is None or comment.created_at < wanted,
    "order": lambda comment, wanted: True,
    "search": lambda comment, wanted: all(
        re.search(rf"\b{re.escape(term)}", f"{comment.title}\n{comment.text}".lower())
        for term in wanted.split("\t")
    ),
}
"""Each field of a selection with a function that returns whether the field selects a comment.

A new field of ``Selection`` must be added here: ``selected`` asserts that none is missing.
"""

_PRODUCTS = {"product_id", "variants", "product_ids"}
"""The fields of ``Selection`` with products, and the property that combines them."""


def selected(comments: Iterable[Comment], selection: Selection) -> list[Comment]:
    """Return the selected comments in the selection's order."""
    assert _KEPT_BY.keys() ^ {field.name for field in fields(selection)} == _PRODUCTS
    kept = (
        comment
        for comment in comments
        if all(keeps(comment, getattr(selection, name)) for name, keeps in _KEPT_BY.items())
    )
    return sorted(kept, key=partial(position_in, selection.order), reverse=True)


def page(comments: Iterable[Comment], selection: Selection, cut: Slice) -> list[Comment]:
    """Return the comments of one page of a selection, in list order."""
    place = partial(position_in, selection.order)
    rows = {place(comment): comment for comment in selected(comments, selection)}
    shown, *_ = page_of(list(rows), cut)
    return [rows[position] for position in shown]


def page_of(positions: Sequence[str], cut: Slice) -> tuple[list[str], bool, bool]:
    """Return a page of a list, whether rows follow the page, and whether rows precede it.

    ``positions`` descend.
    """

    def behind(one: str, other: str) -> bool:
        return one > other if cut.reverse else one < other

    listed = positions[::-1] if cut.reverse else positions
    within = [
        one
        for one in listed
        if (cut.after is None or behind(one, cut.after))
        and (cut.before is None or behind(cut.before, one))
    ]
    left_out = max(len(within) - cut.limit, 0)
    shown = within[left_out:] if cut.backward else within[: cut.limit]
    follows = cut.before is not None and any(not behind(cut.before, one) for one in listed)
    precedes = cut.after is not None and any(not behind(one, cut.after) for one in listed)
    if cut.backward:
        return shown, follows, precedes or left_out > 0
    return shown, follows or left_out > 0, precedes


def next_cut(size: int, end: str | None, *, backward: bool, reverse: bool = False) -> Slice:
    """Return the slice of the next page after the cursor ``end``, with both flags."""
    after, before = (None, end) if backward else (end, None)
    return Slice(size, backward, after, before, True, True, reverse)


def selections(product_id: str) -> Iterator[Selection]:
    """Yield selections of every subset of ratings, and of no filter, with each choice of
    languages.
    """
    for languages in LANGUAGE_CHOICES:
        for ratings in (None, *RATING_SUBSETS):
            yield Selection(product_id, ratings, languages)


def flagged_selections(product_id: str) -> Iterator[Selection]:
    """Yield ``selections`` of all comments, of buyers' comments, of those with photos, of both."""
    for flags in product((False, True), repeat=2):
        for one in selections(product_id):
            yield replace(one, verified_only=flags[0], has_photos=flags[1])


async def walk(
    store: CommentRepository,
    selection: Selection,
    size: int,
    *,
    backward: bool,
    reverse: bool = False,
) -> list[Comment]:
    """Read a selection page by page from one end to the other. Return the rows in list order."""
    read = partial(store.page, selection)
    return await walk_pages(read, size, backward=backward, reverse=reverse)


async def walk_pages(
    read: Callable[[Slice], Awaitable[Page[Row]]],
    size: int,
    *,
    backward: bool,
    reverse: bool = False,
) -> list[Row]:
    """Read a list page by page, and check that pages are full and their flags correct.

    Return the rows in list order.
    """
    rows: list[Row] = []
    end: str | None = None
    while True:
        page = await read(next_cut(size, end, backward=backward, reverse=reverse))
        info = page.page_info
        ahead, behind = info.has_next_page, info.has_previous_page
        if backward:
            ahead, behind = behind, ahead
        assert behind is (end is not None)
        rows = [*page.nodes, *rows] if backward else [*rows, *page.nodes]
        if not ahead:
            return rows
        assert len(page.edges) == size, "a page with more to come is full"
        end = page.edges[0 if backward else -1].position
