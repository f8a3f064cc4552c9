"""Counters: encodes counts as items with leaderboard keys, and changes of counts as actions.

A product has a statistics item for each language, with the sort key ``S#<language>``. The item has
the counts ``count_1`` to ``count_5``, one for each rating, and ``count_total`` (N). The counts
``v1`` to ``v5`` include only buyers' comments (verified), ``p1`` to ``p5`` only comments with
photos, and ``vp1`` to ``vp5`` only those with both. Short names keep the item small. The item has
no attribute for a count that has never changed. Sums of numbers by name are attributes with the
names of ``sum_names``: ``a_fit_n`` is how many comments rate the fit, and ``a_fit_s`` the sum of
these ratings. Counts change by ``ADD``, without a condition. The counts of all languages are the
sum of these items. One Query reads these items, because they are in one partition.

A product with comments rated 5 is on leaderboards: on those of each range that finds such comments
(see ``dal.model.languages``), and on that of all languages. The item of a range, with the sort key
``S#<range>``, has the two keys of the range's leaderboard. It may also be the item of a language
with the same name. The item of all languages has the sort key ``S``. The sort key of a leaderboard
is ``<count>#<product>``. An update expression cannot compute this sort key, so ``boards`` changes
the leaderboard keys after the counts.

The counters of a rebuild are separate items with the partition keys
``RECOUNT#<generation>#<part>``. The generation is the number of the rebuild. These items are on no
leaderboard. If a rebuild does not delete these items, they expire.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from dal.counts.counts import (
    COMBINATIONS,
    FLAGS,
    NUMBERED,
    CommentStatistics,
    Deltas,
    RatingCounts,
    StatisticsKey,
    Sums,
)
from dal.entities.product import DETAILS, board_of, rank_position
from dal.model import RATINGS
from dal.model.languages import ranges_of
from dal.table.index import EXPIRES
from dal.table.items import Action, Item, primary_key
from dal.table.key_parts import LAST_CHARACTER, escape, unescape
from dal.table.ranges import Range

SORT_KEYS = Range("S", f"S#{LAST_CHARACTER}")
"""The sort keys of a product's statistics items in its partition."""

WITH_DETAILS = Range(DETAILS, f"S#{LAST_CHARACTER}")
"""The sort keys of a product's details and statistics items. The details sort first."""

_PRODUCT = "PRODUCT#"

_REBUILD = "RECOUNT#"

_TOTAL = "count_total"

_BY_RATING = tuple(f"count_{rating}" for rating in RATINGS)
_FLAGGED = tuple(
    "".join(one.counter for name, one in FLAGS.items() if name in flags) + str(rating)
    for flags in COMBINATIONS
    for rating in RATINGS
)

COUNTS = _BY_RATING + _FLAGGED
"""The attributes with the counts of the five ratings, and with those of flags."""

CHANGES = "changes"
"""The attribute (N) of a rebuild's counter with the number of its changes. It shows a cutover every
change, even of a count that the counter did not have before."""

_SUMS = tuple([f"{counter}_" for _, counter, _ in NUMBERED])
"""The beginnings of the names of sums."""

REBUILD_PARTS = 16
"""Number of partitions that share the writes to a rebuild's counters."""

REBUILD_KEPT_SECONDS = 30 * 24 * 3600
"""Seconds from the latest change of a rebuild's counter until the counter expires."""


def partition_of(product_id: str) -> str:
    """Return the partition key of a product's statistics items."""
    return _PRODUCT + escape(product_id)


def product_of(item: Item) -> str:
    """Return the product's id from a statistics item or from a leaderboard's row."""
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
    """Return the table item for counts, with leaderboard keys for these counts.

    A product's item of all languages has no counts, only its primary key and leaderboard keys.
    """
    item = item_key(key) | place_of(key, counts.fives)
    if key.language is None and key.generation is None:
        return item
    return item | {name: {"N": str(value)} for name, value in numbers_of(counts).items() if value}


def encode_all(counts: Mapping[StatisticsKey, RatingCounts]) -> Iterator[Item]:
    """Yield the table items for the counts of languages, and for other places on leaderboards.

    The places are those of ranges of languages, and each product's place among all languages. A key
    without a language must have counts of zero.
    """
    fives: dict[StatisticsKey, int] = {}
    for key, held in counts.items():
        ranges = () if key.language is None else ranges_of(key.language)
        for one in (None, *ranges):
            place = key._replace(language=one)
            fives[place] = fives.get(place, 0) + held.fives
    for key, held in counts.items():
        if key.language is not None:
            yield encode(key, held) | place_of(key, fives.get(key, 0))
    for key, count in fives.items():
        if key not in counts and (key.language is None or count):
            yield item_key(key) | place_of(key, count)


