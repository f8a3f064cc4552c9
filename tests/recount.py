"""Computes the correct statistics items of a product from its comments.

Products move on leaderboards some time after their counters change. So ``check`` moves the product
before it compares its leaderboard keys.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any

from dal.counts.boards import Boards
from dal.dynamodb.table import Table
from dal.model import Comment
from dal.model.languages import ranges_of
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from dal.table.index import TABLE, QueryRequest

Counts = dict[str, dict[str, str]]
"""Statistics items by sort key: each item's attributes as strings, without zeros."""


async def comments_of(store: CommentRepository, product_id: str) -> list[Comment]:
    """Return all comments of a product, read page by page."""
    rows: list[Comment] = []
    after = None
    while True:
        page = await store.page(Selection(product_id), Slice(100, after=after, next_page=True))
        rows += page.nodes
        if not page.page_info.has_next_page:
            return rows
        after = page.edges[-1].position


def expected(product_id: str, comments: Collection[Comment]) -> Counts:
    """Return the correct items for these comments. ``product_id`` must not need escaping."""
    items: dict[str, Counter[str]] = {}
    for comment in comments:
        counts = items.setdefault(f"S#{comment.language}", Counter())
        counts.update([f"count_{comment.rating}", "count_total"])
        verified, photos = comment.verified_purchase, bool(comment.photos)
        flags = {"v": verified, "p": photos, "vp": verified and photos}
        counts.update(f"{flag}{comment.rating}" for flag, holds in flags.items() if holds)
        for one in comment.aspects:
            counts.update({f"a_{one.name}_n": 1, f"a_{one.name}_s": one.rating})
    shown: Counts = {
        sort_key: {name: str(number) for name, number in counts.items()}
        for sort_key, counts in items.items()
    }
    ranked = Counter(
        place
        for comment in comments
        if comment.rating == 5
        for place in ("S", *(f"S#{one}" for one in ranges_of(comment.language)))
    )
    for sort_key, fives in ranked.items():
        shown.setdefault(sort_key, {})
        shown[sort_key]["GSIPK"] = "LEADERS" + sort_key[1:]
        shown[sort_key]["GSISK"] = f"{fives:012}#{product_id}"
    return shown


async def stored(table: Table, product_id: str) -> Counts:
    """Return the stored statistics items. The shards of a counter are added up."""
    request = QueryRequest(TABLE, f"PRODUCT#{product_id}", consistent=True)
    items: Counts = {}
    for item in (await table.query(request)).items:
        whole = items.setdefault("#".join(item["SK"]["S"].split("#")[:2]), {})
        for name, value in _plain(item).items():
            whole[name] = str(int(whole[name]) + int(value)) if name in whole else value
    found = {key: _without_zeros(counts) for key, counts in items.items()}
    return {sort_key: counts for sort_key, counts in found.items() if counts}


async def check(table: Table, product_id: str) -> list[Comment]:
    """Assert that the counters of a product are correct. Return its comments."""
    comments = await comments_of(Stores(table).comments, product_id)
    await Boards(table).correct([product_id])
    assert await stored(table, product_id) == expected(product_id, comments)
    return comments


_OWN = {"PK", "SK", "rebuilt"}


def _plain(item: dict[str, Any]) -> dict[str, str]:
    values = {name: next(iter(value.values())) for name, value in item.items()}
    return {name: value for name, value in values.items() if name not in _OWN}


def _without_zeros(counts: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in counts.items() if value != "0"}
