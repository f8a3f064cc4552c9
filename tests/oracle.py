"""The oracle: what a page must hold, computed from a plain sorted list."""

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations

from dal.comments import CommentStore, Selection
from dal.items import comment_position
from dal.model import RATINGS, Comment
from dal.pages import Page
from dal.slices import Slice

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


def make_comments(product_id: str, count: int, *, seed: int) -> list[Comment]:
    """Comments of one product in which a third share their instant with another."""
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


def newest_first(comments: Iterable[Comment]) -> list[Comment]:
    """The total order of a product's comments."""
    return sorted(comments, key=comment_position, reverse=True)


def selected(comments: Iterable[Comment], selection: Selection) -> list[Comment]:
    """The comments that a selection keeps, newest first."""
    return newest_first(
        comment
        for comment in comments
        if comment.product_id == selection.product_id
        and (selection.ratings is None or comment.rating in selection.ratings)
        and (selection.languages is None or comment.language in selection.languages)
    )


def page(comments: Iterable[Comment], selection: Selection, cut: Slice) -> list[Comment]:
    """The comments of one page of a selection, newest first."""
    rows = [
        comment
        for comment in selected(comments, selection)
        if (cut.after is None or comment_position(comment) < cut.after)
        and (cut.before is None or comment_position(comment) > cut.before)
    ]
    return rows[-cut.limit :] if cut.backward else rows[: cut.limit]


def selections(product_id: str) -> Iterator[Selection]:
    """Every rating subset under every choice of languages, and no rating filter at all."""
    for languages in LANGUAGE_CHOICES:
        for ratings in (None, *RATING_SUBSETS):
            yield Selection(product_id, ratings, languages)


async def walk(
    store: CommentStore, selection: Selection, size: int, *, backward: bool
) -> list[Comment]:
    """Walk a selection page by page from one end to the other; rows in list order."""
    rows: list[Comment] = []
    while True:
        page = await store.page(selection, _next_slice(rows, size, backward=backward))
        _check_flags(page, at_start=not rows, backward=backward)
        rows = [*page.nodes, *rows] if backward else [*rows, *page.nodes]
        more = page.page_info.has_previous_page if backward else page.page_info.has_next_page
        if not more:
            return rows
        assert len(page.edges) == size, "a page with more to come is full"


def _next_slice(rows: list[Comment], size: int, *, backward: bool) -> Slice:
    edge = comment_position(rows[0 if backward else -1]) if rows else None
    return Slice(
        limit=size,
        backward=backward,
        after=None if backward else edge,
        before=edge if backward else None,
        next_page=True,
        previous_page=True,
    )


def _check_flags(page: Page[Comment], *, at_start: bool, backward: bool) -> None:
    info = page.page_info
    behind = info.has_next_page if backward else info.has_previous_page
    assert behind is not at_start