@lru_cache(maxsize=1_000)  # each read of a product's statistics checks the places of its items
def place_of(key: StatisticsKey, fives: int) -> Item:
    """Return the two leaderboard keys of an item.

    The result is empty without comments rated 5, and for a rebuild's counter.
    """
    if fives <= 0 or key.generation is not None:
        return {}
    board, values = board_of(key.language)
    return board.keys_of(values, rank_position(key.product_id, fives))


def numbers_of(counts: RatingCounts) -> dict[str, int]:
    """Return the numbers of COUNTS, the sums and ``count_total``, by their attributes.

    ``counts`` are totals to set, or changes to add.
    """
    numbers = dict(zip(COUNTS, counts.by_rating + counts.flagged, strict=True))
    numbers.update(counts.sums)
    numbers[_TOTAL] = counts.of()
    return numbers


def sum_attributes(item: Item) -> list[str]:
    """Return the names of the sums in an item, also of those that are zero."""
    return [name for name in item if name.startswith(_SUMS) and name.endswith(("_n", "_s"))]


def _sums(item: Item) -> Sums:
    sums = [(name, int(item[name]["N"])) for name in sum_attributes(item)]
    return tuple(sorted([one for one in sums if one[1]])) if sums else ()


def decode(item: Item) -> tuple[StatisticsKey, RatingCounts]:
    """Return the key and the counts from a statistics item, or from a rebuild's counter.

    Raises ValueError or KeyError if the item has a form that this program does not write.
    """
    first, in_language, rest = item["SK"]["S"].partition("#")
    if "#" in rest:  # this program escapes languages, so another program wrote this item
        raise ValueError(f"{rest!r} is not a language.")
    numbers = [int(item[name]["N"]) if name in item else 0 for name in COUNTS]
    by_rating, flagged = tuple(numbers[: len(RATINGS)]), tuple(numbers[len(RATINGS) :])
    counts = RatingCounts(by_rating, flagged, _sums(item))
    language = unescape(rest) if in_language else None
    if item["PK"]["S"].startswith(_REBUILD):
        generation = int(item["PK"]["S"].split("#")[1])
        return StatisticsKey(unescape(first), language, generation), counts
    return StatisticsKey(product_of(item), language), counts


class StoredCounts(NamedTuple):
    """A decoded statistics item."""

    key: StatisticsKey
    counts: RatingCounts
    item: Item

    @property
    def total(self) -> int:
        """The stored total. In a damaged item it differs from the sum of ``counts``."""
        return _number(self.item, _TOTAL)


def stored_in(items: Iterable[Item]) -> Iterator[StoredCounts]:
    """Yield the statistics items among ``items``. Items that cannot be decoded are left out."""
    for item in items:
        partition, sort_key = str(item["PK"].get("S", "")), str(item["SK"].get("S", ""))
        if partition.startswith(_PRODUCT) and (sort_key == "S" or sort_key.startswith("S#")):
            with suppress(KeyError, ValueError):
                yield StoredCounts(*decode(item), item)


def statistics_of(stored: Iterable[StoredCounts]) -> CommentStatistics:
    """Return the statistics of a product from its items.

    A stored count below 0 is wrong. The result has 0 instead.

    The statistics are sound if each item's total is the sum of its counts and no count is below 0.
    """
    sums, sound = dict[str, RatingCounts](), True
    for one in stored:
        language, held = one.key.language, one.counts
        if language is not None:
            before = sums.get(language)
            sums[language] = held if before is None else before + held
            sound = sound and one.total == held.of()
    by_language = {language: held.without_negatives for language, held in sums.items()}
    return CommentStatistics.summed(by_language, sound=sound and by_language == sums)


def _number(item: Item, name: str) -> int:
    return int(item[name]["N"]) if name in item else 0


def actions(changes: Deltas) -> list[Action]:
    """Return one Update for each item with changed counters."""
    updates: list[Action] = []
    for key, change in changes.items():
        numbers = numbers_of(change)
        if key.generation is not None:  # A change of zero is sent too, because it creates the item.
            numbers[CHANGES] = 1
        values = {f":{name}": {"N": str(number)} for name, number in numbers.items() if number}
        expression = "ADD " + ", ".join([f"{name[1:]} {name}" for name in values])
        if key.generation is not None:
            values[":until"] = {"N": str(int(time.time()) + REBUILD_KEPT_SECONDS)}
            expression += f" SET {EXPIRES} = :until"
        update = {
            "Key": item_key(key),
            "UpdateExpression": expression,
            "ExpressionAttributeValues": values,
        }
        updates.append({"Update": update})
    return updates
