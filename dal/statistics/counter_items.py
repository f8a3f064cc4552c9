"""Counters: statistics as items, deltas as actions of a transaction, and places on leaderboards.

The statistics item of a language has ``count_1`` to ``count_5`` and ``count_total`` (N; one that
was never changed is absent). Counts change by ``ADD``, without any condition. Those of all
languages are the sum: they stand in one partition, which one Query reads.

While there are comments rated 5, the item also has the two keys of its language's leaderboard, and
the item ``S`` those of the leaderboard of all languages. Their sort key is ``<count>#<product>``:
no update expression can compute that, so ``boards`` moves them after the counts.

The counters of a rebuild are other items, under ``RECOUNT#<generation>#<part>``. They are on no
leaderboard. Those that a rebuild leaves behind expire.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from dal.entities.product import DETAILS, board_of, rank_position
from dal.model import RATINGS
from dal.model.key_parts import LAST_CHARACTER, escape, unescape
from dal.statistics.counts import (
    CommentStatistics,
    Deltas,
    RatingCounts,
    RatingDeltas,
    StatisticsKey,
)
from dal.table.index import EXPIRES
from dal.table.items import Action, Item, primary_key
from dal.table.ranges import Range

SORT_KEYS = Range("S", f"S#{LAST_CHARACTER}")
"""Where a product's statistics items stand in its partition."""

WITH_DETAILS = Range(DETAILS, f"S#{LAST_CHARACTER}")
"""The same with the product's details before them."""

_PRODUCT = "PRODUCT#"

_REBUILD = "RECOUNT#"

_TOTAL = "count_total"

COUNTS = tuple(f"count_{rating}" for rating in RATINGS)
"""The attributes of the five counts."""

REBUILD_PARTS = 16
"""Partitions of a rebuild's counters."""

REBUILD_KEPT_SECONDS = 30 * 24 * 3600
"""How long a rebuild's items are kept at least."""


def partition_of(product_id: str) -> str:
    """Return the partition key of a product's statistics items."""
    return _PRODUCT + escape(product_id)


def product_of(item: Item) -> str:
    """Return the product of a statistics item or of a leaderboard's row."""
    return unescape(item["PK"]["S"][len(_PRODUCT) :])


def item_key(key: StatisticsKey) -> Item:
    """Return the primary key of a statistics item."""
    language = "" if key.language is None else f"#{escape(key.language)}"
    if key.generation is None:
        return primary_key(partition_of(key.product_id), f"S{language}")
    part = crc32(key.product_id.encode()) % REBUILD_PARTS
    return primary_key(rebuild_partition(key.generation, part), escape(key.product_id) + language)


def rebuild_partition(generation: int, part: int) -> str:
    """Return the partition key of one part of a rebuild's counters."""
    return f"{_REBUILD}{generation}#{part}"


def encode(key: StatisticsKey, counts: RatingCounts) -> Item:
    """Return the whole item of some counts; that of all languages has a place alone."""
    item = item_key(key) | place_of(key, counts.fives)
    return item if _uncounted(key) else item | _numbers(counts)


def encode_all(counts: Mapping[StatisticsKey, RatingCounts]) -> Iterator[Item]:
    """Yield the whole items of the counts of languages, and of their products.

    A product's own counts add nothing to those.
    """
    overall: dict[StatisticsKey, RatingCounts] = {}
    for key, held in counts.items():
        if key.language is not None:
            yield encode(key, held)
        product = key._replace(language=None)
        overall[product] = overall.get(product, RatingCounts()) + held
    for key, held in overall.items():
        yield encode(key, held)


def _uncounted(key: StatisticsKey) -> bool:
    return key.language is None and key.generation is None


def _numbers(counts: RatingCounts) -> Item:
    return {name: {"N": str(value)} for name, value in numbers_of(counts).items()}


