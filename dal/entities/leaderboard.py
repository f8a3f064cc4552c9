"""Leaderboards: the statistics items of products, as their two indexes show them.

These items share an index with comments: they have its keys while they are on a board. A position
is ``<count_5>#<product>``.
"""

from dal.entities.entity import Row
from dal.model import Product, ProductRank
from dal.model.key_parts import COUNT_LENGTH, escape, format_count, parse_count, unescape
from dal.table.index import Index

_MOST_FIVES = ("count_5", "product")

LEADERS, LEADERS_BY_LANGUAGE = (
    Index(
        "byLangAndRating",
        "GSIPK",
        "GSISK",
        "LEADERS",
        partition=fields,
        order=_MOST_FIVES,
    )
    for fields in ((), ("language",))
)


def board_of(language: str | None) -> tuple[Index, dict[str, str]]:
    """Return the index of a leaderboard and the values that select it; None is all languages."""
    if language is None:
        return LEADERS, {}
    return LEADERS_BY_LANGUAGE, {"language": language}


def rank_position(product_id: str, fives: int) -> str:
    """Return where a product stands on a board."""
    return f"{format_count(fives)}#{escape(product_id)}"


def decode_rank(row: Row) -> ProductRank:
    """Return the product of a board's row, and its count; its rank is not in the row."""
    count, product = row.position[:COUNT_LENGTH], row.position[COUNT_LENGTH + 1 :]
    return ProductRank(Product(unescape(product)), parse_count(count))