def place_of(key: StatisticsKey, fives: int) -> Item:
    """Return the two keys of an item on its leaderboard, where it is on one."""
    if fives <= 0 or key.generation is not None:
        return {}
    board, values = board_of(key.language)
    return board.keys_of(values, rank_position(key.product_id, fives))


def numbers_of(counts: RatingCounts) -> dict[str, int]:
    """Return an item's numbers by attribute; deltas have the same attributes as counts."""
    return {f"count_{rating}": counts.of([rating]) for rating in RATINGS} | {_TOTAL: counts.of()}


def decode(item: Item) -> tuple[StatisticsKey, RatingCounts]:
    """Return the key and the counts of a statistics item, or of a rebuild's counter.

    Raises ValueError for the key of another program's item.
    """
    first, in_language, rest = item["SK"]["S"].partition("#")
    if "#" in rest:  # escaped in a language: another program's item
        raise ValueError(f"{rest!r} is not a language.")
    counts = RatingCounts(tuple(_number(item, f"count_{rating}") for rating in RATINGS))
    named = unescape(rest) if in_language else None
    if item["PK"]["S"].startswith(_REBUILD):
        generation = int(item["PK"]["S"].split("#")[1])
        return StatisticsKey(unescape(first), named, generation), counts
    return StatisticsKey(product_of(item), named), counts


class StoredCounts(NamedTuple):
    """A statistics item, and what it holds."""

    key: StatisticsKey
    counts: RatingCounts
    item: Item

    @property
    def total(self) -> int:
        """The total that it holds beside its counts."""
        return _number(self.item, _TOTAL)


def stored_in(items: Iterable[Item]) -> Iterator[StoredCounts]:
    """Yield those of some items, whoever wrote them, that hold counts which are shown."""
    for item in items:
        if _is_statistics_key(item):
            with suppress(KeyError, ValueError):
                yield StoredCounts(*decode(item), item)


def _is_statistics_key(key: Item) -> bool:
    partition, sort_key = (str(key[name].get("S", "")) for name in ("PK", "SK"))
    return partition.startswith(_PRODUCT) and (sort_key == "S" or sort_key.startswith("S#"))


def statistics_of(stored: Iterable[StoredCounts]) -> CommentStatistics:
    """Return the statistics of a product; a count below 0 is wrong, and 0 here.

    They are sound when each item's total is the sum of its counts, and no language's is below 0.
    """
    sums, sound = dict[str, RatingCounts](), True
    for one in stored:
        language, held = one.key.language, one.counts
        if language is not None:
            before = sums.get(language)
            sums[language] = held if before is None else before + held
            sound = sound and one.total == held.of()
    by_language = {language: shown(held) for language, held in sums.items()}
    return CommentStatistics.summed(by_language, sound=sound and by_language == sums)


def shown(held: RatingCounts) -> RatingCounts:
    """Return counts as they are shown: one below 0 is wrong, and nobody has minus one comment."""
    if min(held.by_rating) >= 0:
        return held
    return RatingCounts(tuple(max(0, count) for count in held.by_rating))


def _number(item: Item, name: str) -> int:
    return int(item[name]["N"]) if name in item else 0


def actions(changes: Deltas) -> list[Action]:
    """Return one Update for each item whose counts change."""
    return [{"Update": _update(key, change)} for key, change in changes.items()]


def _update(key: StatisticsKey, change: RatingDeltas) -> Item:
    added = numbers_of(change)
    values = {f":{name}": {"N": str(number)} for name, number in added.items() if number}
    expression = "ADD " + ", ".join(f"{name[1:]} {name}" for name in values) if values else ""
    if key.generation is not None:  # zero makes the item
        values[":until"] = {"N": str(int(time.time()) + REBUILD_KEPT_SECONDS)}
        expression = f"{expression} SET {EXPIRES} = :until".strip()
    return {
        "Key": item_key(key),
        "UpdateExpression": expression,
        "ExpressionAttributeValues": values,
    }
